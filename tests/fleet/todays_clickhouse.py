"""Today's ClickHouse: its engine (chdb, a library) behind HTTP, as its server speaks it, in a process of its own.

    todays_clickhouse.py LIBRARY FOLDER PORT [TLS_PORT KEYS]

SQL, types, formats and errors are the engine's. HTTP, TLS and that queries run one after the other are this file's; users
and passwords it does not know.
"""
import ctypes
import http.server
import os
import ssl
import sys
import tempfile
import threading
import urllib.parse


class Engine:
    def __init__(self, library, folder):
        chdb = ctypes.CDLL(library)
        result = ctypes.c_void_p
        chdb.chdb_connect.restype = ctypes.POINTER(ctypes.c_void_p)
        chdb.chdb_connect.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]
        chdb.chdb_query_n.restype = result
        chdb.chdb_query_n.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
        for name, kind in (("buffer", ctypes.c_void_p), ("length", ctypes.c_size_t), ("error", ctypes.c_char_p)):
            function = getattr(chdb, "chdb_result_" + name)
            function.restype, function.argtypes = kind, [result]
        chdb.chdb_destroy_query_result.argtypes = [result]
        words = [b"clickhouse", b"--path=" + os.path.join(folder, "data").encode()]
        self.chdb, self.folder, self.one_at_a_time = chdb, folder, threading.Lock()
        connection = chdb.chdb_connect(len(words), (ctypes.c_char_p * len(words))(*words))
        if not connection:
            raise RuntimeError("the engine does not begin")
        self.connection = connection[0]

    def ask(self, sql):
        """The answer's bytes. RuntimeError: the engine's words."""
        with self.one_at_a_time:
            answer = self.chdb.chdb_query_n(self.connection, sql, len(sql), b"TSV", 3)
            error = self.chdb.chdb_result_error(answer)
            length = self.chdb.chdb_result_length(answer)
            out = ctypes.string_at(self.chdb.chdb_result_buffer(answer), length) if length else b""
            self.chdb.chdb_destroy_query_result(answer)
        if error is not None:
            raise RuntimeError(error.decode(errors="replace"))
        return out

    def insert(self, sql, rows):
        """`sql`: INSERT … FORMAT NAME."""
        begin, name = sql.rsplit(" FORMAT ", 1)
        begin, *settings = begin.split(" SETTINGS ")  # which stand behind the file there
        with tempfile.NamedTemporaryFile(dir=self.folder) as file:
            file.write(rows)
            file.flush()
            return self.ask(f"{begin} FROM INFILE '{file.name}' COMPRESSION 'none' {'SETTINGS ' + settings[0] if settings else ''} FORMAT {name}".encode())


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    engine = None

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        if len(body) < length:
            self.close_connection = True
            return
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query).get("query")
        try:
            out, status = self.engine.insert(query[0], body) if query else self.engine.ask(body), 200
        except RuntimeError as error:
            out, status = f"{error} (version 26)\n".encode(), 500
        self.send_response(status)
        self.send_header("Content-Length", str(len(out)))
        self.end_headers()
        self.wfile.write(out)

    def log_message(self, *_):
        pass


class Listening(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A client that is gone."""


class Secure(Listening):
    def __init__(self, address, handler, keys):
        super().__init__(address, handler)
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=keys + "/ca.crt")
        self.context.verify_mode = ssl.CERT_REQUIRED
        self.context.load_cert_chain(keys + "/server.crt", keys + "/server.key")

    def finish_request(self, request, client_address):
        with self.context.wrap_socket(request, server_side=True) as secured:
            self.RequestHandlerClass(secured, client_address, self)


def main(library, folder, port, tls_port=None, keys=None):
    Handler.engine = Engine(library, folder)
    if tls_port:
        threading.Thread(target=Secure(("127.0.0.1", int(tls_port)), Handler, keys).serve_forever, daemon=True).start()
    Listening(("127.0.0.1", int(port)), Handler).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])

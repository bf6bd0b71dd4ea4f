"""A ClickHouse server on loopback, for tests: started in a folder of its own, ended with the test. Debian's, or, where
$KEVT_CLICKHOUSE is `today`, today's engine."""
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
IS_TODAYS = os.environ.get("KEVT_CLICKHOUSE") == "today"


def server_program():
    """The path of the server's program, which is fetched where it is not there; None: it cannot be had."""
    script = os.path.join(HERE, "../../scripts", "chdb" if IS_TODAYS else "clickhouse")
    found = subprocess.run([script], stdout=subprocess.PIPE, text=True)
    return found.stdout.strip() if found.returncode == 0 else None

_CONFIG = """<?xml version="1.0"?>
<yandex>
  <logger><level>warning</level><log>{folder}/log</log><errorlog>{folder}/errors</errorlog></logger>
  {ports}
  <tcp_port>{native}</tcp_port>
  <listen_host>127.0.0.1</listen_host>
  <path>{folder}/data/</path>
  <tmp_path>{folder}/tmp/</tmp_path>
  <mark_cache_size>67108864</mark_cache_size>
  <users_config>users.xml</users_config>
  <default_profile>default</default_profile>
  <default_database>default</default_database>
  {tls}
  {compression}
  <remote_servers/>
</yandex>
"""
_TLS = """<openSSL><server>
    <certificateFile>{keys}/server.crt</certificateFile><privateKeyFile>{keys}/server.key</privateKeyFile>
    <caConfig>{keys}/ca.crt</caConfig><verificationMode>strict</verificationMode>
    <loadDefaultCAFile>false</loadDefaultCAFile><cacheSessions>true</cacheSessions>
  </server></openSSL>"""
_USERS = """<?xml version="1.0"?>
<yandex>
  <profiles><default/><reader><readonly>1</readonly></reader></profiles>
  <users>
    <default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
    <shipper><password>s3cret</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></shipper>
    <reader><password>r3ad</password><networks><ip>127.0.0.1</ip></networks><profile>reader</profile><quota>default</quota></reader>
  </users>
  <quotas><default/></quotas>
</yandex>
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class ClickHouse:
    """`keys`: a folder with ca.crt, server.crt and server.key: then the server speaks TLS besides, and wants certificates."""

    def __init__(self, program, folder, keys=None, compression=None):
        self.program, self.folder, self.process = program, folder, None
        self.port, self.tls_port, self.native_port = free_port(), free_port(), free_port()
        method = f"<compression incl=\"none\"><case><min_part_size>0</min_part_size><min_part_size_ratio>0</min_part_size_ratio><method>{compression}</method></case></compression>"
        os.makedirs(folder, exist_ok=True)
        ports = f"<http_port>{self.port}</http_port>"
        if keys:
            ports += f"<https_port>{self.tls_port}</https_port>"
        with open(os.path.join(folder, "config.xml"), "w") as file:
            file.write(_CONFIG.format(folder=folder, ports=ports, native=self.native_port, tls=_TLS.format(keys=keys) if keys else "",
                                      compression=method if compression else ""))
        with open(os.path.join(folder, "users.xml"), "w") as file:
            file.write(_USERS)
        self.start()

    def _command(self):
        return [self.program, "--config-file=" + os.path.join(self.folder, "config.xml")]

    def start(self):
        with open(os.path.join(self.folder, "out"), "ab") as out:
            self.process = subprocess.Popen(self._command(), stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=self.folder)
        end = time.monotonic() + 60
        while True:
            try:
                return self.ask("SELECT 1")
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    with open(os.path.join(self.folder, "out"), errors="replace") as out:
                        raise AssertionError("the server did not start: " + out.read()[-2000:])
                time.sleep(0.05)  # until it listens

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()

    def address(self, database="kev"):
        return f"ch+http://127.0.0.1:{self.port}/{database}"

    def ask(self, sql, timeout=30):
        """The answer as text."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/", data=sql.encode())
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from None


class TodaysClickHouse(ClickHouse):
    def __init__(self, program, folder, keys=None, compression=None):
        self.keys = keys
        super().__init__(program, folder, keys, compression)

    def _command(self):
        tls = [str(self.tls_port), self.keys] if self.keys else []
        return ["/usr/bin/python3", "-B", os.path.join(HERE, "todays_clickhouse.py"), self.program, self.folder, str(self.port), *tls]


if IS_TODAYS:
    ClickHouse = TodaysClickHouse


class Proxy:
    """Stands between kevtrace and a server; `rule(head)` says of each request what becomes of it:

    None          it is passed on
    "half"        the server gets half of the body, then both ends are cut
    "no answer"   the server gets all of it; its answer is thrown away, and the client is cut off
    "error"       the server gets nothing, and the client the answer that something went wrong
    "slow"        the server gets nothing, and the client the begin of an answer that takes hours

    `bodies`: what the client has asked, one after the other.
    """

    def __init__(self, port, rule):
        self.server_port, self.rule, self.bodies = port, rule, []
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.accepting = threading.Thread(target=self._accept, daemon=True)
        self.accepting.start()

    def address(self, database="kev"):
        return f"ch+http://127.0.0.1:{self.port}/{database}"

    def close(self):
        """Ends the thread first: its accept() may be about to begin, with a descriptor that the next proxy then has."""
        if self.accepting.is_alive():
            self.listening.shutdown(socket.SHUT_RDWR)
            self.accepting.join()
        self.listening.close()

    def _accept(self):
        while True:
            try:
                client, _ = self.listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client, client.makefile("rb") as requests:
            try:
                with socket.create_connection(("127.0.0.1", self.server_port)) as server, server.makefile("rb") as answers:
                    while self._pass_one(client, requests, server, answers):
                        pass
            except (OSError, ValueError):  # an end is gone, maybe in the middle of an answer
                return

    def _pass_one(self, client, requests, server, answers):
        head, length = self._head(requests)
        if not head:
            return False
        body = requests.read(length)
        self.bodies.append(body)
        what = self.rule(head.decode("latin-1"))
        if what == "error":
            client.sendall(b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 28\r\n\r\nDB::Exception: out of luck\r\n")
            return True
        if what == "slow":
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while True:
                client.sendall(b"x")
                time.sleep(0.2)  # until the client has enough of it
        server.sendall(head + (body[:length // 2] if what == "half" else body))
        if what == "half" or len(body) < length:  # the client has died: the server must not wait for the rest
            return False
        answer, length = self._head(answers)
        if b"chunked" in answer.lower():
            body = b""
            while True:
                size = answers.readline()
                chunk = answers.read(int(size, 16) + 2)
                body += size + chunk
                if int(size, 16) == 0:
                    break
        else:
            body = answers.read(length)
        if what == "no answer" or not answer:
            return False
        client.sendall(answer + body)
        return True

    @staticmethod
    def _head(stream):
        head, length = b"", 0
        while line := stream.readline():
            head += line
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
            if line == b"\r\n":
                break
        return head, length


def make_keys(folder):
    """A certificate authority, a server's certificate for 127.0.0.1, and a client's."""
    os.makedirs(folder, exist_ok=True)

    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder)

    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=test", "-days", "2")
    with open(os.path.join(folder, "names"), "w") as file:
        file.write("subjectAltName=IP:127.0.0.1\n")
    for name in ("server", "client"):
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", name + ".key", "-out", name + ".csr", "-subj", "/CN=" + name)
        openssl("x509", "-req", "-in", name + ".csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-out", name + ".crt",
                "-days", "2", "-extfile", "names")

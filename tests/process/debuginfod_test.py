"""Argument names of a stripped program, whose debug information a debuginfod server has: the server is here."""
import ctypes.util
import http.server
import os
import re
import subprocess
import sys
import threading

from kevtest import KEVTRACE, PROGRAMS, ProcessTest, main, plain

FAULTS = os.path.join(PROGRAMS, "faults")


class Server(http.server.ThreadingHTTPServer):
    """GET /buildid/ID/debuginfo, as debuginfod(8) answers it."""

    def __init__(self, files):
        self.files, self.asked = files, []
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        path = self.server.files.get(self.path)
        self.send_response(200 if path else 404)
        content = b""
        if path:
            with open(path, "rb") as file:
                content = file.read()
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class Debuginfod(ProcessTest):
    def setUp(self):
        super().setUp()
        notes = subprocess.run(["readelf", "-n", FAULTS], stdout=subprocess.PIPE, text=True).stdout
        build_id = re.search(r"Build ID: ([0-9a-f]+)", notes)
        sections = subprocess.run(["readelf", "-SW", FAULTS], stdout=subprocess.PIPE, text=True).stdout
        if not build_id or ".debug_info" not in sections:
            self.skipTest("the program was built without a build id or debug information")
        self.program, self.debug = self.path("stripped"), self.path("debug")
        subprocess.run(["objcopy", "--strip-debug", FAULTS, self.program], check=True)
        subprocess.run(["objcopy", "--only-keep-debug", FAULTS, self.debug], check=True)
        self.request = f"/buildid/{build_id[1]}/debuginfo"

    def run_with(self, server):
        return plain([KEVTRACE, "run", "-e", "p:served served n text:string", "--", self.program, "3"],
                     env={"DEBUGINFOD_URLS": server.url if server else "", "DEBUGINFOD_CACHE_PATH": self.path("cache")})

    def test_names_come_from_the_server(self):
        server = Server({self.request: self.debug})
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        status, out, err = self.run_with(server)
        self.assertEqual(status, 0, err)
        self.assertEqual(server.asked, [self.request])
        self.assertIn(b'n=2 text="text"', out)

    def test_nobody_is_asked_without_an_address(self):
        status, _, err = self.run_with(None)
        self.assertNotEqual(status, 0)
        self.assertIn(b"debug information", err)

    def test_a_server_that_has_nothing(self):
        server = Server({})
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        status, _, err = self.run_with(server)
        self.assertNotEqual(status, 0)
        self.assertEqual(server.asked, [self.request])
        self.assertIn(b"debug information", err)

    def test_a_server_that_has_another_file(self):
        """What does not carry the build id is not taken, whatever the server calls it."""
        server = Server({self.request: "/bin/true"})
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        status, _, _ = self.run_with(server)
        self.assertNotEqual(status, 0)


class DebugFile(ProcessTest):
    """A stripped program, beside which lies the file with its symbols."""

    def test_functions_have_their_names(self):
        program, debug = self.path("stripped"), self.path("stripped.debug")
        lines = os.path.join(PROGRAMS, "lines0")
        subprocess.run(["objcopy", "--only-keep-debug", lines, debug], check=True)
        subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", lines, program], check=True)
        definition = ["-e", "p:area stripped:area_of scale times=%si:s32"]
        status, out, err = plain([KEVTRACE, "run", *definition, "--", program, "3"])
        self.assertEqual(status, 0, err)
        self.assertEqual(re.findall(rb"area: \(area_of\+0x0/0x[0-9a-f]+\) scale=(\d+) times=(\d+)", out), [(b"3", b"3")] * 3)
        self.assertIn(b"area_of", plain([KEVTRACE, "list", "area*", program])[1])
        os.unlink(debug)
        status, _, err = plain([KEVTRACE, "run", *definition, "--", program, "3"])
        self.assertEqual(status, 3)
        self.assertIn(b"no function `area_of`", err)


if __name__ == "__main__":
    if not ctypes.util.find_library("debuginfod"):
        print("SKIPPED: libdebuginfod is not installed")
        sys.exit(77)
    main()

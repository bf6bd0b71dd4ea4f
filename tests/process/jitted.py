"""The program jitted, step by step: it compiles functions, again, and reuses their memory, when it is told to go on."""
import os
import subprocess
import time


class Jitted:
    def __init__(self, process):
        self.process, self.said = process, []
        self.at = self.expect("ready")

    @classmethod
    def start(cls, program, rounds):
        return cls(subprocess.Popen([program, str(rounds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))

    def clear(self):
        path = f"/tmp/perf-{self.process.pid}.map"
        if os.path.exists(path):
            os.unlink(path)

    def expect(self, word):
        """The address that stands behind the word; lines before it are kept in `said`."""
        for line in self.process.stdout:
            if line.startswith(word + " "):
                return int(line.split()[1], 16)
            self.said.append(line.strip())
        raise AssertionError(f"it ended before it said `{word}`")

    def step(self, word):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.at = self.expect(word)

    def compile_twice(self):
        """Both functions are compiled and probed, and so is `twice` again. The first place of `twice`."""
        self.step("compiled")
        self.wait_for(self.at, 0xcc)
        first = self.at - 64
        self.step("again")
        self.wait_for(self.at, 0xcc)
        return first

    def end(self):
        self.said += self.process.communicate("\n", timeout=60)[0].splitlines()
        assert self.process.returncode == 0, self.process.returncode

    def byte(self, at):
        with open(f"/proc/{self.process.pid}/mem", "rb") as memory:
            memory.seek(at)
            return memory.read(1)[0]

    def wait_for(self, at, byte):
        until = time.monotonic() + 60
        while self.byte(at) != byte:
            assert time.monotonic() < until, f"{at:x} never had the byte {byte:#x}"
            time.sleep(0.01)

    def called(self, name):
        return sum(int(line.split()[1]) for line in self.said if line.startswith(name + " "))

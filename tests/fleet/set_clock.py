"""Processes whose wall clock is wrong: SetClock(folder) before they start, their `env`, and set() while they run."""
import os
import struct
import subprocess

# It stands before libc's functions, and adds the nanoseconds in the file $SET_CLOCK.
_LIBRARY = """#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static const volatile int64_t* ahead;
__attribute__((constructor)) static void open_it(void) {
  const char* path = getenv("SET_CLOCK");
  const int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void* at = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (at != MAP_FAILED) ahead = at;
}
int clock_gettime(clockid_t clock, struct timespec* out) {
  const int done = (int)syscall(SYS_clock_gettime, clock, out);
  if (done || !ahead || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return done;
  const int64_t ns = out->tv_sec * 1000000000 + out->tv_nsec + *ahead;
  out->tv_sec = ns / 1000000000, out->tv_nsec = ns % 1000000000;
  return 0;
}
time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
"""


class SetClock:
    def __init__(self, folder, name="clock"):
        self.path, library = os.path.join(folder, name + ".ahead"), os.path.join(folder, "set_clock.so")
        if not os.path.exists(library):
            with open(os.path.join(folder, "set_clock.c"), "w") as file:
                file.write(_LIBRARY)
            subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, file.name], check=True)
        self.set(0)
        self.env = {**os.environ, "LD_PRELOAD": library, "SET_CLOCK": self.path}

    def set(self, ahead_ns):
        with open(self.path, "r+b" if os.path.exists(self.path) else "wb") as file:
            file.write(struct.pack("q", ahead_ns))

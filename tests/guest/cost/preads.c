/* CPU time of one pread of 1 byte of /dev/zero, in ns: preads COUNT. Under -icount these are instructions. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec t;

  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(int argc, char** argv) {
  const long count = argc > 1 ? atol(argv[1]) : 20000;
  const int fd = open("/dev/zero", O_RDONLY);
  double start;
  char byte;

  for (long i = 0; i < 1000; i++)
    if (pread(fd, &byte, 1, 0) != 1) return 1;
  start = now();
  for (long i = 0; i < count; i++)
    if (pread(fd, &byte, 1, 0) != 1) return 1;
  printf("%.1f\n", (now() - start) / count);
  return 0;
}

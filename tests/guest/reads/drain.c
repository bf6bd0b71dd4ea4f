// drain BYTES FILE…: reads each file until there is no more (EAGAIN), BYTES at a time; prints "bytes seconds".
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

int main(int argc, char** argv) {
  const size_t piece = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
  char* buffer = malloc(piece);
  if (piece == 0 || !buffer) return 2;
  unsigned long total = 0;
  const double began = now();
  for (int i = 2; i < argc; ++i) {
    const int fd = open(argv[i], O_RDONLY | O_NONBLOCK);
    if (fd < 0) {
      perror(argv[i]);
      return 1;
    }
    ssize_t got;
    while ((got = read(fd, buffer, piece)) > 0) total += (unsigned long)got;
    if (got < 0 && errno != EAGAIN) {
      perror(argv[i]);
      return 1;
    }
    close(fd);
  }
  printf("%lu %.6f\n", total, now() - began);
  return 0;
}

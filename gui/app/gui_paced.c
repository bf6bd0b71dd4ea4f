// Calls a function of four arguments RATE times a second, in a burst every millisecond, until it is ended: `paced
// RATE`. What a window that follows it must keep up with. It sleeps between bursts: the other CPUs are the window's.
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

__attribute__((noinline, noclone)) long paced_work(int a, long b, unsigned c, long d) {
  __asm__ volatile("" ::: "memory");
  return a + b + (long)c + d;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const double rate = strtod(argv[1], NULL);
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  const struct timespec pause = {0, 1000000};
  long sum = 0;
  for (uint64_t made = 0;;) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double seconds = (double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) * 1e-9;
    for (const uint64_t due = (uint64_t)(seconds * rate); made < due; ++made)
      sum += paced_work((int)made, (long)(made * 3), (unsigned)(made >> 3), -(long)made);
    nanosleep(&pause, NULL);
  }
  return (int)(sum & 1);
}

// Calls a function of four arguments N times, RATE times a second: `paced N RATE`. What a recording must keep up with.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

__attribute__((noinline, noclone)) long paced_work(int a, long b, unsigned c, long d) {
  __asm__ volatile("" ::: "memory");
  return a + b + (long)c + d;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const uint64_t count = strtoull(argv[1], NULL, 10);
  const double rate = strtod(argv[2], NULL);
  const double begin = now();
  long sum = 0;
  // In bursts of 64: a look at the clock costs as much as two calls.
  for (uint64_t i = 0; i < count; ++i) {
    sum += paced_work((int)i, (long)(i * 3), (unsigned)(i >> 3), -(long)i);
    if (i % 64 == 63)
      while (now() - begin < (double)i / rate) _mm_pause();
  }
  const double seconds = now() - begin;
  printf("%.3f s, %.3f million calls/s (%ld)\n", seconds, (double)count / seconds / 1e6, sum & 1);
  return 0;
}

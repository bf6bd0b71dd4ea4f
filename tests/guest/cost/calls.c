/* CPU time of one call of called(), where uprobes are, in ns: calls COUNT. Under -icount these are instructions. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char text[] = "/usr/share/something/that/has/a/name/of/a/usual/length";
static long numbers[4] = {1, 2, 3, 4};

__attribute__((noinline)) long called(const char* name, const long* from, long number) {
  __asm__ volatile("" : : "r"(name), "r"(from), "r"(number) : "memory");
  return number + *from; /* long enough for a jump */
}

int main(int argc, char** argv) {
  const long count = argc > 1 ? atol(argv[1]) : 10000;
  struct timespec begin, end;
  called(text, numbers, text[0] + numbers[0]);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  for (long i = 0; i < count; i++) called(text, numbers, i);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  printf("%f\n", ((end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec)) / count);
  return 0;
}

/* chooses: its function `choice` is an indirect one, whose resolver takes about a twentieth of a second and needs what
   the thread has of its stack.  Prints "ready"; ends with status 0 when a line comes on standard input, 3 when a result
   was wrong. */
#include <stdint.h>
#include <stdio.h>
#include <x86intrin.h>

#define CYCLES 150000000u

static int chosen(int n) { return n + 1; }

static int (*choose(void))(int) {
  volatile uint64_t rounds[64] = {0};
  const uint64_t begin = __rdtsc();
  while (__rdtsc() - begin < CYCLES) ++rounds[begin % 64];
  return chosen;
}

int choice(int n) __attribute__((ifunc("choose")));

int main(void) {
  char line[16];
  int errors = choice(1) != 2;
  puts("ready");
  fflush(stdout);
  if (!fgets(line, sizeof line, stdin) || choice(2) != 3) ++errors;
  return errors ? 3 : 0;
}

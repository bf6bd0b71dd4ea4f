/* Functions of which the compiler makes copies with other arguments (-O2), and what they were given. */
#include <stdio.h>
#include <stdlib.h>

struct box {
  long a, b, c;
};

int doubled = 2;

static __attribute__((noinline)) long pick(struct box* s, int unused, int scale) {
  __asm__ volatile("" ::: "memory");
  (void)unused;
  return s->b * scale;
}

static __attribute__((noinline)) long fixed(int n, int always) {
  __asm__ volatile("" ::: "memory");
  return n * always + always;
}

int main(int argc, char** argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 1;
  for (int i = 0; i < rounds; i++) {
    struct box s = {1, 20 + i, 3};
    printf("pick %ld %d %ld\n", s.b, i + 4, pick(&s, 7, i + 4));
    printf("fixed %d 3 %ld\n", i + 10, fixed(i + 10, 3));
    doubled += 2;
  }
  return 0;
}

/*
 * Calls step(i) and other(i) when it is told to: a line "FROM TO THREADS" makes each of so many threads call both for i
 * from FROM on, below TO. "done" says that all have.
 */
#include <pthread.h>
#include <stdio.h>

static long from_number, to_number;
static volatile long sink;

__attribute__((noinline)) void step(long i) { sink = i; }
__attribute__((noinline)) void other(long i) { sink = -i; }

static void* run(void* unused) {
  for (long i = from_number; i < to_number; i++) {
    step(i);
    other(i);
  }
  return unused;
}

int main(void) {
  enum { MOST = 16 };
  int count = 0;
  while (scanf("%ld %ld %d", &from_number, &to_number, &count) == 3 && count <= MOST) {
    pthread_t threads[MOST];
    for (int i = 0; i < count; i++)
      if (pthread_create(&threads[i], NULL, run, NULL)) return 1;
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    puts("done");
    fflush(stdout);
  }
  return 0;
}

/* THREADS threads sleep in nanosleep() ROUNDS times each, all at once: sleepers THREADS ROUNDS. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static int rounds;
static pthread_barrier_t all;

static void* sleeper(void* unused) {
  const struct timespec pause = {0, 20000000};

  for (int i = 0; i < rounds; i++) {
    pthread_barrier_wait(&all);
    nanosleep(&pause, NULL);
  }
  return unused;
}

int main(int argc, char** argv) {
  int count = argc > 2 ? atoi(argv[1]) : 8;
  pthread_t threads[64];

  rounds = argc > 2 ? atoi(argv[2]) : 10;
  if (count < 1 || count > 64 || pthread_barrier_init(&all, NULL, count) != 0) return 2;
  for (int i = 0; i < count; i++)
    if (pthread_create(&threads[i], NULL, sleeper, NULL) != 0) return 1;
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  return 0;
}

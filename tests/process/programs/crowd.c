/*
 * crowd ROUNDS [THREADS]: calls each of 10,000 functions ROUNDS times in each thread and prints how many answers were
 * right and their sum. Status 0 when all were.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef uint64_t (*crowd_function)(uint64_t);
extern const crowd_function crowd_table[];
extern const uint64_t crowd_count;

static uint64_t rounds;

typedef struct worker {
  pthread_t thread;
  uint64_t number, right, sum;
} worker;

static void* work(void* argument) {
  worker* me = argument;
  for (uint64_t round = 0; round < rounds; round++)
    for (uint64_t i = 0; i < crowd_count; i++) {
      const uint64_t x = me->number * 1000 + round, answer = crowd_table[i](x);
      me->right += answer == x + i;
      me->sum += answer;
    }
  return NULL;
}

int main(int argc, char** argv) {
  rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  const int threads = argc > 2 ? atoi(argv[2]) : 1;
  worker workers[16] = {0};
  if (threads < 1 || threads > 16) return 2;
  for (int i = 0; i < threads; i++) {
    workers[i].number = (uint64_t)i;
    if (pthread_create(&workers[i].thread, NULL, work, &workers[i])) return 2;
  }
  uint64_t right = 0, sum = 0;
  for (int i = 0; i < threads; i++) {
    pthread_join(workers[i].thread, NULL);
    right += workers[i].right;
    sum += workers[i].sum;
  }
  printf("right %lu sum %lu\n", (unsigned long)right, (unsigned long)sum);
  return right == (uint64_t)threads * rounds * crowd_count ? 0 : 1;
}

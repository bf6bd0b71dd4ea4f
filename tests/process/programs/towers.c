// Calls top() by many different ways: towers SEED CALLS THREADS. A way is a row of the functions a(), b(), c(), up to
// 60 of them. Each thread makes CALLS calls, and so does a child that is forked meanwhile. At the end it prints, for
// each way, the letters from the outermost on, and how many calls went by it:
//
//   abca 1034
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROBED __attribute__((noinline, noclone, visibility("default")))

enum { WAYS = 40, MOST_LETTERS = 60, MOST_THREADS = 16 };

static char ways[WAYS][MOST_LETTERS + 1];
static uint64_t calls[MOST_THREADS + 1][WAYS];
static long calls_of_each;
static uint64_t seed;

static uint64_t next(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

PROBED long top(long number) {
  __asm__ volatile("" : "+r"(number));
  return number + 1;
}

PROBED long a(const char* way, long number);
PROBED long b(const char* way, long number);
PROBED long c(const char* way, long number);

// What follows the call keeps it from becoming a jump, or a loop.
static inline long onwards(const char* way, long number) {
  switch (*way) {
    case 'a':
      number = a(way + 1, number);
      break;
    case 'b':
      number = b(way + 1, number);
      break;
    case 'c':
      number = c(way + 1, number);
      break;
    default:
      number = top(number);
  }
  __asm__ volatile("" : "+r"(number));
  return number + 1;
}

long a(const char* way, long number) { return onwards(way, number) + 1; }
// Its frame is as large as the number says, so that it needs a frame pointer.
long b(const char* way, long number) {
  volatile char* room = __builtin_alloca((size_t)(number & 63) + 1);
  room[0] = 1;
  return onwards(way, number) + room[0];
}
// Its frame is aligned.
long c(const char* way, long number) {
  volatile long room[8] __attribute__((aligned(64)));
  room[number & 7] = 1;
  return onwards(way, number) + room[number & 7];
}

static void work(uint64_t which, uint64_t* counts) {
  uint64_t state = seed + which;
  for (long i = 0; i < calls_of_each; i++) {
    const uint64_t way = next(&state) % WAYS;
    onwards(ways[way], i);
    counts[way]++;
  }
}

static void* run(void* which) {
  work((uint64_t)which, calls[(uint64_t)which]);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  seed = strtoull(argv[1], NULL, 10);
  calls_of_each = atol(argv[2]);
  const uint64_t threads = strtoull(argv[3], NULL, 10);
  uint64_t state = seed;
  for (int way = 0; way < WAYS; way++)
    for (uint64_t n = 1 + next(&state) % MOST_LETTERS; n-- > 0;) ways[way][n] = (char)('a' + next(&state) % 3);
  pthread_t started[MOST_THREADS];
  for (uint64_t i = 0; i < threads; i++) pthread_create(&started[i], NULL, run, (void*)i);
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    work(threads, calls[threads]);
    _exit(0);
  }
  for (uint64_t i = 0; i < threads; i++) pthread_join(started[i], NULL);
  if (waitpid(child, &status, 0) != child || status) return 3;
  state = seed + threads;
  for (long i = 0; i < calls_of_each; i++) calls[threads][next(&state) % WAYS]++; /* as the child has done */
  for (int way = 0; way < WAYS; way++) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i <= threads; i++) sum += calls[i][way];
    printf("%s %lu\n", ways[way], sum);
  }
  return 0;
}

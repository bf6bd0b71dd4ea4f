/*
 * pair SLICES CALLS PAUSE_MS: two threads on two CPUs hit one probe at once, against one thread alone. Prints
 * `alone NS` and `together NS`: lower quartiles over the slices of the time of a call of work_accepted minus one of
 * work_base, of a single thread, and of the slower of two. After each slice it waits for the reader to empty the rings.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "work.h"

enum { MOST_SLICES = 1024 };

typedef struct runner {
  pthread_t thread;
  int cpu;
  double probed, plain; /* ns a call */
} runner;

static long calls, pause_ms;
static const char* text = "hello-world-123";
static pthread_barrier_t barrier;

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double timed(bench_loop* loop) {
  pthread_barrier_wait(&barrier);
  const double start = now_ns();
  loop(calls, text, BENCH_INDEPENDENT);
  return (now_ns() - start) / (double)calls;
}

static void* slice(void* argument) {
  runner* me = argument;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(me->cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
  loop_work_accepted(200, text, BENCH_INDEPENDENT);
  me->plain = timed(loop_work_base);
  me->probed = timed(loop_work_accepted);
  return NULL;
}

static double run(runner* runners, int count) {
  pthread_barrier_init(&barrier, NULL, (unsigned)count);
  for (int i = 0; i < count; i++)
    if (pthread_create(&runners[i].thread, NULL, slice, &runners[i])) exit(2);
  double slowest = 0;
  for (int i = 0; i < count; i++) {
    pthread_join(runners[i].thread, NULL);
    const double hit = runners[i].probed - runners[i].plain;
    if (hit > slowest) slowest = hit;
  }
  pthread_barrier_destroy(&barrier);
  usleep((useconds_t)pause_ms * 1000);
  return slowest;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* Other programs only make a slice slower, and two CPUs are disturbed twice as often as one. */
static double lower_quartile(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, ascending);
  return values[count / 4];
}

int main(int argc, char** argv) {
  const int slices = argc == 4 ? atoi(argv[1]) : 0;
  if (slices < 1 || slices > MOST_SLICES) return 2;
  calls = atol(argv[2]);
  pause_ms = atol(argv[3]);
  cpu_set_t mine;
  sched_getaffinity(0, sizeof mine, &mine);
  runner runners[2] = {{.cpu = -1}, {.cpu = -1}};
  for (int cpu = 0, n = 0; cpu < CPU_SETSIZE && n < 2; cpu++)
    if (CPU_ISSET(cpu, &mine)) runners[n++].cpu = cpu;
  if (runners[1].cpu < 0) return 77; /* one CPU has no pair */
  static double alone[MOST_SLICES], together[MOST_SLICES];
  for (int i = 0; i < slices; i++) {
    alone[i] = run(runners + i % 2, 1);
    together[i] = run(runners, 2);
  }
  printf("alone %.2f\ntogether %.2f\n", lower_quartile(alone, slices), lower_quartile(together, slices));
  return 0;
}

/*
 * many_threads LIVE TIMES BIRTHS: LIVE threads at once hit TIMES each, then BIRTHS threads live for one hit, in two
 * halves.  Each hit is a call of touch() and one of touch_short().  Lines on standard output, each answered by any line
 * on standard input:
 *
 *   ready, living, born 1, born 2    behind each: "KB of memory of its own"
 *
 * The last one is "done ERRORS".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "touched.h"

enum { STACK = 32768, PARENTS = 2 };

static long live_count, times, births;
static volatile long errors;
static pthread_barrier_t all_there;
static pthread_attr_t small;

static void hit(long n) {
  const int is_right = touch(n, "a text", &n) == 3 * n + 1 && touch_short(n, "a text", &n) == n;
  if (!is_right) __atomic_fetch_add((long*)&errors, 1, __ATOMIC_RELAXED);
}

/* All are alive whenever one hits. */
static void* live(void* number) {
  pthread_barrier_wait(&all_there);
  for (long i = 0; i < times; i++) hit((long)number + i);
  pthread_barrier_wait(&all_there);
  pthread_barrier_wait(&all_there);
  return NULL;
}

static void* live_shortly(void* number) {
  hit((long)number);
  return NULL;
}

static void make(pthread_t* thread, void* (*function)(void*), long number) {
  const int failed = pthread_create(thread, &small, function, (void*)number);
  if (!failed) return;
  fprintf(stderr, "many_threads: thread %ld: %s\n", number, strerror(failed));
  _exit(4);
}

static void* give_birth(void* count) {
  for (long i = 0; i < (long)count; i++) {
    pthread_t one;
    make(&one, live_shortly, i);
    pthread_join(one, NULL);
  }
  return NULL;
}

static void give_births(long count) {
  pthread_t parents[PARENTS];
  for (int i = 0; i < PARENTS; i++) make(&parents[i], give_birth, count / PARENTS);
  for (int i = 0; i < PARENTS; i++) pthread_join(parents[i], NULL);
}

/* Without what it shares with the tracer, which is the rings. */
static long private_kb(void) {
  char line[128];
  long kb = 0;
  FILE* status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status))
    if (!strncmp(line, "RssAnon:", 8)) kb = atol(line + 8);
  if (status) fclose(status);
  return kb;
}

static void say(const char* what) {
  char line[16];
  printf("%s %ld\n", what, private_kb());
  fflush(stdout);
  if (!fgets(line, sizeof line, stdin)) _exit(5);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  live_count = atol(argv[1]);
  times = atol(argv[2]);
  births = atol(argv[3]);
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, STACK);
  pthread_barrier_init(&all_there, NULL, (unsigned)live_count + 1);
  say("ready");
  pthread_t* threads = calloc((size_t)live_count, sizeof *threads);
  for (long i = 0; i < live_count; i++) make(&threads[i], live, i);
  pthread_barrier_wait(&all_there);
  pthread_barrier_wait(&all_there);
  say("living");
  pthread_barrier_wait(&all_there);
  for (long i = 0; i < live_count; i++) pthread_join(threads[i], NULL);
  give_births(births / 2);
  say("born");
  give_births(births / 2);
  say("born");
  printf("done %ld\n", errors);
  return errors ? 3 : 0;
}

/* See harness.h. Each slice is preceded by a short warm-up of the same variant, so that a pause or
 * another variant before it leaves no mark. */
#define _GNU_SOURCE
#include "harness.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sigtrap.h"

static const char* volatile bench_text = "hello-world-123"; /* 15 characters and the NUL */
static volatile long bench_result;
static struct sigtrap_helper helper = {-1, -1, -1};

double bench_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

void bench_call(const struct bench_variant* variant, long calls, enum bench_order order) {
  bench_result = variant->loop(calls, bench_text, order);
}

static double run_slice(struct bench_variant* variant, long calls, enum bench_order order) {
  variant->calls += calls;
  if (!variant->work) return sigtrap_slice(&helper, calls);
  const double start = bench_now_ns();
  bench_call(variant, calls, order);
  return bench_now_ns() - start;
}

static void pause_after(const struct bench_variant* variant, const struct bench_options* options) {
  limit_drain();
  if (!variant->is_recording || options->pause_ms <= 0) return;
  const long ns = (long)(options->pause_ms * 1e6);
  const struct timespec pause = {ns / 1000000000, ns % 1000000000};
  nanosleep(&pause, NULL);
}

/* How many calls make a slice. The first calls of a tracer may allocate: they are not looked at. */
static int calibrate(struct bench_variant* variant, const struct bench_options* options) {
  const long most = variant->is_recording ? options->burst : 1L << 26;
  run_slice(variant, 64, options->order);
  long calls = 64;
  for (;;) {
    const double ns = run_slice(variant, calls, options->order);
    if (ns < 0) return -1;
    if (ns > 100000 || calls * 4 > most) {
      calls = (long)((double)calls * options->slice_us * 1000 / (ns > 1 ? ns : 1));
      break;
    }
    pause_after(variant, options);
    calls *= 4;
  }
  pause_after(variant, options);
  variant->calls_per_slice = calls < 8 ? 8 : calls > most ? most : calls;
  return 0;
}

static int compare_doubles(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static const struct bench_variant* find(const struct bench_variant* variants, int count, const char* name) {
  for (int i = 0; i < count; i++) {
    if (strcmp(variants[i].name, name) == 0) return &variants[i];
  }
  return NULL;
}

static void summarize(struct bench_variant* variant, const struct bench_variant* base, int rounds) {
  double* difference = malloc(sizeof(double) * (size_t)rounds);
  for (int r = 0; r < rounds; r++) difference[r] = variant->slice_ns[r] - (base ? base->slice_ns[r] : 0);
  qsort(difference, (size_t)rounds, sizeof(double), compare_doubles);
  variant->min_ns = difference[0];
  variant->median_ns = difference[rounds / 2];
  variant->max_ns = difference[rounds - 1];
  free(difference);
}

static int one_round(struct bench_variant* variants, int count, const struct bench_options* options, int round) {
  for (int i = 0; i < count; i++) {
    struct bench_variant* variant = &variants[i];
    if (!variant->is_on) continue;
    run_slice(variant, variant->calls_per_slice / 8 + 8, options->order);
    const double ns = run_slice(variant, variant->calls_per_slice, options->order);
    if (ns < 0) return -1;
    variant->slice_ns[round] = ns / (double)variant->calls_per_slice;
    pause_after(variant, options);
  }
  return 0;
}

static int prepare(struct bench_variant* variants, int count, const struct bench_options* options) {
  for (int i = 0; i < count; i++) {
    struct bench_variant* variant = &variants[i];
    if (variant->is_on && !variant->work && helper.to < 0) {
      helper = sigtrap_start();
      variant->is_on = helper.to >= 0;
    }
    if (!variant->is_on) continue;
    variant->slice_ns = calloc((size_t)options->rounds, sizeof(double));
    if (!variant->slice_ns || calibrate(variant, options) != 0) {
      fprintf(stderr, "kevt_bench: %s cannot be run\n", variant->name);
      return -1;
    }
  }
  return 0;
}

int bench_measure(struct bench_variant* variants, int count, const struct bench_options* options) {
  if (options->cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(options->cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) perror("kevt_bench: sched_setaffinity");
  }
  int status = prepare(variants, count, options);
  for (int r = 0; r < options->rounds && status == 0; r++) status = one_round(variants, count, options, r);
  sigtrap_stop(&helper);
  if (status != 0) return status;
  for (int i = 0; i < count; i++) {
    if (!variants[i].is_on) continue;
    summarize(&variants[i], variants[i].base ? find(variants, count, variants[i].base) : NULL, options->rounds);
  }
  return 0;
}

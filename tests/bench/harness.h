/* Interleaved measuring on a noisy machine (docs in README.md beside this file).
 *
 * A round runs a short slice of every variant, one after the other; a variant's figure is the median over
 * the rounds of (its slice - the slice of its unprobed twin in the same round), per call. */
#pragma once

#include "work.h"

struct bench_variant {
  const char* name;
  bench_work* work; /* NULL: the SIGTRAP helper is asked */
  bench_loop* loop;
  const char* base; /* the unprobed twin; NULL: absolute figure */
  int is_recording; /* its records must be read before the ring is full: short slices, a pause after each */
  int is_on;        /* measured at all */
  /* results */
  long calls_per_slice, calls;
  double* slice_ns; /* per call, one per round */
  double min_ns, median_ns, max_ns;
};

struct bench_options {
  int rounds;
  double slice_us;
  long burst;      /* most calls in a slice of a recording variant */
  double pause_ms; /* after such a slice */
  enum bench_order order;
  int cpu; /* to run on; -1: any */
};

double bench_now_ns(void);
/* Exactly `calls` calls of a variant that has a twin. */
void bench_call(const struct bench_variant* variant, long calls, enum bench_order order);
/* 0, or -1 with a message on stderr. */
int bench_measure(struct bench_variant* variants, int count, const struct bench_options* options);

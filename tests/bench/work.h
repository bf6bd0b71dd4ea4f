/* The functions that are probed, as twins: each is the same code under its own name, so that a
 * variant is one twin with a probe on it and everything else equal. `work_base` is never probed.
 *
 * A twin takes an int, a long, a string and a long: the four fields of every contestant's record. */
#pragma once

typedef long bench_work(int a, long b, const char* s, long d);

/* No inlining, no cloning, no merging of equal bodies; one cache line to itself. */
#define BENCH_TWIN __attribute__((noipa, aligned(64)))

/* What every twin does. Claiming rbx makes it begin like most functions do: push, mov, push, 5 bytes. */
static inline long bench_body(int a, long b, const char* s, long d) {
  __asm__ volatile("" ::: "rbx");
  return a + b + s[0] + d;
}

/* `calls` calls of one twin, by direct calls: an indirect one costs what the predictor makes of its history.
 * BENCH_CHAINED: each call waits for the result of the last, so that nothing hides behind the next. */
enum bench_order { BENCH_INDEPENDENT, BENCH_CHAINED };
typedef long bench_loop(long calls, const char* text, enum bench_order order);

#define BENCH_LOOP(twin)                                                                                       \
  __attribute__((noipa, aligned(64))) long loop_##twin(long calls, const char* text, enum bench_order order) { \
    long sum = 0, last = 1;                                                                                    \
    if (order == BENCH_CHAINED) {                                                                              \
      for (long i = 0; i < calls; i++) last = twin((int)(last & 0xffff), i, text, i);                          \
    } else {                                                                                                   \
      for (long i = 0; i < calls; i++) sum += twin((int)(i & 0xffff), i, text, i);                             \
    }                                                                                                          \
    return sum + last;                                                                                         \
  }

/* Probed by kevtrace (run.py has the definitions). */
bench_work work_base, work_control, work_accepted, work_rejected, work_counted, work_measured, work_loglinear,
    work_extremes, work_named, work_entry, work_return, work_stacked, work_text, work_object, work_integer,
    work_floating;
/* A jump lands inside its first five bytes, so a probe on it stays an int3. */
bench_work work_int3, work_int3_base;
/* Probed by kernel uprobe events. */
bench_work kernel_accepted, kernel_rejected, kernel_return;
/* The writer is in the function, by hand (limit.c), or a tracepoint (lttng_work.c). */
bench_work limit_accepted, limit_rejected;
bench_work lttng_accepted, lttng_rejected;

bench_loop loop_work_base, loop_work_control, loop_work_accepted, loop_work_rejected, loop_work_counted,
    loop_work_measured, loop_work_loglinear, loop_work_extremes, loop_work_named, loop_work_entry, loop_work_return,
    loop_work_stacked, loop_work_text, loop_work_object, loop_work_integer, loop_work_floating, loop_work_int3,
    loop_work_int3_base, loop_kernel_accepted, loop_kernel_rejected, loop_kernel_return, loop_limit_accepted,
    loop_limit_rejected, loop_lttng_accepted, loop_lttng_rejected;

/* limit.c: forget what is in the rings; hits that found no room, or found the guard set. */
void limit_drain(void);
unsigned long limit_recorded(void);
unsigned long limit_dropped(void);
int limit_init(void);

/* lttng_work.c: is a session recording the tracepoints of this process? */
int lttng_is_on(void);

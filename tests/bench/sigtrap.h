/* One SIGTRAP round trip: what an int3 costs before anything is recorded.
 *
 * It is measured in a helper process (this program again, with --serve), because a tracer of this process owns
 * its SIGTRAP. The helper is asked slice by slice, so the slices stay interleaved with the others. */
#pragma once

struct sigtrap_helper {
  int to, from; /* pipes; -1: there is no helper */
  int pid;
};

struct sigtrap_helper sigtrap_start(void);
/* Nanoseconds of `calls` round trips; negative: the helper is gone. */
double sigtrap_slice(const struct sigtrap_helper* helper, long calls);
void sigtrap_stop(struct sigtrap_helper* helper);
/* The helper's main: answers on stdout what is asked on stdin, until stdin ends. */
int sigtrap_serve(void);

/* The twins with an LTTng-UST tracepoint compiled in. */
#include "lttng_events.h"
#include "work.h"

BENCH_TWIN long lttng_accepted(int a, long b, const char* s, long d) {
  lttng_ust_tracepoint(kevt_bench, accepted, a, b, s, d);
  return bench_body(a, b, s, d);
}
BENCH_LOOP(lttng_accepted)

BENCH_TWIN long lttng_rejected(int a, long b, const char* s, long d) {
  lttng_ust_tracepoint(kevt_bench, rejected, a, b, s, d);
  return bench_body(a, b, s, d);
}
BENCH_LOOP(lttng_rejected)

int lttng_is_on(void) { return lttng_ust_tracepoint_enabled(kevt_bench, accepted) != 0; }

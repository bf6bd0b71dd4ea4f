/* The tracepoints of the LTTng-UST contestant: the same four fields. `rejected` gets a filter. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER kevt_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng_events.h"

#if !defined(KEVT_BENCH_LTTNG_EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define KEVT_BENCH_LTTNG_EVENTS_H

#include <lttng/tracepoint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT_CLASS(kevt_bench, work,
  LTTNG_UST_TP_ARGS(int, a, long, b, const char *, s, long, d),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(int, a, a)
    lttng_ust_field_integer(long, b, b)
    lttng_ust_field_string(s, s)
    lttng_ust_field_integer(long, d, d)))

LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(kevt_bench, work, kevt_bench, accepted,
  LTTNG_UST_TP_ARGS(int, a, long, b, const char *, s, long, d))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(kevt_bench, work, kevt_bench, rejected,
  LTTNG_UST_TP_ARGS(int, a, long, b, const char *, s, long, d))
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>

/*
 * Publishes the thread's span as an SDK does.  The file is compiled with several models of thread-local storage, and
 * with PADDING bytes before the pointer: a large block has no room in the static one, if the library is loaded later.
 */
#include "span_record.h"

#ifdef PADDING
__thread char span_padding[PADDING] = {1};
#endif
__thread struct span_record* otel_thread_ctx_v1;
__thread int32_t spans_published;

void publish_span(struct span_record* record) {
#ifdef PADDING
  span_padding[0] = 2;
#endif
  otel_thread_ctx_v1 = record;
  spans_published += record != 0;
}

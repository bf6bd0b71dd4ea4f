/*
 * spans [LIBRARY]: three threads work without a span, with two spans each, with a record that does not count yet, and
 * without a span again; a fourth never has one.  Each call of work() is printed as it should be traced.  With LIBRARY
 * the spans are published by that library, which is loaded now; "attach" as a further word waits for a line of input.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "span_record.h"

#ifdef OWN_POINTER
__thread struct span_record* otel_thread_ctx_v1;
static void publish_here(struct span_record* record) { otel_thread_ctx_v1 = record; }
#elif defined(LINKED)
void publish_span(struct span_record* record);
#endif

__thread int32_t turn = -1;
static void (*publish)(struct span_record*);

__attribute__((noinline)) void work(int thread, const struct span_record* expected) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static const struct span_record none;
  const struct span_record* shown = expected && expected->valid == 1 ? expected : &none;
  pthread_mutex_lock(&lock);
  printf("%d %d ", thread, turn);
  for (int i = 0; i < 16; i++) printf("%02x", shown->trace_id[i]);
  printf(" ");
  for (int i = 0; i < 8; i++) printf("%02x", shown->span_id[i]);
  printf("\n");
  pthread_mutex_unlock(&lock);
}

static void* run(void* number) {
  const int thread = (int)(intptr_t)number;
  struct span_record record;
  memset(&record, 0, sizeof record);
  for (turn = 0; turn < 5; turn++) {
    for (int i = 0; i < 16; i++) record.trace_id[i] = (uint8_t)(thread << 4 | i);
    for (int i = 0; i < 8; i++) record.span_id[i] = (uint8_t)(0xa0 + turn + i);
    record.valid = turn != 3;
    struct span_record* const now = turn == 0 || turn == 4 || thread == 3 ? NULL : &record;
    if (thread != 3) publish(now);
    work(thread, now);
  }
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t threads[4];
#ifdef OWN_POINTER
  publish = publish_here;
#elif defined(LINKED)
  publish = publish_span;
#endif
  if (argc > 1) {
    void* const library = dlopen(argv[1], RTLD_NOW);
    if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
    publish = (void (*)(struct span_record*))dlsym(library, "publish_span");
  }
  if (argc > 2) {
    fprintf(stderr, "ready\n");
    if (getchar() == EOF) return 1;
  }
  for (intptr_t i = 0; i < 4; i++) pthread_create(&threads[i], NULL, run, (void*)i);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  return 0;
}

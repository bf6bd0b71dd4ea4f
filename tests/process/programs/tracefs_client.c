/*
 * A client of a tracing directory, by libtracefs alone: defines a kprobe, filters it, reads its records.
 *
 *   tracefs_client DIR GROUP NAME PLACE ARGS FILTER FIELD SECONDS
 *
 * Prints "FIELD=VALUE" of every record that it reads in SECONDS, then "records N"; removes what it made. Status 1, with
 * what error_log says, when something is refused.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tracefs.h>

struct reading {
  const char* event;
  const char* field;
  unsigned long records;
};

static int take(struct tep_event* event, struct tep_record* record, int cpu, void* context) {
  struct reading* reading = context;
  unsigned long long value;
  (void)cpu;
  if (strcmp(event->name, reading->event)) return 0;
  if (tep_get_field_val(NULL, event, reading->field, record, &value, 1) < 0) return -1;
  printf("%s=%llu\n", reading->field, value);
  reading->records++;
  return 0;
}

static int refused(const char* what) {
  int reason = errno;
  char* log = tracefs_error_last(NULL);
  fprintf(stderr, "%s: %s\n%s", what, strerror(reason), log ? log : "");
  free(log);
  return 1;
}

int main(int count, char** words) {
  const struct timespec pause = {0, 20000000};
  if (count != 9) return 2;
  if (tracefs_set_tracing_dir(words[1]) < 0) return refused("the directory");
  struct reading reading = {.event = words[3], .field = words[7], .records = 0};
  struct tracefs_dynevent* probe = tracefs_kprobe_alloc(words[2], words[3], words[4], words[5]);
  if (!probe || tracefs_dynevent_create(probe) < 0) return refused("creating the probe");

  const char* systems[] = {words[2], NULL};
  struct tep_handle* tep = tracefs_local_events_system(words[1], systems);
  struct tep_event* event = tep ? tep_find_event_by_name(tep, words[2], words[3]) : NULL;
  if (!event) return refused("reading its format");
  if (tracefs_event_filter_apply(NULL, event, words[6]) < 0) return refused("its filter");
  if (tracefs_event_enable(NULL, words[2], words[3]) < 0) return refused("enabling it");

  const time_t end = time(NULL) + atoi(words[8]);
  while (time(NULL) < end && reading.records < 100) {
    if (tracefs_iterate_raw_events(tep, NULL, NULL, 0, take, &reading) < 0) return refused("reading records");
    nanosleep(&pause, NULL);
  }
  tracefs_event_disable(NULL, words[2], words[3]);
  if (tracefs_dynevent_destroy(probe, true) < 0) return refused("removing the probe");
  tracefs_dynevent_free(probe);
  tep_free(tep);
  printf("records %lu\n", reading.records);
  return 0;
}

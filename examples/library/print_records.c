/*
 * Traces a process or a command by a definition, or reads a recording: prints each record in one line, then a
 * recording's histograms and the counts.
 *
 *   cc print_records.c $(pkg-config --cflags --libs kevtrace) -o print_records
 *   ./print_records 'p:open libc:open64 path=+0(%di):string' python3 -c 'open("/etc/hosts")'
 *   ./print_records 'p:open libc:open64 path=+0(%di):string' PID         ./print_records - trace.dat
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kevtrace.h>

static void print_value(struct kevtrace_value value) {
  switch (value.kind) {
    case KEVTRACE_SIGNED:
      printf("%" PRId64, value.as.as_signed);
      break;
    case KEVTRACE_UNSIGNED:
      printf("%" PRIu64, value.as.as_unsigned);
      break;
    case KEVTRACE_FLOAT:
      printf("%g", value.as.as_float);
      break;
    case KEVTRACE_TEXT:
      printf("\"%.*s\"", (int)value.as.text.length, value.as.text.bytes);
      break;
    default:
      printf("?");
  }
}

static void print_record(const kevtrace_reader* reader) {
  printf("%s", kevtrace_event(reader));
  for (unsigned field = 0; field < kevtrace_fields(reader); field++) {
    if (strncmp(kevtrace_field_name(reader, field), "__probe_", 8) == 0) continue;
    printf(" %s=", kevtrace_field_name(reader, field));
    if (kevtrace_field_is_array(reader, field)) printf("{");
    for (unsigned item = 0; item < kevtrace_field_items(reader, field); item++) {
      if (item) printf(",");
      print_value(kevtrace_value_of(reader, field, item));
    }
    if (kevtrace_field_is_array(reader, field)) printf("}");
  }
  printf("\n");
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  kevtrace_reader* reader;
  if (strcmp(argv[1], "-") == 0) {
    reader = kevtrace_open(argv[2]);
  } else {
    const char* define[] = {argv[1], NULL};
    struct kevtrace_run_options options = {.size = sizeof options, .definitions = define};
    if (atoi(argv[2]) > 0)
      options.pid = atoi(argv[2]);
    else
      options.command = (const char* const*)(argv + 2);
    reader = kevtrace_run(&options);
  }
  if (!reader) {
    fprintf(stderr, "%s\n", kevtrace_failure());
    return 1;
  }
  kevtrace_want_histograms(reader);
  int result;
  while ((result = kevtrace_next(reader, -1)) > 0) {
    if (result == KEVTRACE_HISTOGRAM)
      puts(kevtrace_histogram(reader));
    else
      print_record(reader);
  }
  for (unsigned i = 0; i < kevtrace_counted(reader); i++) {
    const struct kevtrace_counts counts = kevtrace_counts_of(reader, i);
    printf("%s: %" PRIu64 " hits, %" PRIu64 " recorded\n", counts.event, counts.hits, counts.recorded);
  }
  if (result == KEVTRACE_FAILED) fprintf(stderr, "%s", kevtrace_messages(reader));
  kevtrace_close(reader);
  return result == KEVTRACE_END ? 0 : 1;
}

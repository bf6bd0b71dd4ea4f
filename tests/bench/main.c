/* kevt_bench: measures every variant of a hit, interleaved, in one process; prints JSON.
 *
 *   kevt_bench [--rounds N] [--slice US] [--burst N] [--pause MS] [--chain] [--cpu N] [--kernel]
 *              [--without NAME] [--json FILE]
 *   kevt_bench --count VARIANT N     exactly N calls and nothing else: for callgrind
 *   kevt_bench --file-offset TWIN    where the twin is in this file: for a kernel uprobe
 *   kevt_bench --startup NS          prints the time since NS (CLOCK_MONOTONIC), as early as main can
 *
 * The probes are armed from outside: `kevtrace run -e … -- kevt_bench` and uprobe_events; which of the twins
 * carry one is read from their bytes.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "sigtrap.h"

#define TWIN(name) .work = name, .loop = loop_##name

static struct bench_variant variants[] = {
    {.name = "base", TWIN(work_base), .is_on = 1},
    {.name = "control", TWIN(work_control), .base = "base", .is_on = 1},
    {.name = "limit_accepted", TWIN(limit_accepted), .base = "base", .is_recording = 1, .is_on = 1},
    {.name = "accepted", TWIN(work_accepted), .base = "base", .is_recording = 1, .is_on = 1},
    {.name = "limit_rejected", TWIN(limit_rejected), .base = "base", .is_on = 1},
    {.name = "rejected", TWIN(work_rejected), .base = "base", .is_on = 1},
    {.name = "counted", TWIN(work_counted), .base = "base", .is_on = 1},
    {.name = "measured", TWIN(work_measured), .base = "base", .is_on = 1},
    {.name = "loglinear", TWIN(work_loglinear), .base = "base", .is_on = 1},
    {.name = "extremes", TWIN(work_extremes), .base = "base", .is_on = 1},
    {.name = "named", TWIN(work_named), .base = "base", .is_on = 1},
    {.name = "stacked", TWIN(work_stacked), .base = "base", .is_on = 1},
    {.name = "entry", TWIN(work_entry), .base = "base", .is_recording = 1, .is_on = 1},
    {.name = "return", TWIN(work_return), .base = "base", .is_recording = 1, .is_on = 1},
    {.name = "text", TWIN(work_text), .base = "base", .is_recording = 1, .is_on = 1},
    {.name = "object", TWIN(work_object), .base = "base", .is_recording = 1, .is_on = 1},
    {.name = "integer", TWIN(work_integer), .base = "base", .is_recording = 1, .is_on = 1},
    {.name = "floating", TWIN(work_floating), .base = "base", .is_recording = 1, .is_on = 1},
    {.name = "int3_base", TWIN(work_int3_base), .is_on = 1},
    {.name = "int3", TWIN(work_int3), .base = "int3_base", .is_recording = 1, .is_on = 1},
    {.name = "sigtrap", .is_on = 1},
    {.name = "lttng_accepted", TWIN(lttng_accepted), .base = "base", .is_on = 1},
    {.name = "lttng_rejected", TWIN(lttng_rejected), .base = "base", .is_on = 1},
    {.name = "kernel_accepted", TWIN(kernel_accepted), .base = "base"},
    {.name = "kernel_rejected", TWIN(kernel_rejected), .base = "base"},
    {.name = "kernel_return", TWIN(kernel_return), .base = "base"},
};
enum { kVariants = sizeof variants / sizeof variants[0] };

static struct bench_variant* variant_named(const char* name) {
  for (int i = 0; i < kVariants; i++) {
    if (strcmp(variants[i].name, name) == 0) return &variants[i];
  }
  fprintf(stderr, "kevt_bench: no variant `%s`; there are:", name);
  for (int i = 0; i < kVariants; i++) fprintf(stderr, " %s", variants[i].name);
  fputc('\n', stderr);
  exit(2);
}

/* What the first byte says about a probe: see the bytes of the twin that never has one. */
static const char* armed_as(const struct bench_variant* variant) {
  if (!variant->work) return "none";
  uint8_t now[5], plain[5];
  memcpy(now, (const void*)(uintptr_t)variant->work, sizeof now);
  memcpy(plain, (const void*)(uintptr_t)work_base, sizeof plain);
  if (now[0] == 0xcc) return "int3";
  return now[0] == 0xe9 && plain[0] != 0xe9 ? "jump" : "none";
}

static int print_file_offset(const char* name) {
  const uintptr_t address = (uintptr_t)variant_named(name)->work;
  FILE* maps = fopen("/proc/self/maps", "re");
  char line[4096];
  uintptr_t begin, end;
  uint64_t offset;
  while (maps && fgets(line, sizeof line, maps)) {
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %" SCNx64, &begin, &end, &offset) != 3) continue;
    if (address < begin || address >= end) continue;
    printf("0x%" PRIx64 "\n", (uint64_t)(address - begin) + offset);
    fclose(maps);
    return 0;
  }
  if (maps) fclose(maps);
  return 1;
}

static int check_results(void) {
  for (int i = 0; i < kVariants; i++) {
    struct bench_variant* variant = &variants[i];
    if (!variant->is_on || !variant->work) continue;
    variant->calls += 100;
    for (int k = 0; k < 100; k++) {
      if (variant->work(k, 3 * k + 1, "hello", k) != 5 * k + 1 + 'h') {
        fprintf(stderr, "kevt_bench: %s returns something else than it should\n", variant->name);
        return -1;
      }
    }
  }
  return 0;
}

static void print_json(FILE* out) {
  fprintf(out, "{\"v\":1,\"limit\":{\"recorded\":%lu,\"dropped\":%lu},\"variants\":{", limit_recorded(),
          limit_dropped());
  const char* comma = "";
  for (int i = 0; i < kVariants; i++) {
    const struct bench_variant* v = &variants[i];
    if (!v->is_on) continue;
    fprintf(out,
            "%s\n\"%s\":{\"min_ns\":%.3f,\"median_ns\":%.3f,\"max_ns\":%.3f,\"calls\":%ld,\"calls_per_slice\":%ld,"
            "\"armed\":\"%s\"}",
            comma, v->name, v->min_ns, v->median_ns, v->max_ns, v->calls, v->calls_per_slice, armed_as(v));
    comma = ",";
  }
  fprintf(out, "}}\n");
}

struct arguments {
  struct bench_options options;
  const char *json, *count;
};

static void parse(int argc, char** argv, struct arguments* arguments) {
  enum { Rounds, Slice, Burst, Pause, Chain, Cpu, Kernel, Without, Startup, Json, Count, FileOffset, Serve };
  static const struct option known[] = {
      {"rounds", required_argument, NULL, Rounds},   {"slice", required_argument, NULL, Slice},
      {"burst", required_argument, NULL, Burst},     {"pause", required_argument, NULL, Pause},
      {"chain", no_argument, NULL, Chain},           {"cpu", required_argument, NULL, Cpu},
      {"kernel", no_argument, NULL, Kernel},         {"without", required_argument, NULL, Without},
      {"startup", required_argument, NULL, Startup}, {"json", required_argument, NULL, Json},
      {"count", required_argument, NULL, Count},     {"file-offset", required_argument, NULL, FileOffset},
      {"serve", no_argument, NULL, Serve},           {0}};
  struct bench_options* options = &arguments->options;
  for (int chosen; (chosen = getopt_long(argc, argv, "", known, NULL)) != -1;) {
    switch (chosen) {
      case Rounds:
        options->rounds = atoi(optarg);
        break;
      case Slice:
        options->slice_us = atof(optarg);
        break;
      case Burst:
        options->burst = atol(optarg);
        break;
      case Pause:
        options->pause_ms = atof(optarg);
        break;
      case Chain:
        options->order = BENCH_CHAINED;
        break;
      case Cpu:
        options->cpu = atoi(optarg);
        break;
      case Kernel:
        for (const char** name = (const char*[]){"kernel_accepted", "kernel_rejected", "kernel_return", NULL}; *name;
             name++)
          variant_named(*name)->is_on = 1;
        break;
      case Without:
        variant_named(optarg)->is_on = 0;
        break;
      case Startup:
        printf("startup_ms %.3f\n", (bench_now_ns() - atof(optarg)) / 1e6);
        exit(0);
      case Json:
        arguments->json = optarg;
        break;
      case Count:
        arguments->count = optarg;
        break;
      case FileOffset:
        exit(print_file_offset(optarg));
      case Serve:
        exit(sigtrap_serve());
      default:
        exit(2);
    }
  }
}

int main(int argc, char** argv) {
  struct arguments arguments = {.options = {.rounds = 51, .slice_us = 400, .burst = 20000, .pause_ms = 0, .cpu = -1},
                                .json = "-"};
  parse(argc, argv, &arguments);
  if (arguments.options.rounds < 1) return 2;
  if (limit_init() != 0) return 1;
  if (arguments.count) {
    if (optind >= argc) return 2;
    struct bench_variant* variant = variant_named(arguments.count);
    if (variant->work) bench_call(variant, atol(argv[optind]), arguments.options.order);
    return variant->work ? 0 : 2;
  }
  if (!lttng_is_on()) variant_named("lttng_accepted")->is_on = variant_named("lttng_rejected")->is_on = 0;
  if (check_results() != 0 || bench_measure(variants, kVariants, &arguments.options) != 0) return 1;
  FILE* out = strcmp(arguments.json, "-") == 0 ? stdout : fopen(arguments.json, "we");
  if (!out) {
    perror(arguments.json);
    return 1;
  }
  print_json(out);
  return fflush(out) == 0 ? 0 : 1;
}

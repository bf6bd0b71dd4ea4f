// Options of every verb that traces: `run`, the live questions and, for definitions, `mount`.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>

#include "cli/options/choice_options.h"
#include "cli/options/option_parts.h"
#include "cli/options/record_options.h"
#include "cli/options/run_options.h"
#include "compiler/model/script.h"
#include "runtime-user/runtime/runtime_names.h"

namespace kevt::cli {

void add_definitions(CLI::App& app, RunOptions& run) {
  CLI::App* verb = &app;
  verb->add_option("-e,--event", run.definitions, "a definition, e.g. 'p:open libc:open64 path=+0(%di):string'")
      ->type_name("DEF")
      ->allow_extra_args(false);
  verb->add_option("-p,--probes", run.definition_files, "an event script, or a compiled one (.kevo)")
      ->type_name("FILE")
      ->allow_extra_args(false);
  verb->add_option("--filter", run.filters, "record only what matches, e.g. 'open: path ~ \"/etc/*\"'")
      ->type_name("EV:EXPR")
      ->allow_extra_args(false);
  verb->add_option("--trigger", run.triggers, "what hits switch, e.g. 'open: traceoff:1 if fd == 3'")
      ->type_name("EV:TRIGGER")
      ->allow_extra_args(false);
  verb->add_option("--hist", run.histograms,
                   "count hits by key instead of recording them, e.g. 'open: keys=common_pid:vals=hitcount'")
      ->type_name("EV:keys=KEYS")
      ->allow_extra_args(false);
  verb->add_flag("--kernel-drops", run.kernel_drops,
                 "a histogram keeps `size=` keys and drops hits of others, as in a kernel, instead of keeping all");
  verb->add_option("--enable", run.enabled,
                   "record one of the kernel's own events, too, e.g. sched:sched_switch; or what is defined")
      ->type_name("EVENT")
      ->allow_extra_args(false);
  verb->add_option("--event-pid", run.event_pids, "record hits of these threads alone, as set_event_pid")
      ->type_name("TID[,TID…]")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(positive("a thread id"));
  verb->add_option("--inject", run.injections,
                   "with --unsafe: accepted hits make the function return at once, e.g. 'ev: ret=-1 probability=5% "
                   "count=3 seed=1'")
      ->type_name("EV:ret=VALUE")
      ->allow_extra_args(false);
  verb->add_flag("--unsafe", run.unsafe, "allow what changes the way the program takes: --inject");
}

void add_instances(CLI::App& app, RunOptions& run) {
  CLI::Option* const output = app.get_option_no_throw("--output");
  app.add_option("-B,--instance")
      ->description("another instance: -e, --enable, --filter, --trigger and --hist behind it are its own" +
                    std::string(output ? ", and so is -o" : ""))
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(CLI::Validator(
          [](std::string& name) {
            return model::is_instance_name(name) ? std::string()
                                                 : "`" + name + "`: " + std::string(model::kInstanceNames);
          },
          ""));
  if (output) output->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  run.instances.clear();
}

// CLI11 keeps the values of each option, and the order in which options came.
void take_instances(const CLI::App& app, RunOptions& run) {
  constexpr std::pair<const char*, std::vector<std::string> InstanceOptions::*> kLists[] = {
      {"--event", &InstanceOptions::definitions}, {"--filter", &InstanceOptions::filters},
      {"--trigger", &InstanceOptions::triggers},  {"--hist", &InstanceOptions::histograms},
      {"--enable", &InstanceOptions::enabled},
  };
  for (const auto& [name, list] : kLists) (run.*list).clear();
  run.output.clear();
  std::size_t at = 0;  // the instance: 0 is the top one
  const auto instance = [&]() -> InstanceOptions& { return at ? run.instances[at - 1] : run; };
  std::map<const CLI::Option*, std::size_t> seen;
  for (const CLI::Option* option : app.parse_order()) {
    const std::size_t nth = seen[option]++;
    if (option->check_name("--instance")) {
      const std::string& name = option->results()[nth];
      const auto known = std::ranges::find(run.instances, name, &InstanceOptions::name);
      at = static_cast<std::size_t>(known - run.instances.begin()) + 1;
      if (known == run.instances.end()) run.instances.emplace_back().name = name;
    } else if (option->check_name("--output")) {
      if (!instance().output.empty()) throw CLI::ValidationError("-o", "one file is enough");
      instance().output = option->results()[nth];
    } else {
      for (const auto& [name, list] : kLists)
        if (option->check_name(name)) (instance().*list).push_back(option->results()[nth]);
    }
  }
}

void add_with_kernel(CLI::App& app, RunOptions& run) {
  app.add_flag("--with-kernel{auto}", run.with_kernel,
               "trace the running kernel in the same session, too; =bpf, =kmod: by this runtime")
      ->check(member({"auto", "bpf", "kmod"}));
}

// Of every verb that traces.
void add_tracing(CLI::App& app, RunOptions& run) {
  CLI::App* verb = &app;
  add_definitions(app, run);
  verb->add_option("-d,--duration", run.seconds, "stop tracing after SEC seconds (CMD goes on)")
      ->type_name("SEC")
      ->check(positive("a positive number of seconds"));
  verb->add_option("-c,--count", run.events, "stop tracing after N events (CMD goes on)")
      ->type_name("N")
      ->check(positive("a positive number"));
  verb->add_option("--interval", run.interval, "print histograms every SEC seconds, each time what came since")
      ->type_name("SEC")
      ->check(positive("a positive number of seconds"));
  verb->add_option("--hist-output", run.histogram_output, "write histograms to FILE instead of behind the trace")
      ->type_name("FILE");
  verb->add_option("--hist-format", run.histogram_format,
                   "text, heat, json, csv or openmetrics; without it by FILE's ending (.json, .csv, .prom), else text")
      ->type_name("FORMAT")
      ->check(member({"text", "heat", "json", "csv", "openmetrics"}));
  verb->add_option("-o,--output", run.output, "write the trace to FILE instead of standard output")->type_name("FILE");
  verb->add_option("-f,--format", run.format, run_format_help())->type_name("FORMAT")->check(run_format());
  verb->add_option("--max-bytes", run.max_bytes, "stop tracing when so much is written; 500K, 20M, 1G")
      ->type_name("SIZE")
      ->transform(CLI::Validator(CLI::AsSizeValue(false)).description(""));
  verb->add_option(
          "--id", run.recording_id,
          "1 to 16 hexadecimal digits that the recording's id begins with, so that recordings of several hosts "
          "can be asked for together")
      ->type_name("HEX")
      ->check(CLI::Validator(
          [](std::string& id) {
            const bool is_hex =
                std::ranges::all_of(id, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
            return is_hex && !id.empty() && id.size() <= 16 ? std::string()
                                                            : "`" + id + "`: 1 to 16 of the digits 0 to 9 and a to f";
          },
          ""));
  verb->add_flag("--stack", run.stack,
                 "record the calls under way at each hit; -f flame draws them, -f tree and -f folded list them");
  verb->add_flag("--overwrite", run.overwrite,
                 "keep the newest records, --max-bytes of them or --buffer of each CPU; older ones go and are counted");
  verb->add_option("--buffer", run.buffer_kb, "ring size per CPU in KiB, rounded up to a power of two")
      ->type_name("KIB")
      ->check(CLI::Range(64, 1 << 20).description(""))
      ->default_str("4096");
  verb->add_option("--fail-on", run.fail_on, "end with status 5 when records were `lost` or hits `missed`")
      ->type_name("WHATS")
      ->delimiter(',')
      ->check(member({"lost", "missed"}));
  verb->add_option("--runtime", run.runtime, "auto, inproc; bpf and kmod trace the kernel")
      ->type_name("NAME")
      ->check(member(runtime::runtime_names()))
      ->capture_default_str();
  verb->add_option("--pid", run.pids, "trace running processes instead of CMD; they go on when it ends")
      ->type_name("PID[,PID…]")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(positive("a process id"));
  add_process_choice(*verb, run.choice);
  add_with_kernel(*verb, run);
  verb->add_flag("--keep-going", run.keep_going,
                 "leave out definitions that are wrong or cannot be placed, instead of refusing them all");
  verb->add_flag("--follow-forks", run.follow,
                 "trace also the programs that CMD or the processes, and what they fork, become by exec");
}

}  // namespace kevt::cli

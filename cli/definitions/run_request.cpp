// Merges scripts and the command line before anything is started.
//
//   -p s.kev with `target program /bin/ls`, `option count 5`    run -c 5 -- /bin/ls
//   the same with -c 1 -- /bin/true                             run -c 1 -- /bin/true
//
// Problem: a script may ask for what no runtime does yet. Idea: everything that can be refused is refused here, at its
// line, with the reason: the kernel as a target, events of the kernel in a program, clocks other than the runtime's.
// Events that are off stay out, unless a trigger may switch them on.
#include "cli/definitions/run_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>

#include "cli/definitions/injections.h"
#include "cli/definitions/run_triggers.h"
#include "cli/exit_status.h"
#include "common/error.h"
#include "compiler/pipeline/place_glob.h"
#include "compiler/script/event_name.h"
#include "grammar/parse.h"
#include "runtime-user/runtime/runtime_names.h"
#include "runtime-user/session/kernel_formats.h"

namespace kevt::cli {
namespace {

constexpr std::string_view kClock = "mono";  // the clock of process records

bool targets_kernel(const Texts& texts) {
  return texts.target && std::holds_alternative<model::KernelTarget>(*texts.target);
}

// The defined events that --enable may name.
std::set<model::EventName> defined_events(const Texts& texts, const std::string& word) {
  std::set<model::EventName> found;
  for (const auto& name : texts.names)
    if (name && engine::names_event(word, name->system, name->event)) found.insert(*name);
  return found;
}

bool enables_anything(const RunOptions& options) {
  return !options.enabled.empty() ||
         std::ranges::any_of(options.instances, [](const auto& one) { return !one.enabled.empty(); });
}

bool enables_statics(const RunOptions& options, const Texts& texts) {
  const auto is_static = [&](const std::string& word) {
    return !script::split_event_name(word).system.empty() && defined_events(texts, word).empty();
  };
  return std::ranges::any_of(options.enabled, is_static) ||
         std::ranges::any_of(options.instances,
                             [&](const auto& one) { return std::ranges::any_of(one.enabled, is_static); });
}

// Whether the kernel is traced beside programs.
bool is_with_kernel(const RunOptions& options, const Texts& texts) {
  return !options.with_kernel.empty() || texts.options.with_kernel;
}

// --runtime decides, or for `auto` the target.
bool traces_kernel(const RunOptions& options, const Texts& texts) {
  if (is_with_kernel(options, texts)) return false;
  const bool is_meant = targets_kernel(texts) || enables_statics(options, texts);
  return runtime::traces_whole_machine(options.runtime) || (options.runtime == "auto" && is_meant);
}

// Mistakes that make a script impossible to run.
std::vector<diag::Located> refusals(const Texts& texts, const RunOptions& options) {
  std::vector<diag::Located> out;
  const auto refuse = [&](const Source& source, std::string why) {
    out.push_back(mistake_at(diag::Kind::NotSupportedByRuntime, source, std::move(why)));
  };
  if (options.runtime == "inproc" && targets_kernel(texts))
    refuse(texts.target_source, "the kernel needs --runtime=bpf or kmod");
  const bool is_kernel = traces_kernel(options, texts), has_kernel = is_kernel || is_with_kernel(options, texts);
  if (targets_kernel(texts) && is_with_kernel(options, texts))
    refuse(texts.target_source, "with --with-kernel the target is a program");
  for (const ForeignEvent& event : texts.foreign_events)
    if (!has_kernel)
      refuse(event.source, "events of the kernel are recorded by --runtime bpf or kmod, or --with-kernel");
  for (const Source& source : texts.injection_sources)
    if (is_kernel) refuse(source, "the kernel is never changed");
  if (texts.options.clock && *texts.options.clock != kClock)
    refuse(texts.option_sources.at("clock"), "the clock is `" + std::string(kClock) + "`");
  return out;
}

// Injections of the command line win over those of scripts. Returns the reason if they are impossible; empty: none.
std::optional<std::string> take_injections(RunRequest& request) {
  auto injections = collect_injections(request.options.injections);
  if (!injections) return injections.error().message();
  request.injections = *std::move(injections);
  std::string where = request.injections.empty() ? "" : "--inject";
  const std::size_t given = request.injections.size();
  for (std::size_t i = 0; i < request.texts.injections.size(); ++i) {
    const engine::EventInjection& one = request.texts.injections[i];
    const model::EventName name = script::split_event_name(one.event);
    const auto wins = [&](const engine::EventInjection& known) {
      return engine::names_event(known.event, name.system, name.event);
    };
    if (std::ranges::any_of(std::span(request.injections).first(given), wins)) continue;
    const Source& source = request.texts.injection_sources[i];
    if (where.empty()) where = fmt::format("{}:{}: `inject`", source.origin, source.line);
    request.injections.push_back(one);
  }
  if (request.injections.empty()) return std::nullopt;
  if (!request.options.unsafe) return where + " changes the way the program takes; say --unsafe if you mean it";
  const auto in_script = request.texts.option_sources.find("event-pid");
  if (!request.options.event_pids.empty())
    return (in_script == request.texts.option_sources.end()
                ? "--event-pid"
                : fmt::format("{}:{}: `option event-pid`", in_script->second.origin, in_script->second.line)) +
           " chooses what is recorded, not who is injected; a filter does (common_pid == N)";
  return std::nullopt;
}

void add_triggers(RunRequest& request, const std::string& instance, Triggers triggers) {
  for (engine::EventTrigger& one : triggers.triggers) {
    one.instance = instance;
    request.triggers.push_back(std::move(one));
  }
  for (Source& source : triggers.sources) {
    if (!instance.empty()) source.origin.insert(1, instance + ": ");
    request.trigger_sources.push_back(std::move(source));
  }
}

Result<void> take_triggers_of(RunRequest& request, const InstanceOptions& instance) {
  auto triggers = KEVT_TRY(collect_triggers(instance.triggers));
  add_triggers(request, instance.name, std::move(triggers));
  auto histograms = KEVT_TRY(collect_histograms(instance.histograms));
  const std::size_t first = request.triggers.size();
  add_triggers(request, instance.name, std::move(histograms));
  request.only_counted.insert(request.only_counted.end(), request.triggers.begin() + static_cast<std::ptrdiff_t>(first),
                              request.triggers.end());
  return {};
}

// Triggers of scripts, then those of the command line.
Result<void> take_triggers(RunRequest& request) {
  for (const script::TriggerText& one : request.texts.triggers)
    request.triggers.push_back({one.event.system + "/" + one.event.event, one.text, one.instance});
  request.trigger_sources = request.texts.trigger_sources;
  KEVT_TRY(take_triggers_of(request, request.options));
  for (const InstanceOptions& one : request.options.instances) KEVT_TRY(take_triggers_of(request, one));
  return {};
}

// Events that triggers are on or switch, and that are not defined here.
void note_events_of_triggers(RunRequest& request) {
  const auto note = [&](const model::EventName& name) {
    const bool is_ours = std::ranges::find(request.texts.names, std::optional(name)) != request.texts.names.end();
    if (!name.system.empty() && !is_ours && !session::is_of_probes(name.system)) request.known_statics.insert(name);
  };
  for (const engine::EventTrigger& trigger : request.triggers) {
    note(script::split_event_name(trigger.event));
    diag::Sink ignored;  // mistakes are reported when the trigger is set
    const auto parsed = grammar::parse_trigger(trigger.text, ignored);
    request.trigger_targets.push_back(parsed ? model::EventName{parsed->target_system, parsed->target_event}
                                             : model::EventName{});
    note(request.trigger_targets.back());
  }
}

// --enable names an event that is defined here, or a kernel event.
Result<void> take_enabled(RunRequest& request, const InstanceOptions& options) {
  for (const std::string& word : options.enabled) {
    InstanceTexts& instance = request.texts.instance(options.name);
    const std::set<model::EventName> found = defined_events(request.texts, word);
    if (found.size() > 1)
      return std::unexpected(Error("--enable " + word + ": several groups have `" + word + "`; write GROUP:EVENT"));
    const bool is_any_wrong = std::ranges::any_of(request.texts.names, [](const auto& one) { return !one; });
    auto name = found.empty() ? script::split_event_name(word) : *found.begin();
    if (found.empty()) {
      if (name.system.empty() && is_any_wrong) continue;  // may be a wrong definition's, reported later
      if (name.system.empty())
        return std::unexpected(
            Error("--enable " + word + ": it is not defined here; of the kernel's own write GROUP:EVENT"));
      request.known_statics.insert(name);
      request.statics.insert(name);
    }
    instance.off.erase(name);
    instance.events.insert(std::move(name));
  }
  return {};
}

// Kernel events that are to be on: those that scripts name and do not switch off, and those of --enable.
Result<void> take_statics(RunRequest& request) {
  for (const ForeignEvent& event : request.texts.foreign_events) {
    const auto is_on = [&](const InstanceTexts& instance) { return instance.is_on(event.name); };
    if (std::ranges::any_of(request.texts.instances, is_on)) request.statics.insert(event.name);
    request.known_statics.insert(event.name);
  }
  KEVT_TRY(take_enabled(request, request.options));
  for (const InstanceOptions& one : request.options.instances) KEVT_TRY(take_enabled(request, one));
  note_events_of_triggers(request);
  Filters& filters = request.texts.filters;
  std::ranges::move(request.texts.foreign_filters.filters, std::back_inserter(filters.filters));
  std::ranges::move(request.texts.foreign_filters.sources, std::back_inserter(filters.sources));
  return {};
}

// nullopt: nothing is refused.
std::optional<std::string> why_not_in_kernel(const RunOptions& options, const RunRequest& request) {
  if (options.keep_going) return "--keep-going is for programs";
  if (!request.injections.empty()) return "--inject is for programs; it never changes the kernel";
  return std::nullopt;
}

// Removes definitions of events that are off, with their filters and injections. Not called if there are triggers,
// which may switch events on.
void drop_what_is_off(RunRequest& request) {
  Texts& texts = request.texts;
  const auto is_name_off = [&](const model::EventName& name) {
    const auto is_on = [&](const InstanceTexts& instance) { return instance.is_on(name); };
    const auto is_off = [&](const InstanceTexts& instance) { return instance.off.contains(name); };
    return std::ranges::any_of(texts.instances, is_off) && std::ranges::none_of(texts.instances, is_on);
  };
  const auto is_off = [&](const std::string& event) { return is_name_off(script::split_event_name(event)); };
  std::erase_if(request.injections, [&](const engine::EventInjection& one) { return is_off(one.event); });
  for (std::size_t i = texts.definitions.size(); i-- > 0;) {
    if (!texts.names[i] || !is_name_off(*texts.names[i])) continue;
    texts.definitions.erase(texts.definitions.begin() + static_cast<std::ptrdiff_t>(i));
    texts.names.erase(texts.names.begin() + static_cast<std::ptrdiff_t>(i));
  }
  Filters& filters = texts.filters;
  for (std::size_t i = filters.filters.size(); i-- > 0;) {
    if (!is_off(filters.filters[i].event)) continue;
    filters.filters.erase(filters.filters.begin() + static_cast<std::ptrdiff_t>(i));
    filters.sources.erase(filters.sources.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

// The part that `mount` shares with `run`.
void take_recording_options(RunRequest& request) {
  RunOptions& run = request.options;
  const model::ScriptOptions& script = request.texts.options;
  if (!run.buffer_kb) run.buffer_kb = script.buffer_kb;
  if (run.event_pids.empty() && script.event_pids) run.event_pids = *script.event_pids;
  run.stack = run.stack || script.stack.value_or(false);
  run.overwrite = run.overwrite || script.overwrite.value_or(false);
  run.follow = run.follow || script.follow_forks.value_or(false);
  if (run.with_kernel.empty()) run.with_kernel = script.with_kernel.value_or("");
}

void take_options(RunRequest& request) {
  RunOptions& run = request.options;
  const model::ScriptOptions& script = request.texts.options;
  if (!run.seconds) run.seconds = script.seconds;
  if (!run.events) run.events = script.count;
  if (!run.output.empty() || !script.output) return;
  run.output = *script.output;
  request.output_source = request.texts.option_sources.at("output");
}

// An error: no process fits.
Result<void> take_target(RunRequest& request) {
  if (!request.texts.target) return {};
  const model::ScriptTarget& target = *request.texts.target;
  RunOptions& run = request.options;
  if (const auto* file = std::get_if<model::FileTarget>(&target)) request.mapped_file = file->path;
  if (!run.command.empty() || !run.pids.empty()) return {};
  if (const auto* program = std::get_if<model::ProgramTarget>(&target)) run.command = program->command;
  if (const auto* processes = std::get_if<model::PidTarget>(&target)) run.pids = processes->pids;
  const auto* chosen = std::get_if<model::ChosenTarget>(&target);
  if (!chosen) return {};
  run.choice = {.comms = chosen->comms, .cgroups = chosen->cgroups, .containers = chosen->containers};
  const auto pids = proc::chosen_processes(run.choice);
  if (pids.empty()) return std::unexpected(Error("the script's target, " + run.choice.text() + ": no process fits"));
  run.pids.assign(pids.begin(), pids.end());
  return {};
}

}  // namespace

bool RunRequest::tells_of(const InstanceTexts& instance, const model::EventName& event) const {
  if (instance.events.contains(event)) return true;
  for (std::size_t i = 0; i < triggers.size(); ++i)
    if (triggers[i].instance == instance.name &&
        (engine::names_event(triggers[i].event, event.system, event.event) || trigger_targets[i] == event))
      return true;
  return false;
}

bool traces_kernel(const RunRequest& request) { return traces_kernel(request.options, request.texts); }

std::optional<RunRequest> read_definitions(const RunOptions& options, const Reporter& report, int& status) {
  const auto fail = [&](int what, const std::string& why) {
    report.error(why);
    status = what;
    return std::nullopt;
  };
  auto texts = collect_texts({.definitions = options.definitions,
                              .files = options.definition_files,
                              .filters = options.filters,
                              .instances = options.instances,
                              .needs_names = enables_anything(options)});
  if (!texts) return fail(kUsage, texts.error().message());
  RunRequest request{.options = options, .texts = *std::move(texts), .mapped_file = {}};
  if (!request.texts.mistakes.empty()) {
    show_mistakes(report, request.texts.mistakes, request.texts.definitions.size());
    status = kNotCompiled;
    return std::nullopt;
  }
  if (auto refused = refusals(request.texts, options); !refused.empty()) {
    sort_mistakes(refused, options.definition_files);
    show_mistakes(report, std::move(refused), request.texts.definitions.size());
    status = kMissing;
    return std::nullopt;
  }
  take_recording_options(request);
  if (auto why = take_injections(request)) return fail(kUsage, *why);
  if (auto taken = take_triggers(request); !taken) return fail(kUsage, taken.error().message());
  if (auto taken = take_statics(request); !taken) return fail(kUsage, taken.error().message());
  for (const InstanceTexts& instance : request.texts.instances) {
    const auto is_its = [&](const engine::EventTrigger& one) { return one.instance == instance.name; };
    if (!instance.name.empty() && instance.events.empty() && std::ranges::none_of(request.triggers, is_its))
      report.status("instance `" + instance.name +
                    "` has no event: say --enable EVENT behind it, or `event EVENT` below");
  }
  for (const InstanceTexts& instance : request.texts.instances)
    for (const model::EventName& name : instance.off)
      report.status(name.system + "/" + name.event + " is off" +
                    (instance.name.empty() ? "" : " in `" + instance.name + "`") + ": `enable 0`");
  return request;
}

void warn_of_brought_code(const RunRequest& request, const Reporter& report) {
  if (traces_kernel(request)) return;  // the kernel's verifier checks the code
  for (std::size_t i = 0; i < request.texts.compiled.size(); ++i)
    if (!request.texts.compiled[i].images.empty())
      report.status(request.texts.compiled_names[i] +
                    " holds machine code that nobody has checked; it runs in the traced program, with its rights");
}

std::optional<RunRequest> read_run_request(const RunOptions& options, const Reporter& report, int& status) {
  const auto fail = [&](int what, const std::string& why) {
    report.error(why);
    status = what;
    return std::nullopt;
  };
  auto read = read_definitions(options, report, status);
  if (!read) return std::nullopt;
  RunRequest& request = *read;
  if (request.triggers.empty()) drop_what_is_off(request);
  if (request.texts.definitions.empty() && request.known_statics.empty())
    return fail(kUsage, "no event is defined; give -e DEF or -p FILE");
  take_options(request);
  if (auto taken = take_target(request); !taken) return fail(kFailed, taken.error().message());
  if (traces_kernel(request)) {
    if (!request.options.pids.empty()) return fail(kUsage, "--pid is for programs; the kernel is traced as a whole");
    if (const auto why = why_not_in_kernel(request.options, request)) return fail(kMissing, *why);
    return read;
  }
  const bool is_kernel_named = runtime::traces_whole_machine(request.options.runtime);
  if (!request.options.with_kernel.empty() && is_kernel_named)
    return fail(kUsage, "--with-kernel is for programs: --runtime " + request.options.runtime +
                            " traces the kernel already, and programs with it");
  if (!request.statics.empty() && request.options.with_kernel.empty())
    return fail(kMissing,
                "--enable GROUP:EVENT is for the kernel's own events: --runtime bpf or kmod, or --with-kernel");
  if (!request.options.with_kernel.empty() && request.options.keep_going)
    return fail(kUsage, "--keep-going is for one program, without the kernel");
  if (request.options.keep_going && request.options.pids.size() > 1)
    return fail(kUsage, "--keep-going is for one program: several could have different events then");
  if (request.options.command.empty() && request.options.pids.empty())
    return fail(kUsage, "CMD is required; see `kevtrace run --help`");
  return read;
}

bool stays_here(const std::string& path) {
  if (path == "-" || path == "/dev/null") return true;
  std::filesystem::path at;
  for (const std::filesystem::path& part : std::filesystem::path(path)) {
    std::error_code none;
    at /= part;
    if (part.is_absolute() || part == ".." || std::filesystem::is_symlink(at, none)) return false;
  }
  return true;
}

std::size_t globs_of(const RunRequest& request) {
  return static_cast<std::size_t>(std::ranges::count_if(
      request.texts.definitions, [](const Source& one) { return pipeline::has_place_glob(one.text); }));
}

bool has_mapped(int pid, const std::string& path) {
  std::error_code error;
  const std::string real = std::filesystem::canonical(path, error).string();
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.ends_with(" " + (error ? path : real))) return true;
  return false;
}

}  // namespace kevt::cli

// Scripts and the command line, made one before anything is started.
//
//   -p s.kev with `target program /bin/ls`, `option count 5`    run -c 5 -- /bin/ls
//   the same with -c 1 -- /bin/true                             run -c 1 -- /bin/true
//
// Problem: a script may ask for what no runtime does yet. Idea: everything that can be refused is refused here, at its
// line, with the reason: the kernel as a target, events of the kernel, triggers, clocks other than the runtime's.
// Events that are off stay out: nothing could switch them on.
#include "cli/run_request.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cli/exit_status.h"
#include "cli/injections.h"

namespace kevt::cli {
namespace {

constexpr std::string_view kClock = "mono";  // of records made in process

bool targets_kernel(const Texts& texts) {
  return texts.target && std::holds_alternative<model::KernelTarget>(*texts.target);
}

// Mistakes that make a script impossible to run.
std::vector<diag::Located> refusals(const Texts& texts, const RunOptions& options) {
  std::vector<diag::Located> out;
  const auto refuse = [&](const Source& source, std::string why) {
    out.push_back(mistake_at(diag::Kind::NotSupportedByRuntime, source, std::move(why)));
  };
  if (options.runtime == "inproc" && targets_kernel(texts))
    refuse(texts.target_source, "the kernel needs --runtime=bpf or kmod");
  for (const Source& source : texts.trigger_sources)
    refuse(source, "`run` carries out no triggers; they act in a mount (`kevtrace mount`)");
  for (const ForeignEvent& event : texts.foreign_events)
    refuse(event.source,
           "`run` does not record the kernel's own events; a mount does (`kevtrace mount --runtime bpf`)");
  if (texts.options.clock && *texts.options.clock != kClock)
    refuse(texts.option_sources.at("clock"), "the clock is `" + std::string(kClock) + "`");
  return out;
}

void drop_what_is_off(Texts& texts, const Reporter& report) {
  for (const model::EventName& name : texts.off) report.status(name.system + "/" + name.event + " is off: `enable 0`");
  for (std::size_t i = texts.definitions.size(); i-- > 0;) {
    if (!texts.names[i] || !texts.off.contains(*texts.names[i])) continue;
    texts.definitions.erase(texts.definitions.begin() + static_cast<std::ptrdiff_t>(i));
    texts.names.erase(texts.names.begin() + static_cast<std::ptrdiff_t>(i));
  }
  Filters& filters = texts.filters;
  for (std::size_t i = filters.filters.size(); i-- > 0;) {
    const bool off = std::ranges::any_of(texts.off, [&](const model::EventName& name) {
      return filters.filters[i].event == name.system + "/" + name.event;
    });
    if (!off) continue;
    filters.filters.erase(filters.filters.begin() + static_cast<std::ptrdiff_t>(i));
    filters.sources.erase(filters.sources.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void take_options(RunRequest& request) {
  RunOptions& run = request.options;
  const model::ScriptOptions& script = request.texts.options;
  if (!run.buffer_kb) run.buffer_kb = script.buffer_kb;
  if (!run.seconds) run.seconds = script.seconds;
  if (!run.events) run.events = script.count;
  if (!run.output.empty() || !script.output) return;
  run.output = *script.output;
  request.output_source = request.texts.option_sources.at("output");
}

void take_target(RunRequest& request) {
  if (!request.texts.target) return;
  const model::ScriptTarget& target = *request.texts.target;
  RunOptions& run = request.options;
  if (const auto* file = std::get_if<model::FileTarget>(&target)) request.mapped_file = file->path;
  if (!run.command.empty() || !run.pids.empty()) return;
  if (const auto* program = std::get_if<model::ProgramTarget>(&target)) run.command = program->command;
  if (const auto* processes = std::get_if<model::PidTarget>(&target)) run.pids = processes->pids;
}

}  // namespace

bool traces_kernel(const RunRequest& request) {
  const std::string& runtime = request.options.runtime;
  return runtime == "bpf" || runtime == "kmod" || (runtime == "auto" && targets_kernel(request.texts));
}

std::optional<RunRequest> read_run_request(const RunOptions& options, const Reporter& report, int& status) {
  const auto fail = [&](int what, const std::string& why) {
    report.error(why);
    status = what;
    return std::nullopt;
  };
  auto texts = collect_texts(
      {.definitions = options.definitions, .files = options.definition_files, .filters = options.filters});
  if (!texts) return fail(kUsage, texts.error().message());
  auto injections = collect_injections(options.injections);
  if (!injections) return fail(kUsage, injections.error().message());
  if (!injections->empty() && !options.unsafe)
    return fail(kUsage, "--inject changes the way the program takes; say --unsafe if you mean it");
  RunRequest request{options, *std::move(texts), std::nullopt, *std::move(injections), std::nullopt};
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
  drop_what_is_off(request.texts, report);
  if (request.texts.definitions.empty()) return fail(kUsage, "no event is defined; give -e DEF or -p FILE");
  take_options(request);
  take_target(request);
  if (traces_kernel(request)) {
    if (!request.options.pids.empty()) return fail(kUsage, "--pid is for programs; the kernel is traced as a whole");
    if (request.options.keep_going) return fail(kMissing, "--keep-going is for programs");
    if (!request.injections.empty()) return fail(kMissing, "--inject is for programs; it never changes the kernel");
    if (request.options.stack)
      return fail(kMissing, "--stack is for programs: kevtrace does not record the kernel's stacks");
    return request;
  }
  if (request.options.keep_going && request.options.pids.size() > 1)
    return fail(kUsage, "--keep-going is for one program: several could have different events then");
  if (request.options.command.empty() && request.options.pids.empty())
    return fail(kUsage, "CMD is required; see `kevtrace run --help`");
  return request;
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

bool has_mapped(int pid, const std::string& path) {
  std::error_code error;
  const std::string real = std::filesystem::canonical(path, error).string();
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.ends_with(" " + (error ? path : real))) return true;
  return false;
}

}  // namespace kevt::cli

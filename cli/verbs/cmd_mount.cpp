// kevtrace mount: take the targets → mount the tree → serve it → unmount → leave everything.
//
// The process the user started is the supervisor (supervisor.h); the one behind it holds the targets and serves the
// mount. When the supervisor is killed, the second process sees it, unmounts and removes every probe.
#include <fmt/format.h>
#include <grp.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "cli/definitions/injections.h"
#include "cli/definitions/run_definitions.h"
#include "cli/exit_status.h"
#include "cli/reporter.h"
#include "cli/run/mounted_targets.h"
#include "cli/run/run_output.h"
#include "cli/verbs/commands.h"
#include "common/output_place.h"
#include "common/print.h"
#include "common/proc.h"
#include "compiler/codegen/backend.h"
#include "runtime-user/engine/records/accounting.h"
#include "runtime-user/engine/tracing.h"
#include "runtime-user/runtime/runtime_names.h"
#include "runtime-user/session/interrupts.h"
#include "runtime-user/session/keeper.h"
#include "runtime-user/session/stored_code.h"
#include "runtime-user/session/supervisor.h"
#include "tracefs-compat/fuse/mount.h"
#include "tracefs-compat/tree/tracing_dir.h"

namespace kevt::cli {

namespace {

Result<std::optional<gid_t>> find_group(const std::string& name) {
  if (name.empty()) return std::nullopt;
  gid_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error == std::errc() && end == name.data() + name.size()) return number;
  const group* found = getgrnam(name.c_str());
  if (!found) return std::unexpected(Error("there is no group `" + name + "`"));
  return found->gr_gid;
}

// Options of scripts that do not apply to a mount: the readers of its files decide these things.
constexpr std::string_view kOnlyOfRun[] = {"clock", "duration", "count", "output"};

class MountRun {
 public:
  MountRun(MountVerbOptions options, const GlobalOptions& global) : options_(std::move(options)), report_(global) {}
  std::optional<int> read();  // what to define from the start; an exit status, as below
  int go();                   // behind read()

 private:
  std::optional<int> make_tracing();
  std::optional<int> set_options();
  std::optional<int> open_mount();
  bool is_kernel() const { return runtime::traces_whole_machine(options_.runtime); }
  bool step();
  void look_at_keeper();
  void finish_for_the_dead();
  Result<std::string> save_what_is_left();
  void leave();
  void print_counts() const;

  MountVerbOptions options_;
  Reporter report_;
  RunRequest request_;
  std::optional<pipeline::CodeStore> stored_;
  std::unique_ptr<MountedTargets> targets_;
  std::unique_ptr<engine::Tracing> tracing_;
  std::unique_ptr<tree::Tree> tree_;
  std::unique_ptr<fuse::Mount> mount_;
  session::Keeper keeper_{{.begin =
                               [this] {
                                 mount_->let_go_in_copy();
                                 tracing_->let_go_in_copy();
                               },
                           .read = [this] { tracing_->drain(); },
                           .finish = [this] { finish_for_the_dead(); }}};
  bool stop_failed_ = false;
};

std::optional<int> MountRun::read() {
  int status = kUsage;
  options_.defined.runtime = is_kernel() ? options_.runtime : "inproc";
  auto request = read_definitions(options_.defined, report_, status);
  if (!request) return status;
  request_ = *std::move(request);
  if (is_kernel() && !request_.injections.empty()) {
    report_.error("--inject is for programs; it never changes the kernel");
    return kMissing;
  }
  warn_of_brought_code(request_, report_);
  stored_ = session::stored_code(request_.texts.compiled);
  if (!options_.buffer_kb) options_.buffer_kb = request_.options.buffer_kb;
  options_.follow = options_.follow || (request_.options.follow && !is_kernel());
  if (!is_kernel()) options_.defined.with_kernel = request_.options.with_kernel;
  for (const auto& [name, source] : request_.texts.option_sources)
    if (std::ranges::find(kOnlyOfRun, name) != std::end(kOnlyOfRun))
      report_.note(source, "`" + name + "` is for `kevtrace run`; a mount goes on without it");
  for (const InstanceTexts& one : request_.texts.instances)
    if (one.output_source)
      report_.note(*one.output_source, "`output` is for `kevtrace run`; a mount goes on without it");
  if (request_.texts.target)
    report_.note(request_.texts.target_source, "the target of a mount is named on its command line");
  return std::nullopt;
}

// Applies what scripts say about recording; writes to the files may change that later.
std::optional<int> MountRun::set_options() {
  if (const auto overwrite = request_.texts.options.overwrite)
    tracing_->top().options.set(engine::TraceOption::Overwrite, *overwrite);
  if (!request_.options.stack) return std::nullopt;
  const auto option = is_kernel() ? engine::TraceOption::Stacktrace : engine::TraceOption::UserStacktrace;
  auto set = tracing_->switcher().set_option(tracing_->top(), option, true);
  if (set) return std::nullopt;
  report_.error(set.error());
  return kFailed;
}

std::optional<int> MountRun::make_tracing() {
  engine::TracingOptions tracing{.cpus = targets_->possible_cpus()};
  tracing.check = targets_->check();
  tracing.follows = targets_->follows();
  tracing.injections = request_.injections;
  tracing.kernel_drops = options_.defined.kernel_drops;
  tracing.precompiled = stored_ ? &*stored_ : nullptr;
  if (options_.buffer_kb) tracing.buffer_kb = *options_.buffer_kb;
  tracing_ = std::make_unique<engine::Tracing>(targets_->targets(), tracing);
  for (const engine::EventInjection& one : request_.injections) report_.status(injection_text(one));
  if (auto failed = set_options()) return failed;
  RunDefinitions definitions(request_, report_);
  if (auto wrong = definitions.define(*tracing_)) return wrong;
  auto left_out = tracing_->switcher().switch_on(definitions.to_switch_on(*tracing_));
  if (!left_out) {
    report_.error(left_out.error().error);
    return kFailed;
  }
  definitions.report_left_out(*left_out);  // probes that one of several processes lacks
  return std::nullopt;
}

std::optional<int> MountRun::open_mount() {
  auto group = find_group(options_.group);
  if (!group) {
    report_.error(group.error());
    return kUsage;
  }
  tree_ = std::make_unique<tree::Tree>(*tracing_);
  auto mount = fuse::Mount::open(*tree_, {.directory = std::filesystem::absolute(options_.directory).string(),
                                          .group = *group,
                                          .refused = targets_->refused(),
                                          .hides_files = options_.nonempty});
  if (!mount) {
    report_.error(mount.error());
    const int reason = mount.error().errno_value();
    return reason == ENODEV ? kMissing : reason == ENOTEMPTY ? kUsage : kFailed;
  }
  mount_ = std::move(*mount);
  session::note_mounted(std::filesystem::absolute(options_.directory).string());
  for (const engine::TracedTarget* target : targets_->targets())
    report_.status("mounted on " + options_.directory + ": " + target->name());
  if (const auto compiler = codegen::find_backend(); !compiler)
    report_.status("probes can be defined and not be on: " + compiler.error().message());
  return std::nullopt;
}

// Called once in each round of the serving thread. Drains once more after CMD's end is known, so that all its records
// are read.
bool MountRun::step() {
  const bool has_ended = !options_.keep && targets_->has_ended();
  tracing_->drain();
  targets_->step(*tracing_);
  if (has_ended) tracing_->records().finish();
  look_at_keeper();
  return !session::is_interrupted() && !session::is_abandoned() && (!has_ended || mount_->is_being_read());
}

void MountRun::look_at_keeper() {
  const session::Keeper::Version version = {tracing_->code().changes(), tracing_->records().delivered()};
  if (!keeper_.is_due(version)) return;
  keeper_.renew(version);
  tracing_->hide_copy(keeper_.pid());
}

// In the keeper, when the probes are out and nobody serves the directory.
void MountRun::finish_for_the_dead() {
  targets_->settle(*tracing_);
  tracing_->records().finish();
  tracing_->drain();
  tracing_->records().count_gone();
  if (const auto saved = save_what_is_left(); !saved)
    report_.error(saved.error());
  else if (!saved->empty())
    report_.status("what the directory had is in " + *saved);
  print_counts();
}

// The first of DIR.left, DIR.left2, … that is not there.
std::string new_folder_beside(const std::string& directory) {
  std::string path = std::filesystem::absolute(directory).lexically_normal().string();
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  std::error_code ignored;
  std::string folder = path + ".left";
  for (int number = 2; std::filesystem::exists(folder, ignored); ++number)
    folder = path + ".left" + std::to_string(number);
  return folder;
}

// Buffers and histograms, as their files would show them, each in a file of a flat folder. Returns "FOLDER: NAMES".
Result<std::string> MountRun::save_what_is_left() {
  const auto files = tree::tracing_dir(*tree_);
  std::vector<std::pair<std::string, std::string>> texts;  // by name
  for (const auto& instance : tracing_->instances()) {
    const std::string place = instance->name.empty() ? "" : "instances/" + instance->name + '/';
    const std::string head = instance->name.empty() ? "" : instance->name + '.';
    if (instance->buffer.peek({})) texts.emplace_back(head + "trace", KEVT_TRY(files->read(place + "trace")));
    for (const auto& [id, event] : tracing_->events().events())
      if (instance->has_trigger(*event, model::TriggerKind::Hist))
        texts.emplace_back(head + event->group + '.' + event->name + ".hist",
                           KEVT_TRY(files->read(place + "events/" + event->group + '/' + event->name + "/hist")));
  }
  if (texts.empty()) return std::string();
  const std::string folder = new_folder_beside(options_.directory);
  KEVT_TRY(open_output_folder(folder));
  std::string names = folder + ':';
  for (const auto& [name, text] : texts) {
    RunOutput file = KEVT_TRY(RunOutput::open(folder + '/' + name));
    file.add_lines(text);
    KEVT_TRY(file.flush());
    names += (names.back() == ':' ? " " : ", ") + name;
  }
  return names;
}

void MountRun::leave() {
  for (const fuse::MountUser& user : mount_->users())
    report_.status(fmt::format("{} was still open, by {} ({})", user.path, user.tid, proc::comm(user.tid)));
  mount_.reset();
  stop_failed_ = !targets_->leave();
  tracing_->drain();
}

void MountRun::print_counts() const {
  if (report_.is_quiet()) return;
  for (const auto& [id, event] : tracing_->events().events()) {
    const runtime::EventCounts c = tracing_->records().counts(tracing_->top(), *event);
    if (c.attempts == 0) continue;
    const auto misses = tracing_->code().sees_misses(*event) ? engine::Misses::Known : engine::Misses::Unknown;
    print_to(messages(), "{}", Lines{engine::accounting_line(event->name, c, misses)});
  }
  for (const auto& [id, event] : tracing_->events().events())
    for (const engine::EventProbe* probe : tracing_->code().waiting(*event))
      report_.status("`" + probe->definition().command + "` was never armed: " +
                     (targets_->follows() ? "no program that was traced has it" : "its library was not loaded"));
}

int MountRun::go() {
  targets_ = is_kernel() ? mounted_kernel(options_, report_) : mounted_processes(options_, report_);
  auto failed = targets_->take();
  session::catch_interrupts();  // CMD has inherited what the user set; running processes are never left half armed
  if (!failed) failed = make_tracing();
  if (!failed) failed = open_mount();
  if (failed || session::is_abandoned()) {
    targets_->abandon();
    return failed.value_or(kFailed);
  }
  failed = targets_->go();
  if (!failed) mount_->serve([this] { return step(); });
  keeper_.end();
  leave();
  if (failed) return *failed;
  print_counts();
  return stop_failed_ ? kFailed : targets_->exit_status();
}

}  // namespace

int mount(const MountVerbOptions& options, const GlobalOptions& global) {
  auto run = std::make_unique<MountRun>(options, global);
  if (const auto wrong = run->read()) return *wrong;  // from the terminal, too, which the tracer does not read
  const session::Supervised where =
      options.pids.empty() ? session::Supervised::SameGroup : session::Supervised::OwnGroup;
  return session::run_supervised(where, [&] {
    const std::unique_ptr<MountRun> mine = std::move(run);  // its destructor undoes everything
    return mine->go();
  });
}

}  // namespace kevt::cli

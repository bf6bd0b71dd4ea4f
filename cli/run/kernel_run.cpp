// The whole machine is traced while CMD runs, or until Ctrl-C. CMD waits at its exec until the probes are armed, so its
// first system call is seen.
//
// BPF programs do not wake a reader, so rings are read every few milliseconds.
#include "cli/run/kernel_run.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <set>

#include "cli/definitions/run_definitions.h"
#include "cli/exit_status.h"
#include "cli/run/kernel_side.h"
#include "cli/run/run_trace.h"
#include "runtime-user/engine/tracing.h"
#include "runtime-user/runtime/kmod/device.h"
#include "runtime-user/session/interrupts.h"
#include "runtime-user/session/keeper.h"
#include "runtime-user/session/kernel_formats.h"
#include "runtime-user/session/kernel_target.h"
#include "runtime-user/session/started_command.h"
#include "runtime-user/session/stored_code.h"
#include "runtime-user/session/supervisor.h"

namespace kevt::cli {

namespace {

constexpr timespec kPause = {0, 5'000'000};

class KernelRun {
 public:
  KernelRun(RunRequest request, const GlobalOptions& global, const session::MakeWriter& make)
      : request_(std::move(request)), options_(request_.options), report_(global), trace_(options_, report_, make) {
    if (has_globs(request_)) trace_.count_what_was_never_hit();
  }
  int go();

 private:
  std::optional<int> prepare();  // an exit status when it failed
  std::optional<int> start_command();
  void record();
  void stop();
  int exit_status();

  RunRequest request_;
  const RunOptions& options_;
  Reporter report_;
  const std::optional<pipeline::CodeStore> stored_ = session::stored_code(request_.texts.compiled);
  RunDefinitions definitions_{request_, report_};
  std::unique_ptr<session::KernelTarget> target_;
  std::unique_ptr<engine::Tracing> tracing_;
  RunTrace trace_;
  session::Keeper keeper_{{.begin = [this] { tracing_->let_go_in_copy(); },
                           .take_over =
                               [this] {
                                 trace_.take_over();  // before anything is read
                                 stop();
                               },
                           .read = [this] { trace_.go_on(); },
                           .finish =
                               [this] {
                                 trace_.finish();
                                 trace_.print_accounts();
                               }}};
  std::optional<session::StartedCommand> command_;
};

std::optional<int> KernelRun::prepare() {
  const auto statics = needed_statics(request_);
  if (!statics.empty() && !session::KernelCatalog().is_readable()) {
    report_.error(session::kNoTracefs);
    return kMissing;
  }
  const std::uint64_t ring_bytes = std::bit_ceil(options_.buffer_kb.value_or(kDefaultBufferKb) * 1024);
  auto target = session::KernelTarget::open({.runtime = options_.runtime,
                                             .ring_bytes = static_cast<std::uint32_t>(ring_bytes),
                                             .types = target::TypeSource::DebugInformation,
                                             .statics = statics});
  if (!target) {
    report_.error(target.error());
    return kMissing;
  }
  target_ = std::move(*target);
  if (options_.runtime == "auto") report_.status(session::chosen_runtime(target_->runtime()));
  tracing_ = std::make_unique<engine::Tracing>(std::vector<engine::TracedTarget*>{target_.get()},
                                               engine::TracingOptions{.cpus = target_->known_env().possible_cpus(),
                                                                      .buffer_kb = 0,
                                                                      .check = {},
                                                                      .static_events = {},
                                                                      .injections = {},
                                                                      .kernel_drops = options_.kernel_drops,
                                                                      .precompiled = stored_ ? &*stored_ : nullptr,
                                                                      .is_tapped = true});
  if (options_.stack)
    if (auto set = tracing_->switcher().set_option(tracing_->top(), engine::TraceOption::Stacktrace, true); !set) {
      report_.error(set.error());
      return kFailed;
    }
  return definitions_.define(*tracing_);
}

std::optional<int> KernelRun::start_command() {
  if (!options_.command.empty()) {
    auto command = session::StartedCommand::start(options_.command);
    if (!command) {
      report_.error(command.error());
      return kOurFailure;
    }
    command_ = std::move(*command);
    session::note_started(command_->pid());
  }
  session::catch_interrupts();
  if (auto armed = tracing_->switcher().switch_on(definitions_.to_switch_on(*tracing_)); !armed) {
    const Error& error = armed.error().error;
    report_.error(error);
    if (command_) command_->abandon();
    return error.errno_value() == EPERM ? kMissing : kFailed;
  }
  // Open the outputs only now that nothing can be refused any more. Hits meanwhile wait in the rings.
  if (auto failed = trace_.open(*tracing_, definitions_.instances(*tracing_))) {
    if (command_) command_->abandon();
    return failed;
  }
  trace_.count_instead();
  trace_.start();
  if (!command_) return std::nullopt;
  if (auto gone = command_->go(); !gone) {
    report_.error(gone.error());
    command_->abandon();
    return gone.error().errno_value() == ENOENT ? kNotFound : kNotExecutable;
  }
  return std::nullopt;
}

void KernelRun::record() {
  const auto is_over = [this] {
    return trace_.is_over() || session::is_interrupted() || session::is_abandoned() ||
           (command_ && command_->poll_exit());
  };
  while (!is_over()) {
    trace_.round(keeper_);
    trace_.show_progress();
    nanosleep(&kPause, nullptr);
  }
  keeper_.end();
  stop();
  trace_.finish();
}

void KernelRun::stop() {
  if (auto off = tracing_->switcher().set_probes_armed(false); !off) report_.error(off.error());
  (void)target_->switch_statics_off();  // the number of open ones matters only to a mount
  target_->settle();
}

int KernelRun::exit_status() {
  if (trace_.has_failed()) return kFailed;
  if (const auto lost = data_lost_status(options_, trace_.counts())) return *lost;
  while (command_ && !command_->poll_exit() && !session::is_abandoned()) nanosleep(&kPause, nullptr);
  if (!command_) return kOk;
  const int status = command_->poll_exit().value_or(0);
  return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

int KernelRun::go() {
  auto failed = prepare();
  if (!failed) failed = start_command();
  if (failed) return *failed;
  record();
  trace_.print_accounts();
  return exit_status();
}

}  // namespace

int run_in_kernel(RunRequest request, const GlobalOptions& global, const session::MakeWriter& make) {
  if (request.options.runtime == "kmod") {  // said before anything else is looked for
    if (auto device = kmod::Device::open(); !device) {
      Reporter(global).error(device.error());
      return kMissing;
    }
  }
  return session::run_supervised(session::Supervised::SameGroup,
                                 [&] { return KernelRun(std::move(request), global, make).go(); });
}

}  // namespace kevt::cli

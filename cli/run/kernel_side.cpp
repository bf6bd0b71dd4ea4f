#include "cli/run/kernel_side.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "cli/exit_status.h"
#include "runtime-user/engine/tracing.h"
#include "runtime-user/session/kernel_formats.h"
#include "runtime-user/session/traced_processes.h"

namespace kevt::cli {

std::set<model::EventName> needed_statics(const RunRequest& request) {
  std::set<model::EventName> names = request.known_statics;
  for (const Source& source : request.texts.definitions) {
    if (!engine::stands_on_event(source.text)) continue;
    diag::Sink ignored;  // mistakes are reported when it is defined
    const auto written = pipeline::parse_event(source.text, ignored);
    const auto* place = written ? std::get_if<model::EventPlace>(&written->place) : nullptr;
    if (place && !session::is_of_probes(place->system)) names.insert({place->system, place->event});
  }
  return names;
}

void raise_file_limit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  constexpr rlim_t kWanted = 1 << 20;
  rlimit more = {.rlim_cur = std::max(limit.rlim_max, kWanted), .rlim_max = std::max(limit.rlim_max, kWanted)};
  if (setrlimit(RLIMIT_NOFILE, &more) == 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void close_statics(session::KernelTarget& target, std::size_t open, const Reporter& report) {
  constexpr unsigned kCloseMs = 20;        // what it takes the kernel to close a static event (deferred_close.h)
  constexpr std::size_t kManyEvents = 50;  // so many that it is seen
  if (open < kManyEvents) return;
  const pid_t closer = target.close_statics_behind();
  report.status(fmt::format("all events are off; the kernel closes {} of its own, some {} ms each{}", open, kCloseMs,
                            closer ? fmt::format(": process {} waits for that", closer) : ""));
}

std::optional<int> KernelSide::open(const std::string& runtime, std::uint64_t ring_bytes,
                                    std::optional<std::set<model::EventName>> statics,
                                    session::TracedProcesses& processes, const Reporter& report) {
  if (statics && !statics->empty() && !session::KernelCatalog().is_readable()) {
    report.error(session::kNoTracefs);
    return kMissing;
  }
  const auto sides = std::make_shared<const target::PlaceSides>(target::PlaceSides::of_running_kernel());
  auto target = session::KernelTarget::open({.runtime = runtime,
                                             .ring_bytes = static_cast<std::uint32_t>(ring_bytes),
                                             .types = target::TypeSource::DebugInformation,
                                             .statics = std::move(statics),
                                             .sides = sides});
  if (!target) {
    report.error(std::move(target.error()).while_doing("--with-kernel"));
    return kMissing;
  }
  target_ = std::move(*target);
  processes.share_with_kernel(sides);
  return std::nullopt;
}

std::vector<engine::TracedTarget*> KernelSide::beside(std::vector<engine::TracedTarget*> programs) const {
  if (target_) programs.push_back(target_.get());
  return programs;
}

void KernelSide::report_armed(engine::Tracing& tracing, const Reporter& report) const {
  if (!target_) return;
  std::string names;
  for (const auto& [id, event] : tracing.events().events()) {
    const bool is_armed = event->is_static()
                              ? tracing.instances().is_armed(id)
                              : std::ranges::any_of(event->probes, [&](const engine::EventProbe& probe) {
                                  return tracing.code().arm_status(id, probe.serial, *target_).has_value();
                                });
    if (is_armed) names += fmt::format("{}{}", names.empty() ? " " : ", ", event->name);
  }
  report.status(fmt::format("runtime={} the kernel{}", target_->runtime().capabilities().name,
                            names.empty() ? ": no probes" : names));
}

void KernelSide::stop(engine::Tracing& tracing, const Reporter& report) {
  if (!target_) return;
  if (auto off = tracing.switcher().disarm_in(*target_); !off) report.error(off.error());
  open_ = target_->switch_statics_off();
  target_->settle();
}

void KernelSide::close(const Reporter& report) {
  if (target_) close_statics(*target_, open_, report);
}

}  // namespace kevt::cli

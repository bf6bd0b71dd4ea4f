// Only the wanted static events are read: a mount lists all of them, a run names a few.
#include "runtime-user/session/kernel_target.h"

#include "common/error.h"

namespace kevt::session {

Result<std::unique_ptr<KernelTarget>> KernelTarget::open(const Request& request) {
  auto env = KEVT_TRY(target::KernelEnv::of_running_kernel(request.types));
  std::unique_ptr<KernelTarget> made(new KernelTarget(std::move(env), request.sides));
  KernelTarget* const target = made.get();
  const unsigned cpus = target->env_.possible_cpus();
  if (!request.statics || !request.statics->empty()) {
    made->statics_ = KEVT_TRY(KernelStatics::read(cpus, request.ring_bytes, request.statics));
  }
  auto runtime = KEVT_TRY(make_kernel_runtime(
      request.runtime, {.ring_bytes = request.ring_bytes,
                        .possible_cpus = cpus,
                        .probed_address = [target](std::uint64_t place) { return target->env_.probed_address(place); },
                        .return_trampoline = target->env_.return_trampoline(),
                        .event_id = [target](const model::EventPlace& place) -> std::optional<std::uint32_t> {
                          if (!target->statics_) return std::nullopt;
                          for (const engine::StaticEvent& event : target->statics_->all())
                            if (event.group == place.system && event.name == place.event) return event.id;
                          return std::nullopt;
                        }}));
  if (made->statics_) runtime.read_also(&made->statics_->reader());
  made->runtime_ = std::move(runtime);
  return made;
}

}  // namespace kevt::session

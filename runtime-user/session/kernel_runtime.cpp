#include "runtime-user/session/kernel_runtime.h"

#include "runtime-user/runtime/bpf/bpf_runtime.h"
#include "runtime-user/runtime/kmod/kmod_runtime.h"
#include "runtime-user/session/kernel_support.h"

namespace kevt::session {

namespace {

template <class Runtime>
Result<KernelRuntime> whole(Result<std::unique_ptr<Runtime>> made) {
  if (!made) return std::unexpected(std::move(made.error()));
  Runtime* runtime = made->get();
  return KernelRuntime{std::move(*made), [runtime] { runtime->settle(); },
                       [runtime](bpf::TracepointReader* reader) { runtime->read_also(reader); }};
}

}  // namespace

std::string chosen_runtime(const runtime::ProbeRuntime& runtime) {
  return runtime.capabilities().name == "auto" ? "runtime: kmod for `p` and `r` of the kernel, bpf for other events"
                                               : "runtime: bpf; kevtrace.ko is not there for us";
}

Result<KernelRuntime> make_kernel_runtime(const std::string& name, const bpf::KernelSession& session) {
  if (name == "kmod") return whole(kmod::KmodRuntime::create(session, kmod::OtherEvents::Refused));
  if (name == "auto" && look_for_kmod().missing.empty())
    return whole(kmod::KmodRuntime::create(session, kmod::OtherEvents::ByBpf));
  return whole(bpf::BpfRuntime::create(session));
}

}  // namespace kevt::session

#include "cli/kernel_runtime.h"

#include "cli/kernel_offers.h"
#include "runtime-user/runtime/bpf/bpf_runtime.h"
#include "runtime-user/runtime/kmod/kmod_runtime.h"

namespace kevt::cli {

namespace {

template <class Runtime>
Result<KernelRuntime> make(const bpf::KernelSession& session) {
  auto made = Runtime::create(session);
  if (!made) return std::unexpected(std::move(made.error()));
  Runtime* runtime = made->get();
  return KernelRuntime{std::move(*made), [runtime] { runtime->settle(); },
                       [runtime](bpf::TracepointReader* reader) { runtime->read_also(reader); }};
}

}  // namespace

Result<KernelRuntime> make_kernel_runtime(const std::string& name, const bpf::KernelSession& session) {
  const bool by_module = name == "kmod" || (name == "auto" && look_for_kmod().missing.empty());
  return by_module ? make<kmod::KmodRuntime>(session) : make<bpf::BpfRuntime>(session);
}

}  // namespace kevt::cli

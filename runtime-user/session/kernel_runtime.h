// The runtime that traces the kernel: bpf, or kmod if the module kevtrace.ko is loaded.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/error.h"
#include "runtime-user/runtime/bpf/kernel_events.h"
#include "runtime-user/runtime/probe_runtime.h"

namespace kevt::session {

struct KernelRuntime {
  std::unique_ptr<runtime::ProbeRuntime> runtime;
  std::function<void()> settle;                           // call when nothing hits any more
  std::function<void(bpf::TracepointReader*)> read_also;  // as of bpf::KernelEvents
};

// A message that names the runtime which make_kernel_runtime() chose for `auto`.
std::string chosen_runtime(const runtime::ProbeRuntime& runtime);

// `name`: bpf, kmod or auto. auto: kmod for kprobes if we may use its device, and bpf for all else.
Result<KernelRuntime> make_kernel_runtime(const std::string& name, const bpf::KernelSession& session);

}  // namespace kevt::session

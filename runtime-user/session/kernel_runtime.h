// The runtime that traces the kernel: bpf, or kmod where its module is.
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
  std::function<void()> settle;                           // nothing hits any more
  std::function<void(bpf::TracepointReader*)> read_also;  // as of bpf::KernelEvents
};

// Who runs events where nobody was named: what make_kernel_runtime() made for `auto`.
std::string chosen_runtime(const runtime::ProbeRuntime& runtime);

// `name`: bpf, kmod, or auto: bpf, and for kprobes kmod where its device is there for us.
Result<KernelRuntime> make_kernel_runtime(const std::string& name, const bpf::KernelSession& session);

}  // namespace kevt::session

// What this machine offers to the kernel runtimes. The check loads nothing, opens nothing for writing and sets no
// probe.
#pragma once

#include <string>
#include <vector>

namespace kevt::session {

struct KernelSupport {
  std::vector<std::string> missing;  // what the runtime lacks; empty: it should work
  std::string text;                  // if it should work: what it will use
  std::string fix;                   // how to get what is missing
};

KernelSupport look_for_bpf();
KernelSupport look_for_kmod();

}  // namespace kevt::session

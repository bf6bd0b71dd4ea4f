// What this machine offers to the kernel runtimes, found by looking: nothing is loaded, opened for writing or probed.
#pragma once

#include <string>
#include <vector>

namespace kevt::session {

struct KernelSupport {
  std::vector<std::string> missing;  // empty: the runtime should work
  std::string text;                  // when it should: with what
  std::string fix;                   // of what is missing
};

KernelSupport look_for_bpf();
KernelSupport look_for_kmod();

}  // namespace kevt::session

// What this machine offers to the kernel runtimes, found by looking: nothing is loaded, opened for writing or probed.
#pragma once

#include <string>
#include <vector>

namespace kevt::cli {

struct KernelOffer {
  std::vector<std::string> missing;  // empty: the runtime should work
  std::string text;                  // when it should: with what
  std::string fix;                   // of what is missing
};

KernelOffer look_for_bpf();
KernelOffer look_for_kmod();

}  // namespace kevt::cli

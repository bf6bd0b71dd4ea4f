// KernelPatches: instructions of the kernel image that it writes anew while it runs, or that trap: no probe may be
// there.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "compiler/target/kernel/kernel_symbols.h"
#include "compiler/target/kernel/kernel_text.h"

namespace kevt::target {

class KernelPatches {
 public:
  KernelPatches() = default;  // none are known
  // What cannot be found or read is left out. Modules' are not known.
  static KernelPatches read(const KernelSymbols& symbols, const KernelText& text);

  bool has(std::uint64_t address) const;
  std::size_t size() const { return addresses_.size(); }

 private:
  std::vector<std::uint64_t> addresses_;  // sorted
};

// Does a function at `address` that begins so take part in function tracing? Others are `notrace`. `is_tracer`: is what
// lies at an address ftrace's?
enum class Traced : std::uint8_t { Yes, No, Unknown };
Traced is_traced(std::uint64_t address, std::span<const std::uint8_t> beginning,
                 const std::function<bool(std::uint64_t)>& is_tracer);

}  // namespace kevt::target

// KernelPatches: instructions of the kernel image that the kernel rewrites while it runs, or that trap. No probe may be
// put there.
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
  KernelPatches() = default;  // knows no such instructions
  // A table that cannot be found or read is left out. Tables of modules are not read.
  static KernelPatches read(const KernelSymbols& symbols, const KernelText& text);

  bool has(std::uint64_t address) const;
  std::size_t size() const { return addresses_.size(); }

 private:
  std::vector<std::uint64_t> addresses_;  // sorted
};

// Whether the function at `address`, which begins with the bytes `beginning`, takes part in function tracing; others
// are `notrace`. `is_tracer`: whether the code at an address belongs to ftrace.
enum class Traced : std::uint8_t { Yes, No, Unknown };
Traced is_traced(std::uint64_t address, std::span<const std::uint8_t> beginning,
                 const std::function<bool(std::uint64_t)>& is_tracer);

}  // namespace kevt::target

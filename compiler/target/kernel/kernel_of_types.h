// KernelOfTypes: a kernel that runs on another machine, and of which only the types are known.
//
// Places and symbols are NotChecked. Types are used where a definition names one (TypeSource::DebugInformation), as on
// the machine that runs that kernel.
#pragma once

#include <optional>
#include <string>

#include "common/error.h"
#include "compiler/target/fixed_target.h"
#include "compiler/target/kernel/kernel_btf.h"

namespace kevt::target {

class KernelOfTypes final : public UncheckedTargetEnv {
 public:
  // `btf`: a path as KernelBtf takes; empty: types are not known either. `possible_cpus`: the most CPUs that machine
  // may have.
  KernelOfTypes(const std::string& btf, unsigned possible_cpus) : cpus_(possible_cpus) {
    if (!btf.empty()) btf_.emplace(btf);
  }
  // Reads the kernel's types; the error says why they cannot be read.
  Result<void> read() const;

  TypeSource type_source() const override { return btf_ ? TypeSource::DebugInformation : TypeSource::None; }
  std::expected<FunctionTypes, TypesError> function_types(std::optional<std::string_view> module,
                                                          std::string_view name) const override;
  std::expected<FunctionTypes, TypesError> tracepoint_types(std::string_view name) const override;
  const TypeTable* named_types() const override;
  bool is_running_kernel() const override { return true; }
  unsigned possible_cpus() const override { return cpus_; }

 private:
  std::optional<KernelBtf> btf_;
  unsigned cpus_;
};

}  // namespace kevt::target

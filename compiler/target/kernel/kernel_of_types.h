// KernelOfTypes: a kernel of which the types are known and nothing else: it runs somewhere else.
//
// Places and symbols are NotChecked. Types answer those who ask for a name, as where that kernel runs.
#pragma once

#include <optional>
#include <string>

#include "common/error.h"
#include "compiler/target/fixed_target.h"
#include "compiler/target/kernel/kernel_btf.h"

namespace kevt::target {

class KernelOfTypes final : public UncheckedTargetEnv {
 public:
  // `btf`: a path as of KernelBtf; empty: types are not known either. `possible_cpus`: as many as it may have.
  KernelOfTypes(const std::string& btf, unsigned possible_cpus) : cpus_(possible_cpus) {
    if (!btf.empty()) btf_.emplace(btf);
  }
  // Why the types cannot be read.
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

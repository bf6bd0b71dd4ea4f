// Compiles definitions and filters of a command line against a held program, or without one, for `explain` and `cost`.
// The program and the code never run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/reporter.h"
#include "compiler/pipeline/compile.h"
#include "compiler/target/fixed_target.h"
#include "compiler/target/kernel/kernel_env.h"
#include "runtime-user/session/kernel_formats.h"
#include "runtime-user/session/launch.h"

namespace kevt::cli {

class Compilation {
 public:
  explicit Compilation(Reporter& report) : report_(report) {}
  ~Compilation();
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  // Looks names up in the running kernel and compiles for the bpf runtime. Returns an exit status if the kernel's
  // symbols are hidden from us.
  std::optional<int> use_kernel();
  // Returns an exit status if it failed; the reasons have been reported. `command` empty: functions are not looked up.
  std::optional<int> compile(const std::vector<std::string>& definitions, const std::vector<std::string>& filters,
                             const std::vector<std::string>& command);

  const std::vector<pipeline::CheckedEvent>& events() const { return events_; }
  const pipeline::CompiledEvents& compiled() const { return compiled_; }
  // The filter text of each event, normalized; nullopt: no filter.
  const std::vector<std::optional<std::string>>& filters() const { return filter_texts_; }
  // The program's environment; nullptr without a program.
  const target::ProcessEnv* program() const { return held_ ? held_->env.get() : nullptr; }
  const target::KernelEnv* kernel() const { return kernel_.get(); }         // nullptr: use_kernel() was not called
  const session::KernelCatalog* statics() const { return statics_.get(); }  // nullptr: likewise
  std::span<const std::uint8_t> code(std::size_t event) const;              // native code; with a program only

 private:
  const target::TargetEnv& env() const;
  std::optional<int> check();
  std::optional<int> generate();

  Reporter& report_;
  std::vector<Source> definitions_;
  Filters filters_;
  std::optional<session::HeldProgram> held_;
  std::unique_ptr<target::KernelEnv> kernel_;
  std::unique_ptr<session::KernelCatalog> statics_;  // with kernel_
  target::UncheckedTargetEnv unchecked_;
  std::vector<pipeline::CheckedEvent> events_;
  std::vector<std::vector<std::optional<model::FilterExpr>>> sinks_;
  std::vector<std::optional<std::string>> filter_texts_;
  pipeline::CompiledEvents compiled_;
};

}  // namespace kevt::cli

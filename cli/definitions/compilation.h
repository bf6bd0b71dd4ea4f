// Definitions and filters of a command line, compiled against a program that is held, or without one: what `explain`
// and `cost` look at. Nothing of it ever runs.
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

  // What is looked up and compiled is the running kernel's, by the bpf runtime. An exit status when it is hidden from
  // us.
  std::optional<int> use_kernel();
  // An exit status when it failed; everything has been said then. `command` empty: functions are not looked up.
  std::optional<int> compile(const std::vector<std::string>& definitions, const std::vector<std::string>& filters,
                             const std::vector<std::string>& command);

  const std::vector<pipeline::CheckedEvent>& events() const { return events_; }
  const pipeline::CompiledEvents& compiled() const { return compiled_; }
  // Of each event, normalized; nullopt: none.
  const std::vector<std::optional<std::string>>& filters() const { return filter_texts_; }
  // Where events stand; nullptr without a program.
  const target::ProcessEnv* program() const { return held_ ? held_->env.get() : nullptr; }
  const target::KernelEnv* kernel() const { return kernel_.get(); }         // nullptr: use_kernel() was not called
  const session::KernelCatalog* statics() const { return statics_.get(); }  // nullptr: the same
  std::span<const std::uint8_t> code(std::size_t event) const;              // of a program

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

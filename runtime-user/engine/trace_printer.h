// TracePrinter: records → the kernel's trace lines.
#pragma once

#include <map>
#include <string>

#include "compiler/target/target_env.h"
#include "runtime-user/engine/engine.h"

namespace kevt::engine {

// Remembers the symbols of addresses it has printed: a trace names few addresses many times.
class CachedSymbols final : public target::TargetEnv {
 public:
  explicit CachedSymbols(const target::TargetEnv& env) : env_(env) {}

  std::optional<target::Symbol> symbolize(std::uint64_t address) const override;
  std::optional<std::string> place_name(std::uint64_t address) const override { return env_.place_name(address); }

  std::expected<target::Symbol, target::LookupError> find_function(std::optional<std::string_view> module,
                                                                   std::string_view name) const override {
    return env_.find_function(module, name);
  }
  std::expected<target::Symbol, target::LookupError> find_data(std::string_view name) const override {
    return env_.find_data(name);
  }
  std::expected<std::uint64_t, target::LookupError> find_file_offset(std::string_view path,
                                                                     std::uint64_t offset) const override {
    return env_.find_file_offset(path, offset);
  }
  target::Probeability probeability(std::uint64_t address) const override { return env_.probeability(address); }
  target::FileStatus file_status(std::string_view path) const override { return env_.file_status(path); }
  unsigned possible_cpus() const override { return env_.possible_cpus(); }
  std::uint32_t max_stack_slots() const override { return env_.max_stack_slots(); }

 private:
  static constexpr std::size_t kMaxRemembered = 65536;
  const target::TargetEnv& env_;
  mutable std::map<std::uint64_t, std::optional<target::Symbol>> seen_;
};

class TracePrinter {
 public:
  TracePrinter(const Engine& engine, const target::TargetEnv& env) : engine_(engine), symbols_(env) {}

  // Appends one line with its '\n'.
  void print(const runtime::Record& record, std::string& out) const;

 private:
  const Engine& engine_;
  CachedSymbols symbols_;
};

// "EVENT: hits N = recorded R + filtered F + lost L + missed M"; `missed ?` where nobody knows.
enum class Misses : std::uint8_t { Known, Unknown };
std::string accounting_line(const Event& event, const runtime::EventCounts& counts, Misses misses = Misses::Known);

}  // namespace kevt::engine

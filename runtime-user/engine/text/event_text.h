// EventText: what stands behind a trace line's front: "open: (open64+0x0/0x128 [libc.so.6]) path=\"/etc/hosts\"".
//
// The one place where records of events become text: `trace`, `trace_pipe` and `kevtrace run` print by it. Places and
// symbols are looked up once: a trace of millions of lines names few of them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "compiler/layout/layout.h"
#include "compiler/target/target_env.h"
#include "runtime-user/engine/events/event_table.h"
#include "runtime-user/engine/static_events.h"
#include "runtime-user/engine/text/line_plan.h"

namespace kevt::engine {

// Remembers the symbols of addresses that were asked for.
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

class EventText {
 public:
  // `statics`: the target's own events; nullptr: it has none. Both outlive this.
  explicit EventText(const StaticEvents* statics) : statics_(statics) {}

  // Appends the event's text and '\n'. `env`: whose addresses the record holds, as symbols() gave it.
  void append(const TracedEvent& event, std::span<const std::uint8_t> record, const target::TargetEnv& env,
              layout::PlaceStyle style, std::string& out);
  // `env` with a memory; good until forget(). nullptr: one that knows nothing.
  const target::TargetEnv& symbols(const target::TargetEnv* env);
  // What was kept of environments and events may be another's from now on.
  void forget();

 private:
  struct Known {
    const TracedEvent* event = nullptr;
    std::optional<LinePlan> plan;  // of probes
  };
  struct PlaceKey {
    const target::TargetEnv* env = nullptr;
    std::uint32_t event = 0;
    std::uint32_t style = 0;
    std::array<std::uint64_t, 2> addresses = {};
    friend auto operator<=>(const PlaceKey&, const PlaceKey&) = default;
  };
  static constexpr std::size_t kMaxPlaces = 65536;

  Known& find(const TracedEvent& event);
  // "open64+0x0/0x128 [libc.so.6]": looked up once for the same addresses.
  const std::string& place(Known& known, std::span<const std::uint8_t> record, const target::TargetEnv& env,
                           layout::PlaceStyle style);

  const StaticEvents* statics_;
  std::unordered_map<std::uint32_t, Known> known_;  // by type
  std::map<PlaceKey, std::string> places_;
  std::map<const target::TargetEnv*, CachedSymbols> symbols_;
};

}  // namespace kevt::engine

// EventText: the event's part of a trace line: "open: (open64+0x0/0x128 [libc.so.6]) path=\"/etc/hosts\"".
//
// The one place where records of events become text, for `trace`, `trace_pipe` and `kevtrace run`. Each place and
// symbol is looked up once: a trace of millions of lines names only a few.
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

// A TargetEnv with a cache of symbolize() results.
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
  // `statics`: the target's static events, which outlive this object; nullptr: none.
  explicit EventText(const StaticEvents* statics) : statics_(statics) {}

  // Appends the event's text and '\n'. `env`: what symbols() returned for the target that made the record.
  void append(const TracedEvent& event, std::span<const std::uint8_t> record, const target::TargetEnv& env,
              layout::PlaceStyle style, std::string& out);
  // `env` with a cache, valid until forget(). For nullptr, an environment that knows no names.
  const target::TargetEnv& symbols(const target::TargetEnv* env);
  // Drops all caches. To be called when an environment or event is destroyed: another may get its address or id.
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

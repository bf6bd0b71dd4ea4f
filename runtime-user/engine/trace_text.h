// TraceText: what `trace` and `trace_pipe` read: records of an instance as the kernel's lines.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "compiler/layout/layout.h"
#include "runtime-user/engine/line_plan.h"
#include "runtime-user/engine/trace_printer.h"
#include "runtime-user/engine/tracing.h"

namespace kevt::engine {

class TraceText {
 public:
  explicit TraceText(const Tracing& tracing) : tracing_(tracing) {}

  // The head of `trace`, for all CPUs or one.
  static std::string header(const Instance& instance, const TraceBuffer& buffer, std::optional<std::uint32_t> only);
  // Appends one entry as its line, or lines; with the note about lost events before it.
  void append(const Instance& instance, const MergedEntry& entry, std::string& out);

 private:
  void append_line(const Instance& instance, const MergedEntry& entry, std::string& out);
  void append_context(const Instance& instance, const MergedEntry& entry, std::string& out) const;
  void append_event(const Instance& instance, const MergedEntry& entry, std::string& out);
  void append_user_stack(const Instance& instance, const MergedEntry& entry, std::string& out);
  void append_stack(const Instance& instance, const MergedEntry& entry, std::string& out);
  // Of what the entry's thread was then.
  const target::TargetEnv& symbols(const Instance& instance, const MergedEntry& entry);
  // "open64+0x0/0x128 [libc.so.6]": looked up once for the same addresses.
  struct Known;
  const std::string& place(const Known& known, std::span<const std::uint8_t> record, const target::TargetEnv& env,
                           layout::PlaceStyle style);
  // nullptr: there is no such event (any more).
  const Known* find(std::uint32_t type);

  struct PlaceKey {
    const target::TargetEnv* env = nullptr;
    std::uint32_t event = 0;
    std::uint32_t style = 0;
    std::array<std::uint64_t, 2> addresses = {};
    friend auto operator<=>(const PlaceKey&, const PlaceKey&) = default;
  };
  static constexpr std::size_t kMaxPlaces = 65536;

  const Tracing& tracing_;
  struct Known {
    const TracedEvent* event = nullptr;
    mutable std::optional<LinePlan> plan;  // of probes
  };
  std::unordered_map<std::uint32_t, Known> known_;  // by type
  std::map<PlaceKey, std::string> places_;
  std::map<const target::TargetEnv*, CachedSymbols> symbols_;
  std::uint64_t forgotten_ = 0;  // Tracing::forgotten_targets() when they were looked up
};

}  // namespace kevt::engine

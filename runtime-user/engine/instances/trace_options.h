// The options of an instance: options/NAME and trace_options.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace kevt::engine {

enum class TraceOption : std::uint8_t {
#define KEVT_TRACE_OPTION(enumerator, name, initial, effect) enumerator,
#include "runtime-user/engine/instances/trace_options.def"
#undef KEVT_TRACE_OPTION
};

enum class OptionEffect : std::uint8_t { Works, Nothing, Refused, KernelOnly, ProcessOnly };

struct TraceOptionFacts {
  TraceOption option;
  std::string_view name;
  bool initially_on;
  OptionEffect effect;
};
std::span<const TraceOptionFacts> trace_option_facts();
std::optional<TraceOption> trace_option(std::string_view name);

class TraceOptions {
 public:
  TraceOptions();
  bool has(TraceOption option) const { return (bits_ >> static_cast<unsigned>(option) & 1) != 0; }
  void set(TraceOption option, bool on);

 private:
  std::uint32_t bits_ = 0;
};

}  // namespace kevt::engine

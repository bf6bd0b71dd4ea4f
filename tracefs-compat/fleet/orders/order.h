// Order: what an asker wants hosts to trace, or to stop tracing. It is a text that is signed as a whole, so its bytes
// are the order, and nothing outside them counts:
//
//   kevtrace order 1
//   fleet kev                         the database that it is for: an order for another fleet is none
//   serial 1764300000000000000        nanoseconds since 1970 when it was made; no two orders of a key have the same
//   id 3f2a5b6c                       recordings of it have ids that begin so
//   begin-before 1764300600000000000  hosts that see it later leave it
//   on role=web
//   milliseconds 60000                or `stop SERIAL`, and no script
//
//   target comm nginx                 behind an empty line: an event script, or a compiled one
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/error.h"

namespace kevt::fleet {

inline constexpr std::size_t kMostOfOrder = 4u << 20;                           // bytes
inline constexpr std::uint64_t kLongestOrderMs = 7ull * 24 * 3600 * 1000;       // of tracing
inline constexpr std::int64_t kLongestToBeginNs = 24ll * 3600 * 1'000'000'000;  // from `serial`
// How far clocks of hosts and askers may be apart for an order that seems to come from the future.
inline constexpr std::int64_t kClocksApartNs = 300ll * 1'000'000'000;

struct Order {
  std::string fleet;
  std::int64_t serial = 0;
  std::string id;  // 8 hexadecimal digits
  std::int64_t begin_before = 0;
  std::string on;                  // a selector
  std::uint64_t milliseconds = 0;  // 0: it stops another
  std::int64_t stops = 0;          // its serial; 0: it traces
  std::string script;

  bool operator==(const Order&) const = default;
};

std::string text_of(const Order& order);
// Of a text whose signature is good. EINVAL: it is no order; the same text always gives the same order, and no two
// texts give the same.
Result<Order> parse_order(std::string_view text);

// Whether the host may begin with it now, by its clock. The error says why not.
Result<void> is_timely(const Order& order, std::int64_t now_ns);

// Whether hosts take the script: its target is there already (kernel, comm, cgroup, container), its buffers are no
// larger than kMostBufferKb, and it neither says where files go nor injects. The error names the line. A compiled one
// is machine code that may do anything, whatever the text in it says.
enum class Compiled : std::uint8_t { Refused, Accepted };
inline constexpr std::uint64_t kMostBufferKb = 64 << 10;  // of each CPU
Result<void> check_script(std::string_view script, Compiled compiled);

}  // namespace kevt::fleet

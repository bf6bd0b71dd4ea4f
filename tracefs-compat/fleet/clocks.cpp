#include "tracefs-compat/fleet/clocks.h"

#include <fmt/format.h>
#include <sys/timex.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>

#include "common/clock.h"
#include "tracefs-compat/fleet/catalogue.h"
#include "tracefs-compat/fleet/row_binary.h"
#include "tracefs-compat/fleet/rows.h"

namespace kevt::fleet {
namespace {

constexpr const char* kClockColumns = "host, session, utc, monotonic, max_error";

struct PairOfSession {
  std::string session;
  ClockPair pair;
};

PairOfSession read_pair(RowReader& rows) {
  PairOfSession one;
  (void)rows.text();  // host
  one.session = rows.text();
  one.pair.utc_ns = rows.number<std::int64_t>();
  one.pair.monotonic_ns = rows.number<std::int64_t>();
  one.pair.max_error_ns = rows.number<std::int64_t>();
  return one;
}

// Of numbers that a database says, which may be anything.
std::int64_t distance(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_sub_overflow(std::max(a, b), std::min(a, b), &out) ? INT64_MAX : out;
}

bool is_plausible(const ClockPair& pair) {
  constexpr std::int64_t kMost = 1ll << 62;
  return pair.utc_ns >= 0 && pair.utc_ns < kMost && pair.monotonic_ns >= 0 && pair.monotonic_ns < kMost;
}

}  // namespace

// The wall clock is read between two readings of the other one; half of the time between them is part of the error.
ClockPair read_clocks() {
  const auto before = static_cast<std::int64_t>(clock_ns(CLOCK_MONOTONIC));
  const auto utc = static_cast<std::int64_t>(clock_ns(CLOCK_REALTIME));
  const auto after = static_cast<std::int64_t>(clock_ns(CLOCK_MONOTONIC));
  timex state = {};
  const bool is_kept = adjtimex(&state) >= 0 && (state.status & STA_UNSYNC) == 0;
  return {.utc_ns = utc,
          .monotonic_ns = before + (after - before) / 2,
          .max_error_ns = is_kept ? std::int64_t{state.maxerror} * 1000 + (after - before + 1) / 2 : -1};
}

Result<void> put_clocks(Server& server, const std::string& host, const std::string& session, const ClockPair& pair) {
  std::vector<std::uint8_t> rows;
  RowWriter row(rows);
  row.text(host);
  row.text(session);
  for (const std::int64_t number : {pair.utc_ns, pair.monotonic_ns, pair.max_error_ns}) row.number(number);
  return put_rows(server, "kevt_clocks", kClockColumns, rows);
}

Result<std::map<std::string, std::vector<ClockPair>>> find_clocks(Server& server, const Address& address) {
  const auto all = KEVT_TRY(rows_of(server,
                                    fmt::format("SELECT {} FROM {}.kevt_clocks WHERE {} ORDER BY utc FORMAT RowBinary",
                                                kClockColumns, server.database(), chosen(address)),
                                    &read_pair));
  std::map<std::string, std::vector<ClockPair>> out;
  for (const PairOfSession& one : all)
    if (is_plausible(one.pair)) out[one.session].push_back(one.pair);
  return out;
}

ClockFit fit_clock(std::int64_t wall_offset_ns, std::span<const ClockPair> pairs) {
  const ClockPair* best = nullptr;
  for (const ClockPair& one : pairs)
    if (one.max_error_ns >= 0 && (best == nullptr || one.max_error_ns < best->max_error_ns)) best = &one;
  if (best == nullptr) return {};
  std::int64_t apart = 0;
  for (const ClockPair& one : pairs)
    if (one.max_error_ns >= 0) apart = std::max(apart, distance(one.ahead_ns(), best->ahead_ns()));
  ClockFit fit;
  std::int64_t error = 0;
  if (__builtin_sub_overflow(best->ahead_ns(), wall_offset_ns, &fit.shift_ns) ||
      __builtin_add_overflow(best->max_error_ns, apart, &error))
    return {};
  fit.error_ns = error;
  return fit;
}

std::string error_text(const std::optional<std::int64_t>& error_ns) {
  if (!error_ns) return "unknown";
  const auto error = static_cast<double>(*error_ns);
  if (error < 1e6) return fmt::format("±{:.0f} us", error / 1e3);
  return error < 1e9 ? fmt::format("±{:.1f} ms", error / 1e6) : fmt::format("±{:.1f} s", error / 1e9);
}

}  // namespace kevt::fleet

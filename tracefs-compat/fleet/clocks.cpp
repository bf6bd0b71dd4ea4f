#include "tracefs-compat/fleet/clocks.h"

#include <fmt/format.h>
#include <sys/timex.h>
#include <time.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/clock.h"
#include "tracefs-compat/fleet/catalogue.h"
#include "tracefs-compat/fleet/row_binary.h"
#include "tracefs-compat/fleet/rows.h"

namespace kevt::fleet {
namespace {

constexpr const char* kClockColumns = "host, session, utc, monotonic, max_error";

using NotesOfSession = std::pair<std::string, ClockNotes>;

NotesOfSession read_notes(RowReader& rows) {
  NotesOfSession one;
  one.first = rows.text();
  for (std::int64_t* number :
       {&one.second.ahead_ns, &one.second.max_error_ns, &one.second.least_ahead_ns, &one.second.most_ahead_ns})
    *number = rows.number<std::int64_t>();
  return one;
}

// Of numbers that a database says, which may be anything.
std::int64_t distance(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_sub_overflow(std::max(a, b), std::min(a, b), &out) ? INT64_MAX : out;
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

Result<std::map<std::string, ClockNotes>> find_clocks(Server& server, const Address& address) {
  constexpr const char* kMost = "4611686018427387904";  // 2^62: anything may stand in a database
  auto all = KEVT_TRY(rows_of(
      server,
      fmt::format(
          "SELECT session, argMin(utc - monotonic, max_error), min(max_error), min(utc - monotonic), max(utc - "
          "monotonic) FROM {}.kevt_clocks WHERE {} AND max_error >= 0 AND utc >= 0 AND utc < {} AND monotonic >= "
          "0 AND monotonic < {} GROUP BY session FORMAT RowBinary",
          server.database(), chosen(address), kMost, kMost),
      &read_notes));
  return std::map<std::string, ClockNotes>(std::make_move_iterator(all.begin()), std::make_move_iterator(all.end()));
}

std::int64_t drift_of(const ClockNotes& notes) {
  return std::max(distance(notes.least_ahead_ns, notes.ahead_ns), distance(notes.most_ahead_ns, notes.ahead_ns));
}

ClockFit fit_clock(std::int64_t wall_offset_ns, const ClockNotes& notes) {
  const std::int64_t apart = drift_of(notes);
  ClockFit fit;
  std::int64_t error = 0;
  if (notes.max_error_ns < 0 || __builtin_sub_overflow(notes.ahead_ns, wall_offset_ns, &fit.shift_ns) ||
      __builtin_add_overflow(notes.max_error_ns, apart, &error))
    return {};
  fit.error_ns = error;
  return fit;
}

ClockFit fit_clock(std::int64_t wall_offset_ns, const std::map<std::string, ClockNotes>& all,
                   const std::string& session) {
  const auto notes = all.find(session);
  return notes == all.end() ? ClockFit() : fit_clock(wall_offset_ns, notes->second);
}

std::string error_text(const std::optional<std::int64_t>& error_ns) {
  if (!error_ns) return "unknown";
  const auto error = static_cast<double>(*error_ns);
  if (error < 1e6) return fmt::format("±{:.0f} us", error / 1e3);
  return error < 1e9 ? fmt::format("±{:.1f} ms", error / 1e6) : fmt::format("±{:.1f} s", error / 1e9);
}

}  // namespace kevt::fleet

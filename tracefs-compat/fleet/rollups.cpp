#include "tracefs-compat/fleet/rollups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tracefs-compat/fleet/catalogue.h"
#include "tracefs-compat/fleet/row_binary.h"
#include "tracefs-compat/fleet/rows.h"
#include "tracefs-compat/fleet/shape.h"

namespace kevt::fleet {
namespace {

constexpr std::int64_t kAtOnceNs = 3'600'000'000'000;

struct Extent {
  RowsOfEvent of;
  std::uint64_t rows = 0;
  std::int64_t first_ns = 0, last_ns = 0;
};

Extent read_extent(RowReader& rows) {
  Extent one;
  one.of.host = rows.text();
  one.of.session = rows.text();
  one.rows = rows.number<std::uint64_t>();
  one.first_ns = rows.number<std::int64_t>();
  one.last_ns = rows.number<std::int64_t>();
  return one;
}

}  // namespace

Result<void> roll_up(Server& server, const RowsOfEvent& rows, std::int64_t from_ns, std::int64_t to_ns) {
  from_ns = std::clamp<std::int64_t>(from_ns, 0, kLatestNs);
  to_ns = std::clamp<std::int64_t>(to_ns, 0, kLatestNs);
  for (std::int64_t from = from_ns - from_ns % kLongestStepNs; from <= to_ns; from += kAtOnceNs)
    KEVT_TRY(server.tell(fmt::format(
        "INSERT INTO {0}.kevt_rollups (host, session, table, step, at, hits) SELECT {1}, {2}, {3}, "
        "toInt64(arrayJoin([{4}])) AS step, toInt64(intDiv(time, step) * step) AS at, count() FROM {0}.{5} WHERE host "
        "= {1} AND session = {2} AND time >= {6} AND time < {7} GROUP BY step, at",
        server.database(), sql_text(rows.host), sql_text(rows.session), sql_text(rows.table),
        fmt::join(kRollupSteps, ", "), rows.table, from, from + kAtOnceNs)));
  return {};
}

Result<std::map<std::string, std::int64_t>> find_rolled_up(Server& server, const std::string& host,
                                                           const std::string& session) {
  const std::string answer = KEVT_TRY(server.ask(
      fmt::format("SELECT table, max(at) FROM {}.kevt_rollups WHERE step = {} AND host = {} AND session = {} GROUP BY "
                  "table FORMAT RowBinary",
                  server.database(), kLongestStepNs, sql_text(host), sql_text(session))));
  std::map<std::string, std::int64_t> out;
  RowReader rows(answer);
  while (!rows.at_end()) {
    std::string table(rows.text());
    out[std::move(table)] = rows.number<std::int64_t>();
  }
  if (!rows.good()) return std::unexpected(no_sense(server));
  return out;
}

Result<std::map<std::string, std::uint64_t>> count_rolled_up(Server& server, const std::string& table,
                                                             const std::string& condition) {
  const std::string answer = KEVT_TRY(server.ask(
      fmt::format("SELECT session, sum(hits) FROM {}.kevt_rollups FINAL WHERE step = {} AND table = {} AND {} GROUP BY "
                  "session FORMAT RowBinary",
                  server.database(), kLongestStepNs, sql_text(table), condition)));
  std::map<std::string, std::uint64_t> out;
  RowReader rows(answer);
  while (!rows.at_end()) {
    std::string session(rows.text());
    out[std::move(session)] = rows.number<std::uint64_t>();
  }
  if (!rows.good()) return std::unexpected(no_sense(server));
  return out;
}

Result<std::uint64_t> roll_up_what_lacks(Server& server, Lacking which) {
  const std::string condition =
      which == Lacking::All
          ? "1"
          : fmt::format("session IN (SELECT id FROM {}.kevt_sessions FINAL WHERE whole = 0)", server.database());
  std::uint64_t lacking = 0;
  for (const std::string& table : KEVT_TRY(find_tables(server))) {
    const auto counted = KEVT_TRY(count_rolled_up(server, table, condition));
    const std::vector<Extent> extents = KEVT_TRY(rows_of(
        server,
        fmt::format("SELECT host, session, count(), min(time), max(time) FROM {}.{} WHERE {} GROUP BY host, session "
                    "FORMAT RowBinary",
                    server.database(), table, condition),
        &read_extent));
    for (Extent one : extents) {
      const auto known = counted.find(one.of.session);
      const std::uint64_t there = known == counted.end() ? 0 : known->second;
      if (there >= one.rows) continue;
      one.of.table = table;
      KEVT_TRY(roll_up(server, one.of, one.first_ns, one.last_ns));
      lacking += one.rows - there;
    }
  }
  return lacking;
}

}  // namespace kevt::fleet

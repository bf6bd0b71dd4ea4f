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

// The server counts so much in one statement: 600,000 steps of 1 ms at most, which are one block
// (max_insert_block_size) of one day, so it takes all of it or nothing.
constexpr std::int64_t kAtOnceNs = 600'000'000'000;

std::string which(const RowsOfEvent& rows) {
  return fmt::format("host = {} AND session = {}", sql_text(rows.host), sql_text(rows.session));
}

std::int64_t read_one_number(RowReader& rows) { return rows.number<std::int64_t>(); }

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

// Times with rows alone: one row of a wrong time may be years away.
Result<void> roll_up(Server& server, const RowsOfEvent& rows, std::int64_t from_ns, std::int64_t to_ns,
                     const std::string& query_id) {
  from_ns = std::clamp<std::int64_t>(from_ns, 0, kLatestNs);
  to_ns = std::clamp<std::int64_t>(to_ns, 0, kLatestNs);
  from_ns -= from_ns % kLongestStepNs;
  const auto times = KEVT_TRY(rows_of(
      server,
      fmt::format("SELECT DISTINCT toInt64(intDiv(time, {})) AS number FROM {}.{} WHERE {} AND time >= {} AND time <= "
                  "{} ORDER BY number FORMAT RowBinary",
                  kAtOnceNs, server.database(), rows.table, which(rows), from_ns, to_ns),
      &read_one_number));
  for (const std::int64_t number : times)
    KEVT_TRY(server.tell(
        fmt::format("INSERT INTO {0}.kevt_rollups (host, session, table, step, at, hits) SELECT {1}, {2}, {3}, "
                    "toInt64(arrayJoin([{4}])) AS step, toInt64(intDiv(time, step) * step) AS at, count() FROM {0}.{5} "
                    "WHERE {6} AND time >= {7} AND time < {8} GROUP BY step, at",
                    server.database(), sql_text(rows.host), sql_text(rows.session), sql_text(rows.table),
                    fmt::join(kRollupSteps, ", "), rows.table, which(rows), std::max(from_ns, number * kAtOnceNs),
                    (number + 1) * kAtOnceNs),
        query_id));
  return {};
}

Result<bool> lacks_rollups(Server& server, const RowsOfEvent& rows) {
  const auto counts = KEVT_TRY(rows_of(server,
                                       fmt::format("SELECT toInt64(count()) FROM {}.{} WHERE {} FORMAT RowBinary",
                                                   server.database(), rows.table, which(rows)),
                                       &read_one_number));
  if (counts.empty() || counts.front() == 0) return false;
  const auto counted = KEVT_TRY(count_rolled_up(server, rows.table, which(rows)));
  const auto it = counted.find(rows.session);
  return it == counted.end() || it->second < static_cast<std::uint64_t>(counts.front());
}

Result<std::map<std::string, std::uint64_t>> count_rolled_up(Server& server, const std::string& table,
                                                             const std::string& condition) {
  const std::string answer = KEVT_TRY(server.ask(fmt::format(
      "SELECT session, step, sum(hits) FROM {}.kevt_rollups FINAL WHERE table = {} AND {} GROUP BY session, "
      "step FORMAT RowBinary",
      server.database(), sql_text(table), condition)));
  std::map<std::string, std::map<std::int64_t, std::uint64_t>> by_step;
  RowReader rows(answer);
  while (!rows.at_end()) {
    std::string session(rows.text());
    const auto step = rows.number<std::int64_t>();
    by_step[std::move(session)][step] = rows.number<std::uint64_t>();
  }
  if (!rows.good()) return std::unexpected(no_sense(server));
  std::map<std::string, std::uint64_t> out;
  for (const auto& [session, hits] : by_step) {
    std::uint64_t fewest = ~0ull;
    for (const std::int64_t step : kRollupSteps) {
      const auto it = hits.find(step);
      fewest = std::min(fewest, it == hits.end() ? 0 : it->second);
    }
    out[session] = fewest;
  }
  return out;
}

Result<std::uint64_t> roll_up_what_lacks(Server& server) {
  std::uint64_t lacking = 0;
  for (const std::string& table : KEVT_TRY(find_tables(server))) {
    const auto counted = KEVT_TRY(count_rolled_up(server, table, "1"));
    const std::vector<Extent> extents = KEVT_TRY(
        rows_of(server,
                fmt::format("SELECT host, session, count(), min(time), max(time) FROM {}.{} GROUP BY host, session "
                            "FORMAT RowBinary",
                            server.database(), table),
                &read_extent));
    for (Extent one : extents) {
      const auto known = counted.find(one.of.session);
      const std::uint64_t there = known == counted.end() ? 0 : known->second;
      if (there >= one.rows) continue;
      one.of.table = table;
      KEVT_TRY(roll_up(server, one.of, one.first_ns, one.last_ns, ""));
      lacking += one.rows - there;
    }
  }
  return lacking;
}

}  // namespace kevt::fleet

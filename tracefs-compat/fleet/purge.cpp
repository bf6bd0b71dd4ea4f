#include "tracefs-compat/fleet/purge.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <set>
#include <utility>

#include "common/clock.h"
#include "tracefs-compat/fleet/catalogue.h"
#include "tracefs-compat/fleet/rollups.h"
#include "tracefs-compat/fleet/row_binary.h"
#include "tracefs-compat/fleet/shape.h"

namespace kevt::fleet {
namespace {

struct DayOfTable {
  std::vector<std::uint8_t> rows;  // for kevt_purged
  std::set<std::uint32_t> days;
  std::uint64_t records = 0;
};

// Of one table, what its recordings have in the days before this one.
Result<DayOfTable> count_days(Server& server, const std::string& table, std::uint32_t before) {
  const std::string answer =
      KEVT_TRY(server.ask(fmt::format("SELECT host, session, {0} AS day, uniqExact(instance, cpu, seq) FROM {1}.{2} "
                                      "WHERE {0} < {3} GROUP BY host, session, day "
                                      "FORMAT RowBinary",
                                      kDayOfRow, server.database(), table, before)));
  DayOfTable out;
  RowReader rows(answer);
  RowWriter row(out.rows);
  const auto now = static_cast<std::int64_t>(clock_ns(CLOCK_REALTIME));
  while (!rows.at_end()) {
    row.text(rows.text());
    row.text(rows.text());
    row.text(table);
    const auto day = rows.number<std::uint32_t>();
    const auto records = rows.number<std::uint64_t>();
    row.number(day);
    row.number(records);
    row.number(now);
    out.days.insert(day);
    out.records += records;
  }
  if (!rows.good()) return std::unexpected(Error("the answer of " + server.url() + " makes no sense"));
  return out;
}

// Before this one.
Result<std::set<std::uint32_t>> days_of_rollups(Server& server, std::uint32_t before) {
  std::string day(kDayOfRow);
  day.replace(day.find("time"), 4, "at");
  const std::string answer = KEVT_TRY(
      server.ask(fmt::format("SELECT DISTINCT {0} AS day FROM {1}.kevt_rollups WHERE step = {2} AND day < {3} FORMAT "
                             "RowBinary",
                             day, server.database(), kLongestStepNs, before)));
  std::set<std::uint32_t> out;
  RowReader rows(answer);
  while (!rows.at_end()) out.insert(rows.number<std::uint32_t>());
  if (!rows.good()) return std::unexpected(Error("the answer of " + server.url() + " makes no sense"));
  return out;
}

// Orders that nobody may begin with any more, and what hosts have answered. The server takes its time for it.
Result<void> forget_orders(Server& server, std::uint32_t before) {
  for (const auto& [table, column] : {std::pair("kevt_wanted", "begin_before"), std::pair("kevt_answers", "at")})
    KEVT_TRY(
        server.tell(fmt::format("ALTER TABLE {}.{} DELETE WHERE toYYYYMMDD(toDateTime(intDiv({}, 1000000000), 'UTC'), "
                                "'UTC') < {}",
                                server.database(), table, column, before)));
  return {};
}

}  // namespace

std::optional<std::uint32_t> parse_day(std::string_view text) {
  unsigned year = 0, month = 0, day = 0;
  const auto take = [&](std::size_t at, std::size_t digits, unsigned& number) {
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + digits, number);
    return error == std::errc() && end == text.data() + at + digits;
  };
  if (text.size() != 10 || text[4] != '-' || text[7] != '-' || !take(0, 4, year) || !take(5, 2, month) ||
      !take(8, 2, day))
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)), std::chrono::month(month),
                                         std::chrono::day(day)};
  return date.ok() ? std::optional(year * 10'000 + month * 100 + day) : std::nullopt;
}

Result<std::uint32_t> days_ago(Server& server, std::uint32_t days) {
  const std::string answer = KEVT_TRY(server.ask(
      fmt::format("SELECT toYYYYMMDD(toDateTime(toUInt32(now()) - {}, 'UTC'), 'UTC') AS day FORMAT RowBinary",
                  std::uint64_t{days} * 86'400)));
  RowReader rows(answer);
  const auto day = rows.number<std::uint32_t>();
  if (!rows.good()) return std::unexpected(Error("the answer of " + server.url() + " makes no sense"));
  return day;
}

Result<Purged> purge_before(Server& server, std::uint32_t day) {
  Purged out;
  std::set<std::uint32_t> days = KEVT_TRY(days_of_rollups(server, day));  // an earlier purge may have ended before them
  for (const std::string& table : KEVT_TRY(find_tables(server))) {
    const DayOfTable found = KEVT_TRY(count_days(server, table, day));
    if (found.days.empty()) continue;
    KEVT_TRY(server.insert(
        fmt::format("INSERT INTO {}.kevt_purged (host, session, table, day, rows, checkpoint) FORMAT RowBinary",
                    server.database()),
        "", found.rows));
    for (const std::uint32_t one : found.days) {
      KEVT_TRY(server.tell(fmt::format("ALTER TABLE {}.{} DROP PARTITION {}", server.database(), table, one)));
      ++out.partitions;
    }
    out.records += found.records;
    days.insert(found.days.begin(), found.days.end());
  }
  for (const std::uint32_t one : days)
    KEVT_TRY(server.tell(fmt::format("ALTER TABLE {}.kevt_rollups DROP PARTITION {}", server.database(), one)));
  KEVT_TRY(forget_orders(server, day));
  return out;
}

Result<std::vector<PurgedRows>> find_purged(Server& server) {
  const std::string answer = KEVT_TRY(server.ask(
      fmt::format("SELECT session, table, day, rows FROM {}.kevt_purged FINAL FORMAT RowBinary", server.database())));
  std::vector<PurgedRows> out;
  RowReader rows(answer);
  while (!rows.at_end()) {
    PurgedRows one{.session = std::string(rows.text()), .table = std::string(rows.text())};
    one.day = rows.number<std::uint32_t>();
    one.rows = rows.number<std::uint64_t>();
    out.push_back(std::move(one));
  }
  if (!rows.good()) return std::unexpected(Error("the answer of " + server.url() + " makes no sense"));
  return out;
}

}  // namespace kevt::fleet

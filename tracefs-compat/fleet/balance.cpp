#include "tracefs-compat/fleet/balance.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "tracefs-compat/fleet/catalogue.h"
#include "tracefs-compat/fleet/purge.h"
#include "tracefs-compat/fleet/rollups.h"
#include "tracefs-compat/fleet/row_binary.h"
#include "tracefs-compat/fleet/shape.h"

namespace kevt::fleet {

namespace {

struct Rows {
  std::uint64_t all = 0, different = 0;
  std::uint64_t rolled_up = 0;
  std::map<std::uint32_t, std::uint64_t> by_day;  // of those that are different
};
using RowsBySession = std::map<std::string, Rows>;

// Of one table, by session.
Result<RowsBySession> count_rows(Server& server, const Address& address, const std::string& table) {
  const std::string answer = KEVT_TRY(server.ask(
      fmt::format("SELECT session, {} AS day, count(), uniqExact(instance, cpu, seq) FROM {}.{} WHERE {} GROUP BY "
                  "session, day FORMAT RowBinary",
                  kDayOfRow, server.database(), table, chosen(address))));
  RowsBySession out;
  RowReader rows(answer);
  while (!rows.at_end()) {
    Rows& sum = out[std::string(rows.text())];
    const auto day = rows.number<std::uint32_t>();
    sum.all += rows.number<std::uint64_t>();
    const auto different = rows.number<std::uint64_t>();
    sum.different += different;
    sum.by_day[day] += different;
  }
  if (!rows.good()) return std::unexpected(Error("the answer of " + server.url() + " makes no sense"));
  for (const auto& [session, hits] : KEVT_TRY(count_rolled_up(server, table, chosen(address))))
    out[session].rolled_up = hits;
  return out;
}

// Of a recording's rows in a table, those that were given back and have not come again.
std::uint64_t count_purged(const std::vector<PurgedRows>& purged, const std::string& session, const std::string& table,
                           const Rows& rows) {
  std::uint64_t sum = 0;
  for (const PurgedRows& gone : purged) {
    if (gone.session != session || gone.table != table) continue;
    const auto back = rows.by_day.find(gone.day);
    sum += gone.rows - (back == rows.by_day.end() ? 0 : std::min(gone.rows, back->second));
  }
  return sum;
}

class Books {
 public:
  // A recording and its rest are balanced together, so those of a host are all looked at.
  Books(Server& server, const Address& address) : server_(server), address_(address), wanted_(address.session) {
    address_.session.clear();
  }

  Result<std::vector<EventBalance>> close() {
    for (Session& one : KEVT_TRY(find_sessions(server_, address_))) sessions_[one.id] = std::move(one);
    tables_ = KEVT_TRY(find_tables(server_));
    purged_ = KEVT_TRY(find_purged(server_));
    for (const EventCounts& one : KEVT_TRY(find_counts(server_, address_))) KEVT_TRY(enter(one));
    std::vector<EventBalance> out;
    for (auto& [key, sum] : sums_)
      if (sum.is_meant) out.push_back(balanced(sum));
    return out;
  }

 private:
  struct Sum {
    EventBalance made;
    std::uint64_t in_recording = 0, shipped = 0;
    record::EventTotals totals;
    bool has_totals = false, has_rest = false, is_whole = true, is_meant = false;
    std::int64_t checkpoint = 0;
  };

  // The first recording of those that go on with each other. A cycle, which only a liar makes, ends.
  std::string first_of(std::string session) const {
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
      const auto it = sessions_.find(session);
      if (it == sessions_.end() || it->second.rest_of.empty() || !sessions_.contains(it->second.rest_of)) break;
      session = it->second.rest_of;
    }
    return session;
  }

  Result<void> enter(const EventCounts& one) {
    const std::string first = first_of(one.session);
    Sum& sum = sums_[{one.host, first, one.totals.event}];
    sum.made.host = one.host;
    sum.made.session = first;
    sum.made.event = one.totals.event;
    sum.in_recording += one.in_recording;
    sum.shipped += one.shipped;
    sum.checkpoint = std::max(sum.checkpoint, one.checkpoint);
    sum.has_rest = sum.has_rest || one.session != first;
    sum.is_meant = sum.is_meant || one.session.starts_with(wanted_);
    const auto session = sessions_.find(one.session);
    sum.is_whole = sum.is_whole && session != sessions_.end() && session->second.is_whole;
    if (one.has_totals) {
      sum.totals = one.totals;
      sum.has_totals = true;
    }
    if (!tables_.contains(one.table)) return {};  // there was no record
    auto table = rows_.find(one.table);
    if (table == rows_.end())
      table = rows_.emplace(one.table, KEVT_TRY(count_rows(server_, address_, one.table))).first;
    Rows& rows = table->second[one.session];
    sum.made.purged += count_purged(purged_, one.session, one.table, rows);
    sum.made.rows += rows.different;
    sum.made.twice += rows.all - rows.different;
    sum.made.not_rolled_up += rows.all - std::min(rows.all, rows.rolled_up);
    return {};
  }

  static EventBalance balanced(Sum& sum) {
    EventBalance& out = sum.made;
    const record::EventTotals& totals = sum.totals;
    out.checkpoint = utc_text(sum.checkpoint);
    // A shipper that was killed has shipped more than it could note; of what it has noted nothing may be missing.
    const std::uint64_t at_least = std::min(sum.shipped, sum.in_recording);
    out.is_whole = sum.is_whole;
    out.is_exact = sum.has_totals || sum.is_whole;
    out.spooled = sum.in_recording - std::clamp(out.rows + out.purged, at_least, sum.in_recording);
    out.recorded = std::max(sum.in_recording, out.rows + out.purged);
    if (sum.has_totals) out.recorded = totals.recorded - std::min(totals.overwritten, totals.recorded);
    // Of a process that was killed, records that count as lost may have reached the file (ADR 0041).
    if (sum.has_rest) out.recorded = std::clamp(sum.in_recording, out.recorded, out.recorded + totals.lost);
    if (sum.has_totals) out.spool_lost = out.recorded - std::min(sum.in_recording, out.recorded);
    out.hits = totals.attempts;
    out.accounted =
        totals.recorded + totals.aggregated + totals.filtered + totals.lost + (totals.sees_misses ? totals.missed : 0);
    return std::move(out);
  }

  Server& server_;
  Address address_;
  std::string wanted_;  // how the id of a recording begins
  std::set<std::string> tables_;
  std::vector<PurgedRows> purged_;
  std::map<std::string, Session> sessions_;
  std::map<std::string, RowsBySession> rows_;  // by table
  std::map<std::tuple<std::string, std::string, std::string>, Sum> sums_;
};

}  // namespace

std::string utc_text(std::int64_t ns) {
  return fmt::format("{:%F %T}", fmt::gmtime(static_cast<std::time_t>(ns / 1'000'000'000)));
}

Result<std::uint64_t> count_records(Server& server, const Address& address) {
  const std::set<std::string> there = KEVT_TRY(find_tables(server));
  std::set<std::string> tables;
  for (const EventCounts& one : KEVT_TRY(find_counts(server, address)))
    if (there.contains(one.table)) tables.insert(one.table);
  const std::vector<PurgedRows> purged = KEVT_TRY(find_purged(server));
  std::uint64_t sum = 0;
  for (const std::string& table : tables) {
    RowsBySession rows = KEVT_TRY(count_rows(server, address, table));
    sum += rows[address.session].different + count_purged(purged, address.session, table, rows[address.session]);
  }
  return sum;
}

Result<std::vector<EventBalance>> balance(Server& server, const Address& address) {
  return Books(server, address).close();
}

}  // namespace kevt::fleet

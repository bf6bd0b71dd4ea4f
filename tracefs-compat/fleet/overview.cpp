#include "tracefs-compat/fleet/overview.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <utility>

#include "tracefs-compat/fleet/address.h"
#include "tracefs-compat/fleet/meant.h"
#include "tracefs-compat/fleet/rollups.h"
#include "tracefs-compat/fleet/row_binary.h"
#include "tracefs-compat/fleet/rows.h"
#include "tracefs-compat/fleet/shape.h"

namespace kevt::fleet {
namespace {

constexpr std::uint64_t kMostSteps = 2'000'000;  // that one question may make a server read

static_assert(kShortestBarNs == kRollupSteps[0]);

std::int64_t floor_to(std::int64_t ns, std::int64_t step) { return ns - ns % step; }

struct TableName {
  std::string table, event;
};
TableName read_name(RowReader& rows) {
  TableName one{.table = std::string(rows.text()), .event = {}};
  one.event = rows.text();
  (one.event += '/') += rows.text();
  return one;
}

class RollupOverview final : public Overview {
 public:
  RollupOverview(Address address, Meant meant) : address_(std::move(address)), meant_(std::move(meant)) {}

  Result<void> open() {
    for (const MeantSession& one : meant_.sessions) {
      if (one.session.first_ns == 0) continue;
      const auto shifted = [&one](std::int64_t ns) {
        return std::clamp<std::int64_t>(std::clamp<std::int64_t>(ns, 0, kLatestNs) + one.shift_ns, 0, kLatestNs);
      };
      const std::int64_t first = shifted(one.session.first_ns), last = shifted(one.session.last_ns);
      if (last < first) return std::unexpected(Error("the times of a recording in the database make no sense"));
      all_.from_ns = all_.to_ns == 0 ? first : std::min(all_.from_ns, first);
      all_.to_ns = std::max(all_.to_ns, last + 1);
      largest_shift_ = std::max(largest_shift_, std::abs(one.shift_ns));
    }
    for (const auto& server : meant_.servers)
      for (TableName& one : KEVT_TRY(
               rows_of(*server,
                       fmt::format("SELECT DISTINCT table, system, name FROM {}.kevt_events WHERE {} FORMAT RowBinary",
                                   server->database(), chosen(address_)),
                       &read_name)))
        event_of_[std::move(one.table)] = std::move(one.event);
    return {};
  }

  TimeSpan all() const override { return all_; }
  std::int64_t zero_ns() const override { return meant_.zero_ns(); }

  Result<OverviewPicture> count(TimeSpan span, std::size_t bars, By by) override {
    OverviewPicture out;
    span.from_ns = std::clamp<std::int64_t>(span.from_ns, 0, kLatestNs);
    span.to_ns = std::clamp<std::int64_t>(span.to_ns, span.from_ns + 1, kLatestNs + 1);
    bars = std::clamp<std::size_t>(bars, 2, kMostBars);
    const std::int64_t step = step_for(span, static_cast<std::int64_t>(bars));
    // One bar more than asked for where the span begins within a bar.
    const auto room = std::max<std::int64_t>(static_cast<std::int64_t>(bars) - 1, 1);
    out.width_ns = step * std::max<std::int64_t>(1, ((span.to_ns - span.from_ns) / room + step - 1) / step);
    out.span.from_ns = floor_to(span.from_ns, out.width_ns);
    const std::int64_t length = span.to_ns - out.span.from_ns;
    const std::int64_t count = length / out.width_ns + (length % out.width_ns != 0);
    out.span.to_ns = out.span.from_ns + count * out.width_ns;
    std::map<std::string, std::vector<std::uint64_t>> lines;
    for (const auto& server : meant_.servers) KEVT_TRY(ask(*server, step, by, out, lines));
    for (auto& [name, hits] : lines) out.lines.push_back({name, std::move(hits)});
    return out;
  }

 private:
  // The longest that is no longer than a bar; a longer one where that would be too many.
  std::int64_t step_for(TimeSpan span, std::int64_t bars) const {
    const std::int64_t bar = (span.to_ns - span.from_ns) / bars;
    const std::uint64_t lines = meant_.sessions.size() * std::max<std::size_t>(event_of_.size(), 1);
    std::int64_t chosen = kRollupSteps[0];
    for (const std::int64_t step : kRollupSteps) {
      const auto steps = static_cast<std::uint64_t>((span.to_ns - span.from_ns) / chosen) * lines;
      if (step <= bar || steps > kMostSteps) chosen = step;
    }
    return chosen;
  }

  // When a step began, as SQL: by the clocks of its recordings, as far as a bar would show what these are ahead.
  Result<std::string> shifted_time(const Server& server, std::int64_t width_ns) const {
    constexpr std::size_t kMostShifted = 2000;  // a server reads 256 KiB of a question
    std::string ids, shifts;
    std::size_t count = 0;
    for (const MeantSession& one : meant_.sessions) {
      if (one.server != &server || std::abs(one.shift_ns) < width_ns / 4 || one.shift_ns == 0) continue;
      if (++count > kMostShifted)
        return std::unexpected(
            Error(fmt::format("the clocks of more than {} recordings were wrong by more than a bar "
                              "would hide; name hosts behind the database",
                              kMostShifted)));
      ids += (ids.empty() ? "" : ", ") + sql_text(one.session.id);
      shifts += fmt::format("{}toInt64({})", shifts.empty() ? "" : ", ", one.shift_ns);
    }
    return ids.empty() ? "at" : fmt::format("at + transform(session, [{}], [{}], toInt64(0))", ids, shifts);
  }

  // A step counts where it ends behind the span's begin: a shift may have moved its own begin before it.
  Result<void> ask(Server& server, std::int64_t step, By by, OverviewPicture& out,
                   std::map<std::string, std::vector<std::uint64_t>>& lines) {
    const char* const line = by == By::Event ? "table" : "host";
    const std::int64_t from = out.span.from_ns, to = out.span.to_ns;
    const std::string moment = KEVT_TRY(shifted_time(server, out.width_ns));
    const std::string answer = KEVT_TRY(server.ask(fmt::format(
        "SELECT {0}, toInt64(intDiv(greatest(moment, toInt64({2})) - {2}, {3})) AS bar, sum(hits) FROM (SELECT {0}, "
        "toInt64({1}) AS moment, hits FROM {4}.kevt_rollups FINAL WHERE step = {5} AND {6} AND at >= {7} AND at < {8}) "
        "WHERE moment + {5} > {2} GROUP BY {0}, bar FORMAT RowBinary",
        line, moment, from, out.width_ns, server.database(), step, chosen(address_),
        std::max<std::int64_t>(from - largest_shift_ - step, 0), to + largest_shift_)));
    const auto bars = static_cast<std::uint64_t>((to - from) / out.width_ns);
    RowReader rows(answer);
    while (!rows.at_end()) {
      const std::string_view of = rows.text();
      const auto bar = rows.number<std::uint64_t>();
      const auto hits = rows.number<std::uint64_t>();
      if (!rows.good() || bar >= bars) continue;  // beyond the span, of a clock that is wrong
      std::vector<std::uint64_t>& counts = lines[name_of(of, by)];
      if (lines.size() * bars > kMostNumbers) return std::unexpected(too_many(server, kMostNumbers / bars));
      counts.resize(bars);
      counts[bar] += hits;
      out.records += hits;
    }
    if (!rows.good()) return std::unexpected(no_sense(server));
    return {};
  }

  static constexpr std::size_t kMostNumbers = 4'000'000;  // of a picture
  static Error too_many(const Server& server, std::size_t lines) {
    return Error(fmt::format("{} has more than {} events or hosts for so many bars; name hosts behind the database",
                             server.url(), lines));
  }

  // The events of one name are one line, whatever their fields.
  std::string name_of(std::string_view of, By by) const {
    if (by == By::Host) return std::string(of);
    const auto known = event_of_.find(std::string(of));
    return known == event_of_.end() ? std::string(of) : known->second;
  }

  Address address_;
  Meant meant_;
  TimeSpan all_;
  std::int64_t largest_shift_ = 0;
  std::map<std::string, std::string> event_of_;  // by table
};

}  // namespace

TimeSpan newest_part(const OverviewPicture& picture, std::uint64_t most_records) {
  const auto bars = static_cast<std::size_t>((picture.span.to_ns - picture.span.from_ns) / picture.width_ns);
  std::size_t first = bars, last = bars;  // of bars with records
  std::uint64_t sum = 0;
  for (std::size_t bar = bars; bar-- > 0;) {
    std::uint64_t hits = 0;
    for (const OverviewLine& line : picture.lines) hits += line.hits[bar];
    if (hits > most_records - sum) break;
    sum += hits;
    if (hits == 0) continue;
    if (last == bars && first == bars) last = bar + 1;
    first = bar;
  }
  if (sum == 0) return {};
  const auto at = [&picture](std::size_t bar) {
    return picture.span.from_ns + static_cast<std::int64_t>(bar) * picture.width_ns;
  };
  return {at(first), at(last)};
}

Result<std::optional<TimeSpan>> find_newest_part(Overview& overview, std::uint64_t most_records,
                                                 const std::function<bool()>& is_stopped) {
  TimeSpan span = overview.all();
  if (span.from_ns == span.to_ns) return std::nullopt;
  for (bool is_all = true;; is_all = false) {
    const auto picture = KEVT_TRY(overview.count(span, Overview::kMostBars, Overview::By::Event));
    if (is_all && picture.records <= most_records) return std::nullopt;
    const TimeSpan part = newest_part(picture, most_records);
    if (part != TimeSpan{}) return part;
    const TimeSpan newest = newest_part(picture, ~0ull);  // ends with the newest bar that has any
    const TimeSpan next{newest.to_ns - picture.width_ns, newest.to_ns};
    if (newest == TimeSpan{} || next == span || is_stopped()) return span;
    span = next;
  }
}

Result<std::unique_ptr<Overview>> open_overview(const std::string& text, const std::function<bool()>& is_stopped) {
  auto address = KEVT_TRY(parse_address(text));
  auto meant = find_meant(address, is_stopped);
  if (!meant) return std::unexpected(std::move(meant.error()).while_doing("reading " + text));
  auto overview = std::make_unique<RollupOverview>(std::move(address), *std::move(meant));
  KEVT_TRY(overview->open());
  return overview;
}

}  // namespace kevt::fleet

#include "tracefs-compat/fleet/clock_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>

#include "common/clock.h"
#include "tracefs-compat/fleet/row_binary.h"
#include "tracefs-compat/fleet/rows.h"

namespace kevt::fleet {
namespace {

constexpr const char* kBoundColumns = "sent, received, events, most, messages, at";
constexpr std::int64_t kNone = std::int64_t{1} << 61;  // of a distance: there is no bound

ClockBound read_bound(RowReader& rows) {
  ClockBound one;
  one.sent = rows.text();
  one.received = rows.text();
  one.most_ns = rows.number<std::int64_t>();
  one.messages = rows.number<std::uint64_t>();
  return one;
}

// A path of two steps; between nodes that are far from one another sums stay below kNone.
std::int64_t sum(std::int64_t a, std::int64_t b) {
  return a >= kNone || b >= kNone ? kNone : std::clamp(a + b, -kNone, kNone - 1);
}

// at(a, b): x_a - x_b is not more. Node 0 is UTC, the others are the recordings.
class Distances {
 public:
  explicit Distances(std::size_t nodes) : nodes_(nodes), all_(nodes * nodes, kNone) {
    for (std::size_t i = 0; i < nodes; ++i) at(i, i) = 0;
  }
  std::int64_t& at(std::size_t a, std::size_t b) { return all_[a * nodes_ + b]; }
  std::int64_t at(std::size_t a, std::size_t b) const { return all_[a * nodes_ + b]; }
  void bound(std::size_t a, std::size_t b, std::int64_t most) { at(a, b) = std::min(at(a, b), most); }
  // False: not all of it can hold.
  bool close() {
    for (std::size_t via = 0; via < nodes_; ++via)
      for (std::size_t a = 0; a < nodes_; ++a) {
        if (at(a, via) >= kNone) continue;
        for (std::size_t b = 0; b < nodes_; ++b) bound(a, b, sum(at(a, via), at(via, b)));
      }
    for (std::size_t i = 0; i < nodes_; ++i)
      if (at(i, i) < 0) return false;
    return true;
  }
  // Values that hold: each in the middle of what those before leave to it.
  std::vector<std::int64_t> values() const {
    std::vector<std::int64_t> x(nodes_, 0);
    for (std::size_t s = 1; s < nodes_; ++s) {
      std::int64_t least = -kNone, most = kNone;
      for (std::size_t f = 0; f < s; ++f) {
        if (at(f, s) < kNone) least = std::max(least, x[f] - at(f, s));
        if (at(s, f) < kNone) most = std::min(most, x[f] + at(s, f));
      }
      const bool is_between = least > -kNone && most < kNone;
      const std::int64_t open = std::max(least, std::min<std::int64_t>(most, 0));
      x[s] = std::clamp(is_between ? least + (most - least) / 2 : open, -kNone, kNone);
    }
    return x;
  }
  // How far x_a - x_b, as `x` has it, may be wrong.
  std::optional<std::int64_t> error(std::size_t a, std::size_t b, const std::vector<std::int64_t>& x) const {
    if (at(a, b) >= kNone || at(b, a) >= kNone) return std::nullopt;
    return std::max(at(a, b) - (x[a] - x[b]), (x[a] - x[b]) + at(b, a));
  }

 private:
  std::size_t nodes_;
  std::vector<std::int64_t> all_;
};

// The recordings that bounds are about, numbered from 1.
class Nodes {
 public:
  Nodes(std::span<const OwnClock> clocks, std::span<const ClockBound> bounds) {
    for (std::size_t i = 0; i < clocks.size(); ++i) clock_of_[clocks[i].id] = i;
    for (const ClockBound& one : bounds) {
      if (!clock_of_.contains(one.sent) || !clock_of_.contains(one.received) || one.sent == one.received ||
          one.most_ns > kFarthestNs || one.most_ns < -kFarthestNs)
        continue;
      used_.push_back({add(one.sent), add(one.received), one.most_ns});
    }
  }
  struct Edge {
    std::size_t sent, received;
    std::int64_t most_ns;
  };
  const std::vector<Edge>& edges() const { return used_; }
  std::size_t count() const { return clocks_.size(); }
  std::size_t clock(std::size_t node) const { return clocks_[node - 1]; }

 private:
  std::size_t add(std::string_view id) {
    const auto [known, is_new] = node_of_.try_emplace(id, clocks_.size() + 1);
    if (is_new) clocks_.push_back(clock_of_.at(id));
    return known->second;
  }

  std::map<std::string_view, std::size_t> clock_of_, node_of_;
  std::vector<std::size_t> clocks_;
  std::vector<Edge> used_;
};

enum class Drift : std::uint8_t { Left, Counted };

// With the drift counted, bounds between two clocks are wider by how far both went meanwhile.
Distances distances_of(std::span<const OwnClock> clocks, const Nodes& nodes, Drift drift) {
  Distances distances(nodes.count() + 1);
  for (const Nodes::Edge& one : nodes.edges()) {
    const std::int64_t both = sum(clocks[nodes.clock(one.sent)].drift_ns, clocks[nodes.clock(one.received)].drift_ns);
    const std::int64_t wider = drift == Drift::Counted ? both : 0;
    distances.bound(one.sent, one.received, sum(one.most_ns, std::clamp<std::int64_t>(wider, 0, kFarthestNs)));
  }
  for (std::size_t node = 1; node <= nodes.count(); ++node) {
    const ClockFit& fit = clocks[nodes.clock(node)].fit;
    const bool is_of_use = fit.error_ns && *fit.error_ns >= 0 && *fit.error_ns <= kFarthestNs &&
                           fit.shift_ns <= kFarthestNs && fit.shift_ns >= -kFarthestNs;
    if (!is_of_use) continue;
    distances.bound(node, 0, fit.shift_ns + *fit.error_ns);
    distances.bound(0, node, *fit.error_ns - fit.shift_ns);
  }
  return distances;
}

// Of two of which no bound is known each is as wrong as it is against UTC.
std::optional<std::int64_t> worst_pair(const FittedClocks& fitted, const Nodes& nodes, const Distances& distances,
                                       const std::vector<std::int64_t>& x) {
  std::vector<std::size_t> node_of(fitted.fits.size(), 0);
  for (std::size_t node = 1; node <= nodes.count(); ++node) node_of[nodes.clock(node)] = node;
  std::int64_t worst = 0;
  for (std::size_t a = 0; a < node_of.size(); ++a)
    for (std::size_t b = a + 1; b < node_of.size(); ++b) {
      std::optional<std::int64_t> error;
      if (node_of[a] != 0 && node_of[b] != 0)
        error = distances.error(node_of[a], node_of[b], x);
      else if (fitted.fits[a].error_ns && fitted.fits[b].error_ns)
        error = sum(*fitted.fits[a].error_ns, *fitted.fits[b].error_ns);
      if (!error) return std::nullopt;
      worst = std::max(worst, *error);
    }
  return worst;
}

}  // namespace

Result<void> put_clock_bounds(Server& server, std::string_view events, const std::vector<ClockBound>& bounds) {
  std::vector<std::uint8_t> rows;
  RowWriter row(rows);
  const std::int64_t now = utc_ns();
  for (const ClockBound& one : bounds) {
    row.text(one.sent);
    row.text(one.received);
    row.text(events);
    row.number(one.most_ns);
    row.number(one.messages);
    row.number(now);
  }
  return put_rows(server, "kevt_clock_bounds", kBoundColumns, rows);
}

Result<void> forget_clock_bounds(Server& server) {
  return server.tell(fmt::format("TRUNCATE TABLE {}.kevt_clock_bounds", server.database()));
}

Result<std::vector<ClockBound>> find_clock_bounds(Server& server, std::span<const std::string> recordings) {
  if (recordings.size() < 2 || recordings.size() > kMostTied) return {};
  std::string ids;
  for (const std::string& one : recordings) ids += (ids.empty() ? "" : ", ") + sql_text(one);
  return rows_of(
      server,
      fmt::format("SELECT sent, received, min(most), sum(messages) FROM {}.kevt_clock_bounds FINAL WHERE sent IN "
                  "({}) AND received IN ({}) GROUP BY sent, received FORMAT RowBinary",
                  server.database(), ids, ids),
      &read_bound);
}

FittedClocks fit_clocks(std::span<const OwnClock> clocks, std::span<const ClockBound> bounds) {
  FittedClocks out;
  for (const OwnClock& one : clocks) out.fits.push_back(one.fit);
  const Nodes nodes(clocks, bounds);
  out.bounds = nodes.edges().size();
  if (out.bounds == 0 || nodes.count() > kMostTied) return out;
  // Shifts by what messages say alone, so that none is shown as received before it is sent; errors with the drift.
  Distances strict = distances_of(clocks, nodes, Drift::Left), distances = distances_of(clocks, nodes, Drift::Counted);
  const bool is_strict = strict.close();
  out.contradicts = !distances.close();
  if (out.contradicts) return out;
  const std::vector<std::int64_t> x = (is_strict ? strict : distances).values();
  out.contradicts = std::ranges::any_of(x, [](std::int64_t one) { return one > kFarthestNs || one < -kFarthestNs; });
  if (out.contradicts) return out;
  for (std::size_t node = 1; node <= nodes.count(); ++node)
    out.fits[nodes.clock(node)] = {.shift_ns = x[node], .error_ns = distances.error(node, 0, x)};
  out.apart_ns = worst_pair(out, nodes, distances, x);
  return out;
}

}  // namespace kevt::fleet

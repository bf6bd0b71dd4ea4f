#include "tracefs-compat/fleet/meant.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "tracefs-compat/fleet/clocks.h"
#include "tracefs-compat/fleet/config.h"
#include "tracefs-compat/record/print/trace_line.h"

namespace kevt::fleet {
namespace {

constexpr std::int64_t kLargestShiftNs = 366ll * 86'400 * 1'000'000'000;  // of a clock that was wrong

// Nobody ships a recording under two names; if somebody did, every record of it would count twice.
Result<void> look_for_doubles(const Meant& meant) {
  std::set<std::string_view> seen;
  for (const MeantSession& one : meant.sessions)
    if (!seen.insert(one.session.id).second)
      return std::unexpected(Error(
          fmt::format("the recording {} was shipped twice, as another host or to another server; name one of them",
                      one.session.id)));
  return {};
}

// "how wrong the times of web1, web2 and 3 other hosts may be is not known".
std::string note_of_unknown(const std::set<std::string>& unknown) {
  constexpr std::ptrdiff_t kMostNamed = 3;
  const auto named = std::min(std::ssize(unknown), kMostNamed);
  return fmt::format(
      "how wrong the times of {}{} may be is not known",
      fmt::join(unknown.begin(), std::next(unknown.begin(), named), ", "),
      std::ssize(unknown) > named ? fmt::format(" and {} other hosts", std::ssize(unknown) - named) : "");
}

std::string clock_note(const Meant& meant, const FittedClocks& fitted) {
  std::int64_t worst = 0;
  std::set<std::string> unknown;
  for (std::size_t i = 0; i < fitted.fits.size(); ++i) {
    if (const auto& error = fitted.fits[i].error_ns)
      worst = std::max(worst, *error);
    else
      unknown.insert(record::words_of_file(meant.sessions[i].session.host));
  }
  std::string note =
      unknown.empty() ? fmt::format("times of hosts may be wrong by {}", error_text(worst)) : note_of_unknown(unknown);
  if (fitted.apart_ns) note += fmt::format("; against one another by {}", error_text(*fitted.apart_ns));
  if (fitted.contradicts)
    note += "; what was sent and received (`fleet clocks`) contradicts the hosts' clocks, and is not used";
  return note;
}

}  // namespace

// A recording's own times are those of its file; those of several are compared.
Result<ClocksOfMeant> fit_clocks(const Meant& meant, const Address& address) {
  ClocksOfMeant out;
  out.own.resize(meant.sessions.size());
  std::vector<ClockBound> bounds;
  std::vector<std::string> ids;
  for (const MeantSession& one : meant.sessions) ids.push_back(one.session.id);
  for (const auto& server : meant.servers) {
    const auto clocks = KEVT_TRY(find_clocks(*server, address));
    std::ranges::move(KEVT_TRY(find_clock_bounds(*server, ids)), std::back_inserter(bounds));
    for (std::size_t i = 0; i < meant.sessions.size(); ++i) {
      const MeantSession& one = meant.sessions[i];
      if (one.server != server.get()) continue;
      out.own[i].id = one.session.id;
      const ClockFit fit = fit_clock(one.session.wall_offset_ns, clocks, one.session.id);
      if (!fit.error_ns || std::abs(fit.shift_ns) > kLargestShiftNs) continue;
      out.own[i].fit = fit;
      out.own[i].drift_ns = drift_of(clocks.at(one.session.id));
    }
  }
  out.fitted = fit_clocks(out.own, bounds);
  return out;
}

namespace {

Result<void> fit_all(Meant& meant, const Address& address) {
  const ClocksOfMeant clocks = KEVT_TRY(fit_clocks(meant, address));
  for (std::size_t i = 0; i < meant.sessions.size(); ++i) meant.sessions[i].shift_ns = clocks.fitted.fits[i].shift_ns;
  meant.clock_note = clock_note(meant, clocks.fitted);
  return {};
}

}  // namespace

Result<Meant> find_meant(const Address& address, const std::function<bool()>& is_stopped) {
  Meant meant;
  const HttpKeys keys = KEVT_TRY(read_config()).keys;
  for (const std::string& url : address.servers) {
    auto server = KEVT_TRY(Server::make(url, address.database, keys));
    server.limit({.most_s = 0, .is_stopped = is_stopped});
    meant.servers.push_back(std::make_unique<Server>(std::move(server)));
    KEVT_TRY(check_schema(*meant.servers.back()));
    for (Session& one : KEVT_TRY(find_sessions(*meant.servers.back(), address)))
      meant.sessions.push_back({std::move(one), meant.servers.back().get()});
  }
  KEVT_TRY(look_for_doubles(meant));
  if (meant.sessions.empty()) return std::unexpected(Error("no recording was shipped there that is meant"));
  if (meant.sessions.size() > 1) KEVT_TRY(fit_all(meant, address));
  return meant;
}

}  // namespace kevt::fleet

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

// A recording's own times are those of its file; those of several are compared.
Result<void> fit_clocks(Meant& meant, const Address& address) {
  std::int64_t worst = 0;
  std::set<std::string> unknown;
  for (const auto& server : meant.servers) {
    const auto clocks = KEVT_TRY(find_clocks(*server, address));
    for (MeantSession& one : meant.sessions) {
      if (one.server != server.get()) continue;
      const ClockFit fit = fit_clock(one.session.wall_offset_ns, clocks, one.session.id);
      if (!fit.error_ns || std::abs(fit.shift_ns) > kLargestShiftNs) {
        unknown.insert(record::words_of_file(one.session.host));
        continue;
      }
      one.shift_ns = fit.shift_ns;
      worst = std::max(worst, *fit.error_ns);
    }
  }
  constexpr std::ptrdiff_t kMostNamed = 3;
  const auto named = std::min(std::ssize(unknown), kMostNamed);
  if (unknown.empty())
    meant.clock_note = fmt::format("times of hosts may be wrong by {}", error_text(worst));
  else
    meant.clock_note =
        fmt::format("how wrong the times of {}{} may be is not known",
                    fmt::join(unknown.begin(), std::next(unknown.begin(), named), ", "),
                    std::ssize(unknown) > named ? fmt::format(" and {} other hosts", std::ssize(unknown) - named) : "");
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
  if (meant.sessions.size() > 1) KEVT_TRY(fit_clocks(meant, address));
  return meant;
}

}  // namespace kevt::fleet

#include "cli/fleet/show_clocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/exit_status.h"
#include "common/print.h"
#include "tracefs-compat/fleet/clock_bounds.h"
#include "tracefs-compat/fleet/clocks.h"
#include "tracefs-compat/fleet/meant.h"
#include "tracefs-compat/fleet/messages.h"
#include "tracefs-compat/record/print/trace_line.h"

namespace kevt::cli {
namespace {

// Each bound is kept where the recording is that sent.
Result<void> keep_bounds(const fleet::Meant& meant, std::string_view events,
                         const std::vector<fleet::ClockBound>& bounds) {
  std::map<std::string, fleet::Server*> server_of;
  for (const fleet::MeantSession& one : meant.sessions) server_of[one.session.id] = one.server;
  std::map<fleet::Server*, std::vector<fleet::ClockBound>> of_server;
  for (const fleet::ClockBound& one : bounds) of_server[server_of.at(one.sent)].push_back(one);
  for (const auto& [server, ours] : of_server) KEVT_TRY(fleet::put_clock_bounds(*server, events, ours));
  return {};
}

Result<void> learn(const fleet::Meant& meant, const FleetOptions& options, const Reporter& report) {
  const auto sent = KEVT_TRY(fleet::parse_message_end(options.sent));
  const auto received = KEVT_TRY(fleet::parse_message_end(options.received));
  const fleet::Messages found = KEVT_TRY(fleet::match_messages(meant, sent, received));
  KEVT_TRY(keep_bounds(meant, options.sent + " " + options.received, found.bounds));
  report.status(fmt::format("{} sent, {} received, {} of them from another recording", found.sent, found.received,
                            found.matched));
  if (found.repeated)
    report.status(fmt::format("values that were sent more than once, and say nothing: {}", found.repeated));
  const auto is_too_far = [](const fleet::ClockBound& one) {
    return one.most_ns > fleet::kFarthestNs || one.most_ns < -fleet::kFarthestNs;
  };
  if (const auto far = std::ranges::count_if(found.bounds, is_too_far))
    report.status(fmt::format("pairs of recordings whose clocks are more than 400 days apart, not used: {}", far));
  return {};
}

std::string shift_text(std::int64_t ns) { return fmt::format("{:+.3f} ms", static_cast<double>(ns) / 1e6); }

void print_table(const fleet::Meant& meant, const fleet::ClocksOfMeant& clocks) {
  print("{:<24} {:<9} {:>12} {:>12} {:>14}\n", "HOST", "RECORDING", "ITS CLOCK", "FITTED", "SHIFT");
  for (std::size_t i = 0; i < meant.sessions.size(); ++i) {
    const fleet::Session& session = meant.sessions[i].session;
    const fleet::ClockFit& fit = clocks.fitted.fits[i];
    print("{:<24} {:<9} {:>12} {:>12} {:>14}\n", record::words_of_file(session.host),
          record::words_of_file(session.id.substr(0, 8)), fleet::error_text(clocks.own[i].fit.error_ns),
          fleet::error_text(fit.error_ns), shift_text(fit.shift_ns));
  }
  print("{}\n", meant.clock_note.empty() ? "there is one recording: its times are its own" : meant.clock_note);
}

void print_json(const fleet::Meant& meant, const fleet::ClocksOfMeant& clocks) {
  const auto known = [](const std::optional<std::int64_t>& ns) { return ns ? nlohmann::json(*ns) : nlohmann::json(); };
  nlohmann::json recordings = nlohmann::json::array();
  for (std::size_t i = 0; i < meant.sessions.size(); ++i)
    recordings.push_back({{"host", meant.sessions[i].session.host},
                          {"recording", meant.sessions[i].session.id},
                          {"own_error_ns", known(clocks.own[i].fit.error_ns)},
                          {"error_ns", known(clocks.fitted.fits[i].error_ns)},
                          {"shift_ns", clocks.fitted.fits[i].shift_ns}});
  const nlohmann::json all = {{"recordings", recordings},
                              {"apart_ns", known(clocks.fitted.apart_ns)},
                              {"bounds", clocks.fitted.bounds},
                              {"contradicts", clocks.fitted.contradicts}};
  print("{}\n", all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

Result<void> learn_and_show(const fleet::Address& address, const FleetOptions& options, const Reporter& report) {
  fleet::Meant meant = KEVT_TRY(fleet::find_meant(address));
  if (options.forget)
    for (const auto& server : meant.servers) KEVT_TRY(fleet::forget_clock_bounds(*server));
  if (!options.sent.empty()) KEVT_TRY(learn(meant, options, report));
  if (options.forget || !options.sent.empty()) meant = KEVT_TRY(fleet::find_meant(address));
  fleet::ClocksOfMeant clocks = KEVT_TRY(fleet::fit_clocks(meant, address));
  if (meant.sessions.size() == 1) clocks.fitted.fits.front().shift_ns = 0;  // its times are shown as they are
  if (options.format == "json")
    print_json(meant, clocks);
  else
    print_table(meant, clocks);
  return {};
}

}  // namespace

int show_clocks(const fleet::Address& address, const FleetOptions& options, const Reporter& report) {
  for (const std::string* end : {&options.sent, &options.received})
    if (const auto parsed = fleet::parse_message_end(*end); !end->empty() && !parsed) {
      report.error(parsed.error());
      return kUsage;
    }
  const auto shown = learn_and_show(address, options, report);
  if (shown) return kOk;
  report.error(shown.error());
  return kFailed;
}

}  // namespace kevt::cli

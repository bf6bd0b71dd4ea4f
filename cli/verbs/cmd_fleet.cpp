// kevtrace fleet: the database, recordings into it, what is there, and whether all of it is.
#include <fmt/format.h>
#include <fnmatch.h>

#include <map>
#include <nlohmann/json.hpp>

#include "cli/exit_status.h"
#include "cli/fleet/fleet_servers.h"
#include "cli/fleet/give_order.h"
#include "cli/fleet/obey.h"
#include "cli/fleet/rates.h"
#include "cli/fleet/ship.h"
#include "cli/fleet/show_clocks.h"
#include "cli/reporter.h"
#include "cli/verbs/commands.h"
#include "common/print.h"
#include "tracefs-compat/fleet/address.h"
#include "tracefs-compat/fleet/balance.h"
#include "tracefs-compat/fleet/catalogue.h"
#include "tracefs-compat/fleet/clocks.h"
#include "tracefs-compat/fleet/orders/wanted.h"
#include "tracefs-compat/fleet/purge.h"
#include "tracefs-compat/fleet/rollups.h"
#include "tracefs-compat/fleet/server.h"
#include "tracefs-compat/record/problems.h"

namespace kevt::cli {
namespace {

int make_schemas(Servers& servers, const Reporter& report) {
  for (const auto& server : servers) {
    const auto made = fleet::create_schema(*server);
    const auto lacking = made ? fleet::roll_up_what_lacks(*server) : std::unexpected(made.error());
    if (!lacking) {
      report.error(lacking.error());
      return kFailed;
    }
    if (*lacking)
      report.status(fmt::format("{}: {} records were not in the rollups, and are now", server->url(), *lacking));
    report.status(
        fmt::format("{} has database {}, schema {}", server->url(), server->database(), fleet::kSchemaVersion));
  }
  return kOk;
}

// ---- what is there --------------------------------------------------------------------------

int list_sessions(Servers& servers, const fleet::Address& address, const FleetOptions& options,
                  const Reporter& report) {
  nlohmann::json all = nlohmann::json::array();
  for (const auto& server : servers) {
    auto schema = fleet::check_schema(*server);
    auto sessions = schema ? fleet::find_sessions(*server, address) : std::unexpected(schema.error());
    auto counts = sessions ? fleet::find_counts(*server, address) : std::unexpected(sessions.error());
    auto clocks = counts ? fleet::find_clocks(*server, address) : std::unexpected(counts.error());
    if (!clocks) {
      report.error(clocks.error());
      return kFailed;
    }
    std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> sums;
    for (const fleet::EventCounts& one : *counts) {
      sums[one.session].first += one.in_recording;
      sums[one.session].second += one.shipped;
    }
    for (const fleet::Session& one : *sessions) {
      const auto [in_recording, shipped] = sums[one.id];
      const fleet::ClockFit clock = fleet::fit_clock(one.wall_offset_ns, *clocks, one.id);
      all.push_back({{"host", one.host},
                     {"recording", one.id},
                     {"server", server->url()},
                     {"records", in_recording},
                     {"shipped", shipped},
                     {"finished", one.is_whole},
                     {"first_ns", one.first_ns},
                     {"last_ns", one.last_ns},
                     {"clock_error_ns", clock.error_ns ? nlohmann::json(*clock.error_ns) : nlohmann::json()},
                     {"clock_shift_ns", clock.shift_ns},
                     {"checkpoint_ns", one.checkpoint}});
    }
  }
  if (options.format == "json") {
    print("{}\n", all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return kOk;
  }
  const auto time = [](std::int64_t ns) { return ns ? fleet::utc_text(ns) : std::string("-"); };
  const auto error = [](const nlohmann::json& ns) {
    return fleet::error_text(ns.is_null() ? std::nullopt : std::optional(ns.get<std::int64_t>()));
  };
  print("{:<24} {:<8} {:>12} {:>12} {:<19} {:<19} {:<10} {}\n", "HOST", "RECORDING", "RECORDS", "SHIPPED",
        "FIRST (UTC)", "LAST (UTC)", "CLOCK", "STATE");
  for (const auto& one : all)
    print("{:<24} {:<8} {:>12} {:>12} {:<19} {:<19} {:<10} {}\n", record::words_of_file(one["host"].get<std::string>()),
          record::words_of_file(one["recording"].get<std::string>().substr(0, 8)), one["records"].get<std::uint64_t>(),
          one["shipped"].get<std::uint64_t>(), time(one["first_ns"].get<std::int64_t>()),
          time(one["last_ns"].get<std::int64_t>()), error(one["clock_error_ns"]),
          one["finished"].get<bool>() ? "finished" : "goes on");
  return kOk;
}

int list_hosts(Servers& servers, const fleet::Address& address, const FleetOptions& options, const Reporter& report) {
  nlohmann::json all = nlohmann::json::array();
  for (const auto& server : servers) {
    auto schema = fleet::check_schema(*server);
    auto present = schema ? fleet::find_present(*server) : std::unexpected(schema.error());
    if (!present) {
      report.error(present.error());
      return kFailed;
    }
    for (const fleet::Presence& one : *present)
      if (address.hosts.empty() || fnmatch(address.hosts.c_str(), one.host.c_str(), 0) == 0)
        all.push_back({{"host", one.host}, {"labels", one.labels}, {"maker", one.maker}, {"seen_ns", one.seen}});
  }
  if (options.format == "json") {
    print("{}\n", all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return kOk;
  }
  print("{:<24} {:<19} {:<16} {}\n", "HOST", "SEEN (UTC)", "BY", "LABELS");
  for (const auto& one : all)
    print("{:<24} {:<19} {:<16} {}\n", record::words_of_file(one["host"].get<std::string>()),
          fleet::utc_text(one["seen_ns"].get<std::int64_t>()), record::words_of_file(one["maker"].get<std::string>()),
          record::words_of_file(one["labels"].get<std::string>()));
  return kOk;
}

// Names are of the database: anything.
std::string balance_line(const fleet::EventBalance& one, bool is_one_of_several) {
  const bool rows_hold = one.rows + one.purged + one.spooled + one.spool_lost == one.recorded;
  std::string line = record::words_of_file(one.host + " " + one.event);
  if (is_one_of_several) line += record::words_of_file(" [" + one.session.substr(0, 8) + "]");
  line += fmt::format(": rows {}{} + spooled {} + spool_lost {} {} recorded {}", one.rows,
                      one.purged ? fmt::format(" + purged {}", one.purged) : "", one.spooled, one.spool_lost,
                      rows_hold ? "=" : "!=", one.recorded);
  if (one.twice) line += fmt::format("; {} rows are there twice", one.twice);
  if (one.not_rolled_up && one.is_whole)
    line += fmt::format("; {} rows are in no overview; `kevtrace fleet init` counts them", one.not_rolled_up);
  if (!one.is_exact) line += fmt::format("; exact to the checkpoint {} UTC, nothing is claimed beyond", one.checkpoint);
  if (one.hits != one.accounted) line += fmt::format("; hits {} != {} that are accounted for", one.hits, one.accounted);
  return line;
}

int check_balance(Servers& servers, const fleet::Address& address, const FleetOptions& options,
                  const Reporter& report) {
  nlohmann::json all = nlohmann::json::array();
  bool holds = true;
  std::size_t seen = 0;
  for (const auto& server : servers) {
    auto schema = fleet::check_schema(*server);
    auto balances = schema ? fleet::balance(*server, address) : std::unexpected(schema.error());
    if (!balances) {
      report.error(balances.error());
      return kFailed;
    }
    std::map<std::pair<std::string, std::string>, unsigned> recordings;
    for (const fleet::EventBalance& one : *balances) ++recordings[{one.host, one.event}];
    for (const fleet::EventBalance& one : *balances) {
      ++seen;
      holds = holds && one.holds();
      if (options.format == "text") print("{}\n", balance_line(one, recordings[{one.host, one.event}] > 1));
      all.push_back({{"host", one.host},
                     {"recording", one.session},
                     {"event", one.event},
                     {"rows", one.rows},
                     {"twice", one.twice},
                     {"not_rolled_up", one.not_rolled_up},
                     {"purged", one.purged},
                     {"spooled", one.spooled},
                     {"spool_lost", one.spool_lost},
                     {"recorded", one.recorded},
                     {"hits", one.hits},
                     {"accounted", one.accounted},
                     {"exact", one.is_exact},
                     {"checkpoint", one.checkpoint},
                     {"holds", one.holds()}});
    }
  }
  if (options.format == "json") print("{}\n", all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  if (!holds) report.error("the balance does not hold");
  if (seen == 0) report.status("nothing was shipped there that is meant");
  return holds ? kOk : kFailed;
}

int purge(Servers& servers, const FleetOptions& options, const Reporter& report) {
  const auto written = fleet::parse_day(options.before);
  if (!written && !options.older_than) {
    report.error(fmt::format("--before: `{}` is no day; write 2026-11-01", options.before));
    return kUsage;
  }
  const auto purge_of = [&](fleet::Server& server) -> Result<fleet::Purged> {
    KEVT_TRY(fleet::check_schema(server));
    const std::uint32_t day = written ? *written : KEVT_TRY(fleet::days_ago(server, *options.older_than));
    return fleet::purge_before(server, day);
  };
  for (const auto& server : servers) {
    const auto purged = purge_of(*server);
    if (!purged) {
      report.error(purged.error());
      return kFailed;
    }
    report.status(fmt::format("{}: {} records of {} days of tables are gone", server->url(), purged->records,
                              purged->partitions));
  }
  return kOk;
}

}  // namespace

int ask_fleet(const FleetOptions& options, const GlobalOptions& global) {
  const Reporter report(global);
  const auto address = fleet::parse_address(options.address);
  if (!address) {
    report.error(address.error());
    return kUsage;
  }
  using Task = FleetOptions::Task;
  const bool takes_hosts = options.task == Task::Status || options.task == Task::Check || options.task == Task::Hosts ||
                           options.task == Task::Rates || options.task == Task::Clocks;
  if (!address->hosts.empty() && !takes_hosts) {
    report.error(fmt::format(
        "`{}` names hosts, which only status, rates, clocks, check and hosts take (ship --as HOST files records "
        "under another name)",
        options.address));
    return kUsage;
  }
  auto servers = servers_of(*address);
  if (!servers) {
    report.error(servers.error());
    return kFailed;
  }
  switch (options.task) {
    case FleetOptions::Task::Init:
      return make_schemas(*servers, report);
    case FleetOptions::Task::Hosts:
      return list_hosts(*servers, *address, options, report);
    case FleetOptions::Task::Run:
      return give_order(*servers, *address, options, report);
    case FleetOptions::Task::Obey:
      return obey(*servers, options, report);
    case FleetOptions::Task::Ship:
      return ship(*servers, options, report);
    case FleetOptions::Task::Rates:
      return show_rates(options, report);
    case FleetOptions::Task::Clocks:
      return show_clocks(*address, options, report);
    case FleetOptions::Task::Status:
      return list_sessions(*servers, *address, options, report);
    case FleetOptions::Task::Purge:
      return purge(*servers, options, report);
    case FleetOptions::Task::Check:
      return check_balance(*servers, *address, options, report);
  }
  return kUsage;
}

}  // namespace kevt::cli

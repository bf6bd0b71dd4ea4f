// kevtrace fleet: the database, recordings into it, what is there, and whether all of it is.
#include <dirent.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/exit_status.h"
#include "cli/reporter.h"
#include "cli/verbs/commands.h"
#include "common/print.h"
#include "tracefs-compat/fleet/address.h"
#include "tracefs-compat/fleet/balance.h"
#include "tracefs-compat/fleet/catalogue.h"
#include "tracefs-compat/fleet/purge.h"
#include "tracefs-compat/fleet/server.h"
#include "tracefs-compat/fleet/shipper.h"
#include "tracefs-compat/record/problems.h"

namespace kevt::cli {
namespace {

using Servers = std::vector<std::unique_ptr<fleet::Server>>;

Result<Servers> servers_of(const fleet::Address& address) {
  const fleet::HttpKeys keys = KEVT_TRY(fleet::read_keys());
  Servers out;
  for (const std::string& url : address.servers)
    out.push_back(std::make_unique<fleet::Server>(KEVT_TRY(fleet::Server::make(url, address.database, keys))));
  return out;
}

int make_schemas(Servers& servers, const Reporter& report) {
  for (const auto& server : servers) {
    if (auto made = fleet::create_schema(*server); !made) {
      report.error(made.error());
      return kFailed;
    }
    report.status(
        fmt::format("{} has database {}, schema {}", server->url(), server->database(), fleet::kSchemaVersion));
  }
  return kOk;
}

// ---- shipping -------------------------------------------------------------------------------

volatile sig_atomic_t is_ended = 0;
void end_following(int) { is_ended = 1; }

bool is_folder(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// A folder stands for its recordings.
std::vector<std::string> recordings_of(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const std::string& word : words) {
    DIR* folder = opendir(word.c_str());
    if (folder == nullptr) {
      out.push_back(word);
      continue;
    }
    std::set<std::string> names;
    while (const dirent* entry = readdir(folder))
      if (const std::string name = entry->d_name; name.ends_with(".dat")) names.insert(word + "/" + name);
    closedir(folder);
    out.insert(out.end(), names.begin(), names.end());
  }
  return out;
}

class Shipping {
 public:
  Shipping(Servers& servers, const FleetOptions& options, const Reporter& report)
      : servers_(servers), options_(options), report_(report) {}

  // Each file once. Returns whether all of it could be shipped, as far as it is there.
  bool round() {
    bool all = true;
    // A folder may get more of them.
    is_whole_ = std::ranges::none_of(options_.files, [](const std::string& one) { return is_folder(one); });
    for (const std::string& path : recordings_of(options_.files))
      if (!is_ended) all = ship(path) && all;
    return all;
  }
  bool is_whole() const { return is_whole_; }

 private:
  // What tells that nothing has come since.
  using Stamp = std::tuple<dev_t, ino_t, std::int64_t, std::int64_t>;
  static Stamp stamp_of(const std::string& path) {
    struct stat status = {};
    if (stat(path.c_str(), &status) < 0) return {};
    return {status.st_dev, status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  }

  bool ship(const std::string& path) {
    const Stamp now = stamp_of(path);
    if (const auto done = done_.find(path); done != done_.end() && done->second.stamp == now) {
      is_whole_ = is_whole_ && done->second.is_whole;
      return true;
    }
    fleet::Shipper shipper(servers_, path, options_.host);
    const auto shipped = shipper.ship();
    if (!shipped) {
      const bool is_none = shipped.error().errno_value() == ENOTSUP;  // a copy, which stays one
      if (is_none) done_[path] = {now, true};
      is_whole_ = is_whole_ && is_none;
      tell(path, shipped.error().message());
      return false;
    }
    is_whole_ = is_whole_ && shipped->is_whole;
    for (const std::string& problem : shipped->problems) tell(path, path + ": " + problem);
    if (shipped->problems.empty()) told_.erase(path);
    if (!shipped->is_held_back) done_[path] = {now, shipped->is_whole};
    if (shipped->sent_now || shipped->is_whole || !options_.follow)
      report_.status(fmt::format("{}: {} records shipped as {}, {} of {} are there{}", path, shipped->sent_now,
                                 shipper.host(), shipped->rows, shipped->in_recording,
                                 shipped->is_whole ? "" : "; the recording is not finished"));
    return true;
  }

  // Once, as long as it stays so; numbers in it may change.
  void tell(const std::string& path, const std::string& message) {
    std::string words = message;
    std::erase_if(words, [](char c) { return c >= '0' && c <= '9'; });
    if (!told_[path].insert(words).second) return;
    report_.error(message);
  }

  Servers& servers_;
  const FleetOptions& options_;
  const Reporter& report_;
  struct Done {
    Stamp stamp;
    bool is_whole = false;
  };
  std::map<std::string, std::set<std::string>> told_;  // by path
  std::map<std::string, Done> done_;                   // by path
  bool is_whole_ = true;
};

int ship(Servers& servers, const FleetOptions& options, const Reporter& report) {
  constexpr std::int64_t kShortestNs = 500'000'000, kLongestNs = 30'000'000'000;
  struct sigaction action = {};
  action.sa_handler = &end_following;
  if (options.follow)
    for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
  Shipping shipping(servers, options, report);
  bool all = shipping.round();
  for (std::int64_t pause = kShortestNs; options.follow && !is_ended && !(all && shipping.is_whole());
       pause = all ? kShortestNs : std::min(pause * 2, kLongestNs)) {
    const timespec moment = {pause / 1'000'000'000, pause % 1'000'000'000};
    nanosleep(&moment, nullptr);
    if (is_ended) break;
    all = shipping.round();
  }
  return all ? kOk : kFailed;
}

// ---- what is there --------------------------------------------------------------------------

int list_sessions(Servers& servers, const fleet::Address& address, const FleetOptions& options,
                  const Reporter& report) {
  nlohmann::json all = nlohmann::json::array();
  for (const auto& server : servers) {
    auto schema = fleet::check_schema(*server);
    auto sessions = schema ? fleet::find_sessions(*server, address) : std::unexpected(schema.error());
    auto counts = sessions ? fleet::find_counts(*server, address) : std::unexpected(sessions.error());
    if (!counts) {
      report.error(counts.error());
      return kFailed;
    }
    std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> sums;
    for (const fleet::EventCounts& one : *counts) {
      sums[one.session].first += one.in_recording;
      sums[one.session].second += one.shipped;
    }
    for (const fleet::Session& one : *sessions) {
      const auto [in_recording, shipped] = sums[one.id];
      all.push_back({{"host", one.host},
                     {"recording", one.id},
                     {"server", server->url()},
                     {"records", in_recording},
                     {"shipped", shipped},
                     {"finished", one.is_whole},
                     {"first_ns", one.first_ns},
                     {"last_ns", one.last_ns},
                     {"checkpoint_ns", one.checkpoint}});
    }
  }
  if (options.format == "json") {
    print("{}\n", all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return kOk;
  }
  const auto time = [](std::int64_t ns) { return ns ? fleet::utc_text(ns) : std::string("-"); };
  print("{:<24} {:<8} {:>12} {:>12} {:<19} {:<19} {}\n", "HOST", "RECORDING", "RECORDS", "SHIPPED", "FIRST (UTC)",
        "LAST (UTC)", "STATE");
  for (const auto& one : all)
    print("{:<24} {:<8} {:>12} {:>12} {:<19} {:<19} {}\n", record::words_of_file(one["host"].get<std::string>()),
          record::words_of_file(one["recording"].get<std::string>().substr(0, 8)), one["records"].get<std::uint64_t>(),
          one["shipped"].get<std::uint64_t>(), time(one["first_ns"].get<std::int64_t>()),
          time(one["last_ns"].get<std::int64_t>()), one["finished"].get<bool>() ? "finished" : "goes on");
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
  const auto day = fleet::parse_day(options.before);
  if (!day) {
    report.error(fmt::format("--before: `{}` is no day; write 2026-11-01", options.before));
    return kUsage;
  }
  for (const auto& server : servers) {
    auto schema = fleet::check_schema(*server);
    auto purged = schema ? fleet::purge_before(*server, *day) : std::unexpected(schema.error());
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
  const bool takes_hosts = options.task == Task::Status || options.task == Task::Check;
  if (!address->hosts.empty() && !takes_hosts) {
    report.error(fmt::format(
        "`{}` names hosts, which only status and check take (ship --as HOST files records under another name)",
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
    case FleetOptions::Task::Ship:
      return ship(*servers, options, report);
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

#include "cli/fleet/ship.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/exit_status.h"
#include "common/clock.h"
#include "common/regular_file.h"
#include "common/writer_lock.h"
#include "runtime-user/session/interrupts.h"
#include "tracefs-compat/fleet/address.h"
#include "tracefs-compat/fleet/balance.h"
#include "tracefs-compat/fleet/shipper.h"

namespace kevt::cli {
namespace {

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
    const std::vector<std::string> recordings = recordings_of(options_.files);
    const auto was_removed = [&recordings](const auto& one) {
      return std::ranges::find(recordings, one.first) == recordings.end();
    };
    std::erase_if(shippers_, was_removed);
    std::erase_if(done_, was_removed);
    std::erase_if(told_, was_removed);
    for (const std::string& path : recordings)
      if (!session::is_interrupted()) all = ship(path) && remove_if_old(path) && all;
    return all;
  }
  bool is_whole() const { return is_whole_; }

 private:
  // What tells that nothing has come since.
  struct Stamp {
    dev_t device = 0;
    ino_t inode = 0;
    std::int64_t changed_ns = 0;  // since 1970
    bool operator==(const Stamp&) const = default;
  };
  struct Done {
    Stamp stamp = {};
    bool is_whole = false, has_writer = false;
    std::string host = {}, id = {};  // the id: of a recording that may be removed
    std::uint64_t records = 0;       // of it
  };

  static Stamp stamp_of(const std::string& path) {
    struct stat status = {};
    if (stat(path.c_str(), &status) < 0) return {};
    return {status.st_dev, status.st_ino, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec};
  }

  // Whether its writer has ended since it was shipped: then it is finished as it is.
  static bool is_over(const std::string& path, const Done& done) {
    if (!done.has_writer) return false;
    const auto file = open_regular(path);
    return file && !has_writer_lock(file->get());
  }

  bool ship(const std::string& path) {
    const Stamp now = stamp_of(path);
    if (const auto done = done_.find(path);
        done != done_.end() && done->second.stamp == now && !is_over(path, done->second)) {
      is_whole_ = is_whole_ && done->second.is_whole;
      return true;
    }
    auto& shipper = shippers_[path];
    if (!shipper) shipper = std::make_unique<fleet::Shipper>(servers_, path, options_.host);
    const auto shipped = shipper->ship(&session::is_interrupted);
    const std::string host = shipper->host(), id = shipper->id();
    if (!shipped || shipped->is_whole) shippers_.erase(path);
    if (!shipped) return fail(path, now, shipped.error());
    is_whole_ = is_whole_ && shipped->is_whole;
    for (const std::string& problem : shipped->problems) tell(path, path + ": " + problem);
    if (shipped->problems.empty()) told_.erase(path);
    if (!shipped->is_held_back) {
      Done& done = done_[path] = {.stamp = now};
      done.is_whole = shipped->is_whole;
      done.has_writer = shipped->has_writer;
      done.host = host;
      if (shipped->is_whole && shipped->problems.empty()) done.id = id;
      done.records = shipped->rows;
    }
    if (shipped->sent_now || shipped->is_whole || !options_.follow)
      report_.status(fmt::format("{}: {} records shipped as {}, {} of {} are there{}", path, shipped->sent_now, host,
                                 shipped->rows, shipped->in_recording,
                                 shipped->is_whole ? "" : "; the recording is not finished"));
    return true;
  }

  bool fail(const std::string& path, const Stamp& now, const Error& error) {
    if (error.errno_value() == ECANCELED) return true;    // what is left stays in the recording
    const bool is_none = error.errno_value() == ENOTSUP;  // a copy, which stays one
    if (is_none) done_[path] = {.stamp = now, .is_whole = true};
    is_whole_ = is_whole_ && is_none;
    tell(path, error.message());
    return false;
  }

  // What the database had when it was shipped is counted there again before the file goes.
  bool remove_if_old(const std::string& path) {
    const auto done = done_.find(path);
    if (!options_.remove_after || done == done_.end() || done->second.id.empty()) return true;
    const Done& one = done->second;
    if (static_cast<double>(utc_ns() - one.stamp.changed_ns) < *options_.remove_after * 1e9) {
      is_whole_ = false;  // it is waited for
      return true;
    }
    fleet::Server& server = *servers_[fleet::shard_of(one.host, servers_.size())];
    const auto there = fleet::count_records(
        server, {.servers = {}, .database = server.database(), .hosts = one.host, .session = one.id});
    if (!there) return fail(path, one.stamp, there.error());
    if (*there != one.records) {
      tell(path, fmt::format("{}: it stays, since the database has not all of its records any more", path));
      return false;
    }
    if (stamp_of(path) != one.stamp) return true;  // another file by now
    if (unlink(path.c_str()) < 0) return fail(path, one.stamp, Error::from_errno("removing " + path));
    report_.status(fmt::format("{}: removed; its {} records are in the database", path, one.records));
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
  std::map<std::string, std::unique_ptr<fleet::Shipper>> shippers_;  // by path, of recordings that grow
  std::map<std::string, std::set<std::string>> told_;                // by path
  std::map<std::string, Done> done_;                                 // by path
  bool is_whole_ = true;
};

// A signal ends the wait.
void wait_uninterrupted(double seconds) {
  const auto whole = static_cast<time_t>(seconds);
  const timespec moment = {whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
  nanosleep(&moment, nullptr);
}

}  // namespace

int ship(Servers& servers, const FleetOptions& options, const Reporter& report) {
  constexpr double kLongestS = 30;
  const double every = options.every;
  if (options.follow) {
    session::catch_interrupts();
    for (const auto& server : servers) server->limit({.most_s = 0, .is_stopped = &session::is_interrupted});
  }
  Shipping shipping(servers, options, report);
  bool all = shipping.round();
  for (double pause = every; options.follow && !session::is_interrupted() && !(all && shipping.is_whole());
       pause = all ? every : std::min(pause * 2, std::max(every, kLongestS))) {
    wait_uninterrupted(pause);
    if (session::is_interrupted()) break;
    all = shipping.round();
  }
  return all ? kOk : kFailed;
}

}  // namespace kevt::cli

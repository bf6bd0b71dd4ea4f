#include "cli/fleet/ship.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "cli/exit_status.h"
#include "runtime-user/session/interrupts.h"
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
    std::erase_if(shippers_, [&recordings](const auto& one) {
      return std::ranges::find(recordings, one.first) == recordings.end();  // it was removed
    });
    for (const std::string& path : recordings)
      if (!session::is_interrupted()) all = ship(path) && all;
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
    auto& shipper = shippers_[path];
    if (!shipper) shipper = std::make_unique<fleet::Shipper>(servers_, path, options_.host);
    const auto shipped = shipper->ship();
    const std::string host = shipper->host();
    if (!shipped || shipped->is_whole) shippers_.erase(path);
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
      report_.status(fmt::format("{}: {} records shipped as {}, {} of {} are there{}", path, shipped->sent_now, host,
                                 shipped->rows, shipped->in_recording,
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
  if (options.follow) session::catch_interrupts();
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

#include "cli/complete/running_words.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "common/proc.h"
#include "common/process_choice.h"

namespace kevt::cli {
namespace {

// Calls take(entry) for each entry of a folder that can be read.
template <typename Take>
void each_entry(const std::string& folder, Take take) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) take(*at);
}

}  // namespace

std::vector<Candidate> process_words() {
  std::vector<Candidate> words;
  for (const pid_t pid : proc::chosen_processes({})) words.push_back({std::to_string(pid), proc::comm(pid)});
  return words;
}

std::set<std::string> comm_words() {
  std::set<std::string> words;
  for (const pid_t pid : proc::chosen_processes({})) words.insert(proc::comm(pid));
  words.erase("");
  return words;
}

std::set<std::string> container_words() {
  std::set<std::string> words;
  for (const pid_t pid : proc::chosen_processes({})) words.insert(proc::container_of(pid));
  words.erase("");
  return words;
}

std::set<std::string> cgroup_words(std::string_view typed) {
  const std::string folder = typed.contains('/') ? std::string(typed.substr(0, typed.rfind('/') + 1)) : "/";
  std::set<std::string> words;
  each_entry("/sys/fs/cgroup" + folder, [&](const std::filesystem::directory_entry& entry) {
    std::error_code ignored;
    if (entry.is_directory(ignored)) words.insert(folder + std::string(entry.path().filename()));
  });
  return words;
}

std::set<std::string> program_words(std::string_view typed) {
  std::set<std::string> words;
  if (typed.empty() || typed.contains('/')) return words;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    each_entry(folder, [&](const std::filesystem::directory_entry& entry) {
      const std::string name = entry.path().filename();
      if (name.starts_with(typed) && ::access(entry.path().c_str(), X_OK) == 0) words.insert(name);
    });
  return words;
}

}  // namespace kevt::cli

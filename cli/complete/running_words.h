// Words that name what runs on this machine, and what could.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/asked_word.h"

namespace kevt::cli {

std::vector<Candidate> process_words();  // ids of the processes that could be traced, with their names
std::set<std::string> comm_words();
std::set<std::string> container_words();
// Control groups beside and in what is typed, a path below /sys/fs/cgroup.
std::set<std::string> cgroup_words(std::string_view typed);
// Programs in PATH that begin with what is typed; none where nothing is, or a path.
std::set<std::string> program_words(std::string_view typed);

}  // namespace kevt::cli

// Files that are part of kevtrace and stand apart from the program.
#pragma once

#include <expected>
#include <string>

namespace kevt {

// The path of `name` beside the program, in ../lib/kevtrace or in ../lib; else the last place where it was looked for,
// empty where the program's own folder is not known.
std::expected<std::string, std::string> installed_file(const std::string& name);

}  // namespace kevt

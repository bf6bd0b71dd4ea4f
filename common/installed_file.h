// Files that are part of kevtrace and stand apart from the program.
#pragma once

#include <expected>
#include <optional>
#include <string>

namespace kevt {

// The path of `name` in ../lib or ../lib/kevtrace of the program's folder, or beside the program. The error is the last
// place that was tried; empty where the program's own folder is not known.
std::expected<std::string, std::string> installed_file(const std::string& name);
// The folder of the documentation's pages: ../share/doc/kevtrace/docs of the program's folder, or docs/ of the sources
// that the program was built in. nullopt: there is none.
std::optional<std::string> documentation_folder();

}  // namespace kevt

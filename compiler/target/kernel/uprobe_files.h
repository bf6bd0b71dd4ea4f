// Files of this machine that uprobes of its kernel stand in: TargetEnv's questions about a path.
#pragma once

#include <expected>
#include <string_view>
#include <vector>

#include "compiler/target/line_places.h"
#include "compiler/target/target_env.h"

namespace kevt::target::uprobe_files {

FileStatus status(std::string_view path);
std::expected<std::vector<UsdtSite>, LookupError> markers(std::string_view path, std::string_view provider,
                                                          std::string_view name);
std::expected<LinePlaces, LookupError> lines(const LineQuestion& question);
std::expected<ListedSource, LookupError> list_lines(const LinesWanted& wanted);

}  // namespace kevt::target::uprobe_files

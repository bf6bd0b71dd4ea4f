// `kevtrace check --fix`: files rewritten with the fix-its of their mistakes.
#pragma once

#include <span>
#include <string>

#include "common/error.h"
#include "compiler/diag/report.h"

namespace kevt::cli {

struct FixedText {
  std::string text;
  std::vector<const diag::Located*> applied;
};
// Applies the fix-its of `mistakes` that belong to `origin`; of two that overlap the first one found.
FixedText apply_fixes(std::string text, const std::string& origin, std::span<const diag::Located> mistakes);

// Replaces a file's content in one step: whoever reads it sees the old text or the new one. Keeps its mode and owner.
Result<void> replace_file(const std::string& name, const std::string& text);

// The same, or makes it.
Result<void> write_file(const std::string& name, const std::string& text);

// At most 64 MiB. "-": standard input.
Result<std::string> read_whole(const std::string& name);

}  // namespace kevt::cli

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
// Applies the fix-its of those `mistakes` that belong to `origin`; where two overlap, the first one found.
FixedText apply_fixes(std::string text, const std::string& origin, std::span<const diag::Located> mistakes);

// Replaces a file's content atomically: a reader sees the old text or the new one. Keeps the file's mode and owner.
Result<void> replace_file(const std::string& name, const std::string& text);

// As replace_file(), but makes the file if it does not exist.
Result<void> write_file(const std::string& name, const std::string& text);

// Reads a file of at most 64 MiB. "-": standard input.
Result<std::string> read_whole(const std::string& name);

}  // namespace kevt::cli

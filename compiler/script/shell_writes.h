// What a command of a shell file writes to a file: echo, printf, cat and tee with redirections.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "compiler/script/shell_commands.h"

namespace kevt::script {

using Words = std::span<const ShellWord>;

// A text that is written to a file.
struct Write {
  std::string text;
  std::optional<std::string> unknown;  // a variable in `text` whose value is not known
  const ShellWord* file = nullptr;
  RedirectKind mode = RedirectKind::Truncate;
  int line = 1;
};

// `after`: the command behind a pipe, which may be `tee FILE`; or nullptr. nullopt: the command writes no known text.
std::optional<Write> write_of(const ShellCommand& command, const ShellCommand* after);

// The words of a command without `sudo` and its like in front.
Words without_sudo(const ShellCommand& command);

}  // namespace kevt::script

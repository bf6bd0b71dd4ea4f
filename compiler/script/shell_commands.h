// Shell text cut into simple commands: words, redirections, here-documents. Nothing is ever executed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kevt::script {

struct ShellWord {
  std::string text;  // without quotes; variables that were assigned before are replaced
  // The first `$NAME`, `$(…)` or `…` whose value is not known; `text` has it as written.
  std::optional<std::string> unknown;
  bool is_quoted = false;  // whether any part of the word is quoted
};

enum class RedirectKind : std::uint8_t { Truncate, Append, HereDocument, Other };
struct ShellRedirect {
  RedirectKind kind = RedirectKind::Other;
  int descriptor = 1;
  ShellWord target;  // the file; for a here-document its text
};

enum class AfterCommand : std::uint8_t { End, Pipe };
struct ShellCommand {
  int line = 1;  // where it begins, 1-based
  std::vector<ShellWord> words;
  std::vector<ShellRedirect> redirects;
  AfterCommand after = AfterCommand::End;
  std::optional<std::string> comment;  // a comment line, with its '#'; then the command has nothing else
  std::string broken;                  // what was not understood: "a quote is not closed"; or empty
};

// In the order of the text. Assignments (`T=/sys/kernel/tracing`) are commands, too, and are followed.
std::vector<ShellCommand> read_shell(std::string_view text);

}  // namespace kevt::script

// Shell completions and the manual page, made from the same tables as --help.
#pragma once

#include <string>
#include <string_view>

#include "cli/options/asked_word.h"

namespace CLI {
class App;
}

namespace kevt::cli {

struct ShellWords {
  std::string shell;  // of `completion`; empty: `line` is to be completed
  AskedLine line;
  std::string verb;  // of `manual`; empty: the program
};
// Adds the verbs `completion` and `manual`. To be called after all other verbs were added.
void add_shell_texts(CLI::App& app, ShellWords& words);
// The text that the given one of these verbs prints.
std::string shell_text(const CLI::App& app, const ShellWords& words);

enum class Shell : unsigned char { Bash, Zsh, Fish };

// A script for the shell, which asks `kevtrace completion --before`.
std::string_view completion_script(Shell shell);

// A manual page in man(7) of `verb`; nullptr: of the whole program.
std::string manual_page(const CLI::App& app, const CLI::App* verb);

}  // namespace kevt::cli

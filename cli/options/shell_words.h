// What shells and man(1) need to know of the command line, made from the same tables as --help.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace kevt::cli {

struct ShellWords {
  std::string shell;  // of `completion`
  std::string verb;   // of `manual`; empty: the program
};
// The verbs `completion` and `manual`; after all others.
void add_shell_texts(CLI::App& app, ShellWords& words);
// What the one of them that was asked for prints.
std::string shell_text(const CLI::App& app, const ShellWords& words);

enum class Shell : unsigned char { Bash, Zsh, Fish };

// A script of the shell's that completes verbs, options and names of files.
std::string completion_script(const CLI::App& app, Shell shell);

// A page in the language of man(7); `verb` nullptr: of the program.
std::string manual_page(const CLI::App& app, const CLI::App* verb);

}  // namespace kevt::cli

// What the verbs' command lines have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace kevt::cli {

// The end of a verb's help.
inline void add_footer(CLI::App& verb, const std::string& text) {
  verb.footer(text + "\n\nEvery verb also takes --color, --escape, --diagnostics and -q: `kevtrace --help`");
}

}  // namespace kevt::cli

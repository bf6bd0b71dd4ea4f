// What the verbs' command lines have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace kevt::cli {

// The end of a verb's help.
inline void add_footer(CLI::App& verb, const std::string& text) {
  verb.footer(text + "\n\nEvery verb also takes --color, --escape, --diagnostics and -q: `kevtrace --help`");
}

struct RunOptions;

// What is traced: definitions, scripts, filters, triggers, the kernel's own events, injections.
void add_definitions(CLI::App& verb, RunOptions& run);

}  // namespace kevt::cli

// `kevtrace help WORD`: the help of a verb, or a page of the documentation; and what a misspelt option was meant to be.
#pragma once

#include <expected>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace kevt::cli {

// Adds the verb `help`; `word` is what help is wanted on, empty: the program.
void add_help(CLI::App& app, std::string& word);
// The text to print. The error says which verbs and pages there are.
std::expected<std::string, std::string> help_text(const CLI::App& app, const std::string& word);

// The option of `verb`, or of every verb, that is written most like `word` ("--fitler"); nullopt: none is near.
std::optional<std::string> nearest_option(const CLI::App& app, const CLI::App* verb, const std::string& word);

}  // namespace kevt::cli

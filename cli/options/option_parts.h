// What the verbs' command lines have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kevt::cli {

// The group of options that a verb shares with `run`: its help names them, and `kevtrace run --help` tells of them.
inline constexpr const char* kOptionsOfRun = "as of `kevtrace run`, whose --help tells of them";

// Help as CLI11 makes it, but for that group.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    if (group != kOptionsOfRun) return CLI::Formatter::make_group(std::move(group), is_positional, std::move(options));
    constexpr std::size_t kColumns = 100;
    std::string text = "Also, " + group + ":\n", line = " ";
    for (const CLI::Option* option : options) {
      const std::string name = " --" + option->get_lnames().front();
      if (line.size() + name.size() > kColumns) {
        text += line + '\n';
        line = " ";
      }
      line += name;
    }
    return text + line + '\n';
  }
};

// Adds the end of a verb's help.
inline void add_footer(CLI::App& verb, const std::string& text) {
  verb.footer(text + "\n\nEvery verb also takes --color, --escape, --diagnostics and -q: `kevtrace --help`");
}

// The name of validators that accept one of a few words, and what is between a wrong word and these in their answer.
inline constexpr const char* kOneOf = "one of";
inline constexpr std::string_view kNoneOf = "` is none of ", kBetweenWords = ", ";

// Accepts one of these words, and turns it into the text that stands beside it.
inline CLI::Validator one_of(std::vector<std::pair<std::string, std::string>> words) {
  return CLI::Validator(
      [words = std::move(words)](std::string& value) {
        std::string all;
        for (const auto& [word, meaning] : words) {
          if (value == word) {
            value = meaning;
            return std::string();
          }
          all.append(all.empty() ? "" : kBetweenWords).append(word);
        }
        return std::string("`").append(value).append(kNoneOf).append(all);
      },
      "", kOneOf);
}

// Accepts only one of these words.
inline CLI::Validator member(const std::vector<std::string>& words) {
  std::vector<std::pair<std::string, std::string>> same;
  for (const std::string& word : words) same.emplace_back(word, word);
  return one_of(std::move(same));
}

// Accepts one of a few words, and turns it into the enum's number, which CLI11 can read.
template <class Enum>
CLI::Validator choice(const std::vector<std::pair<std::string, Enum>>& words) {
  std::vector<std::pair<std::string, std::string>> numbers;
  for (const auto& [word, meaning] : words) numbers.emplace_back(word, std::to_string(static_cast<int>(meaning)));
  return one_of(std::move(numbers));
}

// Accepts only a positive number; `what` completes the message "… is not a positive number".
inline CLI::Validator positive(std::string what) {
  return CLI::Validator(
      [what = std::move(what)](std::string& value) {
        char* end = nullptr;
        const double number = std::strtod(value.c_str(), &end);
        const bool good = !value.empty() && *end == '\0' && number > 0 && number < 1e15;
        return good ? std::string() : "`" + value + "` is not " + what;
      },
      "");
}

struct RunOptions;

// Adds the options that say what is traced: definitions, scripts, filters, triggers, kernel events, injections.
void add_definitions(CLI::App& verb, RunOptions& run);

// --with-kernel[=RUNTIME].
void add_with_kernel(CLI::App& verb, RunOptions& run);

// -B, --instance: options behind it belong to this instance. Call take_instances() after parsing.
void add_instances(CLI::App& verb, RunOptions& run);
void take_instances(const CLI::App& verb, RunOptions& run);

}  // namespace kevt::cli

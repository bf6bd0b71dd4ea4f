// Reads a command line that is not finished: words are taken as CLI11 will take them, and nothing is a mistake.
#include "cli/options/asked_word.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "cli/options/option_parts.h"
#include "grammar/parse_script.h"

namespace kevt::cli {
namespace {

constexpr std::string_view kBlanksAndEnds = " \t\n";

std::string name_of(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name();
  return option.get_lnames().empty() ? option.get_name() : option.get_lnames().front();
}

// The words that the option alone accepts; empty: it accepts others, too.
std::vector<Candidate> accepted_words(CLI::Option& option) {
  try {
    std::string none;
    const std::string answer = (*option.get_validator(kOneOf))(none);
    std::vector<Candidate> words;
    for (std::size_t at = answer.find(kNoneOf); at != std::string::npos;) {
      at += words.empty() ? kNoneOf.size() : kBetweenWords.size();
      const std::size_t end = answer.find(kBetweenWords, at);
      words.push_back({answer.substr(at, end - at), ""});
      at = end;
    }
    return words;
  } catch (const CLI::OptionNotFound&) {
    return {};
  }
}

// The words of a line with the cursor in the one at `at`, of which `typed` is before the cursor.
struct Words {
  std::vector<std::string> all;
  std::size_t at = 0;
  std::string typed;
};

// The last characters of a text in UTF-8.
std::string_view last_characters(std::string_view text, std::size_t count) {
  const auto is_inside = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; };
  std::size_t begin = text.size();
  for (; count > 0 && begin > 0; --count) do
      --begin;
    while (begin > 0 && is_inside(text[begin]));
  return text.substr(begin);
}

// What is behind the cursor's word. A quote that is open at the cursor is closed there; if it is not, whoever types has
// not come to it yet.
std::string_view behind_word(std::string_view behind, char open_quote) {
  const std::size_t close = open_quote ? behind.find(open_quote) : std::string_view::npos;
  if (close != std::string_view::npos) behind.remove_prefix(close + 1);
  return behind.substr(std::min(behind.find_first_of(kBlanksAndEnds), behind.size()));
}

Words split_line(const AskedLine& line) {
  const grammar::QuotedWords before = grammar::split_quoted(line.before);
  Words words{.all = before.words, .at = 0, .typed = ""};
  const bool is_new = !before.open_quote && (line.before.empty() || kBlanksAndEnds.contains(line.before.back()));
  if (is_new || words.all.empty()) words.all.emplace_back();
  words.at = words.all.size() - 1;
  words.typed = words.all.back();
  const char quote = before.open_quote ? line.before[*before.open_quote] : '\0';
  for (std::string& word : grammar::split_quoted(behind_word(line.behind, quote)).words)
    words.all.push_back(std::move(word));
  return words;
}

class LineReader {
 public:
  LineReader(CLI::App& app, const Words& words) : app_(app), words_(words) {
    asked_.typed = words.typed;
    for (const CLI::App* verb : app_.get_subcommands([](const CLI::App*) { return true; }))
      asked_.verbs.push_back({verb->get_name(), verb->get_description()});
  }

  AskedWord read() {
    for (std::size_t i = 1; i < words_.all.size(); ++i) take(i);
    if (asked_.value_of.empty() && !is_value_) add_names();
    return std::move(asked_);
  }

 private:
  bool is_asked(std::size_t i) const { return i == words_.at; }

  void take(std::size_t i) {
    const std::string& word = words_.all[i];
    if (is_command_) return take_command(i);
    if (wants_value_) return take_value(*std::exchange(wants_value_, nullptr), i, word);
    if (word == "--" && !is_asked(i)) {
      is_command_ = true;
    } else if (word.starts_with('-') && word != "-") {
      take_option(i);
    } else if (!verb_) {
      if (is_asked(i)) return;
      for (CLI::App* verb : app_.get_subcommands([&](CLI::App* one) { return one->get_name() == word; })) verb_ = verb;
      if (!verb_) is_value_ = true;  // of nobody knows what
      asked_.verb = word;
    } else {
      take_positional(i);
    }
  }

  void take_option(std::size_t i) {
    const std::string& word = words_.all[i];
    const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    CLI::Option* option = option_named(word.substr(0, equals));
    if (equals != std::string::npos) {
      if (is_asked(i) && words_.typed.size() > equals) {
        asked_.lead = word.substr(0, equals + 1);
        asked_.typed = words_.typed.substr(equals + 1);
        is_value_ = true;  // also of an option that nobody knows
      }
      if (option) take_value(*option, i, word.substr(equals + 1));
    } else if (option && !is_asked(i)) {
      if (option->get_items_expected_min() > 0)
        wants_value_ = option;
      else
        asked_.values.emplace(name_of(*option), "");
    }
  }

  void take_value(CLI::Option& option, std::size_t i, const std::string& value) {
    if (!is_asked(i)) {
      asked_.values.emplace(name_of(option), value);
      return;
    }
    is_value_ = true;
    asked_.value_of = name_of(option);
    asked_.words = accepted_words(option);
  }

  // The verb's positionals in their order; the last one takes all that follow.
  void take_positional(std::size_t i) {
    std::vector<CLI::Option*> places;
    for (CLI::Option* option : verb_->get_options())
      if (option->get_positional() && option->get_name() != "CMD") places.push_back(option);
    if (places.empty()) return;
    take_value(*places[std::min(positionals_++, places.size() - 1)], i, words_.all[i]);
  }

  void take_command(std::size_t i) {
    if (is_asked(i)) {
      asked_.value_of = asked_.command.empty() ? "CMD" : "ARGUMENT";
      is_value_ = true;
    } else {
      asked_.command.push_back(words_.all[i]);
    }
  }

  CLI::Option* option_named(const std::string& name) const {
    for (CLI::App* app : {verb_, &app_})
      if (CLI::Option* option = app ? app->get_option_no_throw(name) : nullptr) return option;
    return nullptr;
  }

  void add_names() {
    const auto add = [&](const std::string& text, const std::string& note) {
      const auto is_there = [&](const Candidate& one) { return one.text == text; };
      if (std::ranges::none_of(asked_.words, is_there)) asked_.words.push_back({text, note});
    };
    if (!verb_ && !asked_.typed.starts_with('-')) asked_.words = asked_.verbs;
    if (!verb_ && !asked_.typed.starts_with('-')) return;
    for (const CLI::App* app : {verb_, &app_})
      for (const CLI::Option* option : app ? app->get_options() : std::vector<const CLI::Option*>())
        for (const std::string& name : option->get_positional() || option->get_group().empty()
                                           ? std::vector<std::string>()
                                           : option->get_lnames())
          add("--" + name, option->get_description());
  }

  CLI::App& app_;
  const Words& words_;
  AskedWord asked_;
  CLI::App* verb_ = nullptr;
  CLI::Option* wants_value_ = nullptr;
  std::size_t positionals_ = 0;
  bool is_command_ = false, is_value_ = false;
};

}  // namespace

std::vector<std::string> AskedWord::values_named(const std::string& name) const {
  std::vector<std::string> found;
  for (auto [at, end] = values.equal_range(name); at != end; ++at) found.push_back(at->second);
  return found;
}

AskedWord asked_word(CLI::App& app, const AskedLine& line) {
  const Words words = split_line(line);
  AskedWord asked = LineReader(app, words).read();
  if (!line.replaced) return asked;
  const std::string_view replaced = last_characters(line.before, *line.replaced);
  const auto unquoted = grammar::split_quoted(replaced).words;
  const std::string last =
      unquoted.empty() || replaced.find_first_not_of(":=") == std::string_view::npos ? "" : unquoted.back();
  const std::string whole = asked.lead + asked.typed;
  if (whole.ends_with(last)) asked.kept = whole.size() - last.size();
  return asked;
}

}  // namespace kevt::cli

// The word of a command line that a shell wants completed, by the tables of --help.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace kevt::cli {

struct Candidate {
  std::string text;
  std::string note;  // what it is; or empty
};

struct AskedWord {
  std::string typed;     // of the word, up to the cursor; of `--option=value` the value
  std::string lead;      // before it: "--option="
  std::size_t kept = 0;  // bytes of lead and candidate that stay as they are; the shell replaces what is behind them
  // Whose value the word is: an option by its long name ("event"), a positional as --help has it ("FILE"), "CMD": a
  // program, "ARGUMENT": of that program. Empty: the word is a verb or the name of an option.
  std::string value_of;
  std::vector<Candidate> words;  // verbs, names of options, or the words that the option takes
  std::vector<Candidate> verbs;  // all there are
  // What else the line says.
  std::string verb;
  std::multimap<std::string, std::string> values;  // by long name, or positional
  std::vector<std::string> command;                // behind --

  std::vector<std::string> values_named(const std::string& name) const;
};

// A line of a shell, cut at the cursor.
struct AskedLine {
  std::string before, behind;
  // How many characters before the cursor the shell will replace: bash begins a word behind each `:` and `=`, too, and
  // takes these for words. nullopt: the whole word.
  std::optional<std::size_t> replaced;
};

AskedWord asked_word(CLI::App& app, const AskedLine& line);

}  // namespace kevt::cli

// The text of the editor, judged by the compiler: mistakes at their columns, and what is right.
#pragma once

#include <QString>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/target/target_env.h"

namespace kevt::gui {

// Columns are QString positions within the line; lines count from 0.
struct TextFix {
  int begin = 0, end = 0;
  QString replacement;
  QString label;  // "write `%di` for `%rdi`"
};
struct Mistake {
  int line = 0, begin = 0, end = 0;
  QString text;  // the kernel's
  QString id;    // "BAD_REG_NAME"; empty: a mistake of our own making
  QString help;  // ours, lines
  std::vector<TextFix> fixes;
};
struct RightLine {
  int line = 0;
  QString group, event;
  QString listing;      // as dynamic_events would have it
  QString written_out;  // the same without names of arguments and members; empty: it has none
  QString inlay;        // the C names and types of what its arguments read; empty: nobody knows
  QString format;       // the format file, with id 0
  QString filter;       // of a script; empty: none
  std::vector<QString> triggers;
  bool is_on = true;
};
struct CheckedText {
  std::vector<Mistake> mistakes;  // by line, then column
  std::vector<RightLine> right;
  QString trouble;  // what of the target could not be read; empty: nothing
  qint64 took_us = 0;
};

// Lines that were parsed already: of a text that is typed in, all but one. Used by one thread at a time.
class ParsedLines {
 public:
  ParsedLines();
  ~ParsedLines();
  struct Entry;
  // Parses it, or knows it.
  const Entry& of(const std::string& line);

 private:
  static constexpr std::size_t kMost = 4096;
  std::unordered_map<std::string, std::unique_ptr<Entry>> lines_;
};

// Without an environment places are not looked up; without `parsed` every line is parsed.
CheckedText checkDefinitions(const QString& text, const target::TargetEnv* env, ParsedLines* parsed = nullptr);

// The text with one line's fix carried out.
QString withFix(const QString& text, int line, const TextFix& fix);

}  // namespace kevt::gui

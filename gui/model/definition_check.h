// The editor's text, checked by the compiler: mistakes with their columns, and the correct lines.
#pragma once

#include <QString>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/target/kernel/place_sides.h"
#include "compiler/target/target_env.h"

namespace kevt::gui {

// Columns are QString positions within the line; lines count from 0.
struct TextFix {
  int begin = 0, end = 0;
  QString replacement;
  QString label;  // "write `%di` for `%rdi`"
};
struct Mistake {
  int line = 0, begin = 0, end = 0;  // begin: where the kernel's caret is
  int word = 0;                      // where the underline begins, which ends at `end`: the word that `text` names
  QString text;                      // the kernel's
  QString id;                        // "BAD_REG_NAME"; empty: the kernel has no such mistake
  QString help;                      // our advice, lines
  std::vector<TextFix> fixes;
};
struct RightLine {
  int line = 0;
  QString group, event;
  QString listing;  // as dynamic_events would have it: a line for each probe
  QString
      written_out;  // for kernels: without the names of arguments and members, and without short forms; may be empty
  QString inlay;    // C names and types of its arguments; empty: unknown
  QString format;   // the format file, with id 0
  QString filter;   // of a script; empty: none
  std::vector<QString> triggers;
  bool is_on = true;
};
struct CheckedText {
  std::vector<Mistake> mistakes;  // by line, then column
  std::vector<RightLine> right;
  QString trouble;  // what could not be read of the target; empty: nothing
  qint64 took_us = 0;
};

// A cache of parsed lines: between two keystrokes all lines but one are the same. Used by one thread at a time.
class ParsedLines {
 public:
  ParsedLines();
  ~ParsedLines();
  struct Entry;
  // Parses the line unless it is in the cache.
  const Entry& of(const std::string& line);

 private:
  static constexpr std::size_t kMost = 4096;
  std::unordered_map<std::string, std::unique_ptr<Entry>> lines_;
};

// `env` nullptr: places are not looked up. `parsed` nullptr: every line is parsed. `sides`: places of the kernel, which
// is traced beside the target, are not looked up; nullptr: it is not.
CheckedText checkDefinitions(const QString& text, const target::TargetEnv* env, ParsedLines* parsed = nullptr,
                             const target::PlaceSides* sides = nullptr);

// The text after applying the fix to one line.
QString withFix(const QString& text, int line, const TextFix& fix);

}  // namespace kevt::gui

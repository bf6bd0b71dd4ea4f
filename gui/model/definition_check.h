// The text of the editor, judged by the compiler: mistakes at their columns, and what is right.
#pragma once

#include <QString>
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
  QString listing;  // as dynamic_events would have it
  QString format;   // the format file, with id 0
  QString filter;   // of a script; empty: none
  std::vector<QString> triggers;
  bool is_on = true;
};
struct CheckedText {
  std::vector<Mistake> mistakes;  // by line, then column
  std::vector<RightLine> right;
  qint64 took_us = 0;
};

// Without an environment places are not looked up.
CheckedText checkDefinitions(const QString& text, const target::TargetEnv* env);

// The text with one line's fix carried out.
QString withFix(const QString& text, int line, const TextFix& fix);

}  // namespace kevt::gui

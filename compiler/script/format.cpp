// Event scripts, laid out.
//
//   p:a   f   x=%di:u8#why            p:a f x=%di:u8  # why
//   filter x>3                   →      filter x>3
//
// Problem: layout must never change what a line means. Idea: only blanks that the line's own parser ignores are
// changed: definitions are words to the kernel; filters and triggers keep text in quotes; targets keep escaped blanks,
// too. A comment line is indented like the line below it. Not here: order, and mistakes.
#include "compiler/script/format.h"

#include "grammar/parse_definition_text.h"
#include "grammar/parse_script.h"

namespace kevt::script {
namespace {

using grammar::Escapes;
using grammar::squeeze_blanks;
using model::is_attached;
using model::ScriptLine;
using model::ScriptWord;

std::string statement(const ScriptLine& line) {
  const std::string_view body = line.body_text();
  switch (line.word) {
    case ScriptWord::Nothing:
      return "";
    case ScriptWord::Definition:
      return grammar::Words(body).command();
    case ScriptWord::Target:
      return "target " + squeeze_blanks(body, Escapes::Backslash);
    case ScriptWord::Option:
      return "option " + squeeze_blanks(body, Escapes::Backslash);
    case ScriptWord::Instance:
      return "instance " + squeeze_blanks(body, Escapes::Backslash);
    case ScriptWord::Event:
      return "event " + std::string(body);
    case ScriptWord::Filter:
      return "  filter " + squeeze_blanks(body, Escapes::None);
    case ScriptWord::Trigger:
      return "  trigger " + squeeze_blanks(body, Escapes::None);
    case ScriptWord::Inject:
      return "  inject " + squeeze_blanks(body, Escapes::None);
    case ScriptWord::Enable:
      return "  enable " + std::string(body);
  }
  return "";
}

// `#x` gets a blank; `#!`, `##` and `#` alone stay.
std::string comment(std::string_view text) {
  const bool plain = text.size() > 1 && text[1] != ' ' && text[1] != '#' && text[1] != '!' && text[1] != '\t';
  return plain ? "# " + std::string(text.substr(1)) : std::string(text);
}

std::string one_line(const std::vector<ScriptLine>& lines, std::size_t index) {
  const ScriptLine& line = lines[index];
  if (line.word == ScriptWord::Nothing) {
    if (line.comment_text().empty()) return "";
    std::size_t next = index;
    while (next < lines.size() && lines[next].word == ScriptWord::Nothing && !lines[next].comment_text().empty())
      ++next;
    const bool indented = next < lines.size() && is_attached(lines[next].word);
    return (indented ? "  " : "") + comment(line.comment_text());
  }
  std::string text = statement(line);
  if (!line.comment_text().empty()) text += "  " + comment(line.comment_text());
  return text;
}

}  // namespace

std::string format_script(const model::Script& script) {
  std::string out;
  bool gap = false;
  for (std::size_t i = 0; i < script.lines.size(); ++i) {
    const std::string text = one_line(script.lines, i);
    if (text.empty()) {
      gap = !out.empty();
      continue;
    }
    if (gap) out += '\n';
    gap = false;
    out += text + "\n";
  }
  return out;
}

}  // namespace kevt::script

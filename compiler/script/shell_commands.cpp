// A reader of shell text, as far as files that set up events go.
//
//   T=/sys/kernel/tracing                     words {"T=/sys/kernel/tracing"}
//   echo 'p:a f $retval' >> $T/kprobe_events  words {"echo", "p:a f $retval"}, Append
//   "/sys/kernel/tracing/kprobe_events"
//
// Problem: what a shell writes depends on quotes, variables, continued lines and here-documents. Idea: POSIX quoting
// rules, and variables that were assigned plain text before. Values that only a running shell knows (`$(…)`,
// arithmetic, unset variables) are marked unknown, and the caller refuses them.
// Not here: pathname expansion, what commands mean, and control flow: `if`, `do`, `}` are words like others.
#include "compiler/script/shell_commands.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

namespace kevt::script {
namespace {

bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_name_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

struct PendingHereDocument {
  std::size_t command;
  std::size_t redirect;
  std::string end;
  bool strips_tabs;
  bool is_quoted;
};

class CommandReader {
 public:
  explicit CommandReader(std::string_view text) : text_(text) {}

  std::vector<ShellCommand> read() {
    while (at_ < text_.size()) step();
    finish();
    return std::move(commands_);
  }

 private:
  char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  char next() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\0'; }
  bool at_end() const { return at_ >= text_.size(); }
  char take() {
    if (text_[at_] == '\n') ++line_;
    return text_[at_++];
  }
  void step();
  void newline();
  void read_comment();
  void read_operator();
  bool read_redirect();
  void read_redirect_target(ShellRedirect redirect);
  void read_here_documents();
  ShellWord read_word();
  void read_single_quoted(ShellWord& word);
  void read_double_quoted(ShellWord& word);
  void read_dollar(ShellWord& word);
  void read_substitution(ShellWord& word, char open, char close);
  void read_backquoted(ShellWord& word);
  void read_escape(ShellWord& word);
  void put_variable(ShellWord& word, const std::string& name, std::string_view written);
  std::string expanded(std::string_view text, std::optional<std::string>& unknown) const;
  void begin_command();
  void finish(AfterCommand after = AfterCommand::End);
  void remember_assignments();

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool inside_ = false;  // a command
  std::vector<ShellCommand> commands_;
  std::vector<PendingHereDocument> here_;
  std::map<std::string, std::string, std::less<>> variables_;
};

void CommandReader::begin_command() {
  if (inside_) return;
  commands_.push_back({.line = line_});
  inside_ = true;
}

void CommandReader::finish(AfterCommand after) {
  if (!inside_) return;
  commands_.back().after = after;
  inside_ = false;
  remember_assignments();
}

// Remembers assignments: a command of NAME=TEXT words only, or such words behind `export` and its like.
void CommandReader::remember_assignments() {
  const std::vector<ShellWord>& words = commands_.back().words;
  const auto is_assignment = [](const ShellWord& word) {
    const std::size_t equals = word.text.find('=');
    return equals != std::string::npos && equals > 0 && is_name_start(word.text[0]) &&
           std::all_of(word.text.begin(), word.text.begin() + static_cast<std::ptrdiff_t>(equals), is_name_part);
  };
  const bool declares = !words.empty() && (words[0].text == "export" || words[0].text == "readonly" ||
                                           words[0].text == "local" || words[0].text == "declare");
  const bool only = !words.empty() && std::ranges::all_of(words, is_assignment);
  if (!declares && !only) return;
  for (const ShellWord& word : words) {
    if (!is_assignment(word)) continue;
    const std::size_t equals = word.text.find('=');
    const std::string name = word.text.substr(0, equals);
    if (word.unknown)
      variables_.erase(name);
    else
      variables_[name] = word.text.substr(equals + 1);
  }
}

void CommandReader::step() {
  const char c = here();
  if (c == '\n') return newline();
  if (c == '\\' && next() == '\n') {
    take();
    take();
  } else if (std::isspace(static_cast<unsigned char>(c)) || c == '\0') {
    take();
  } else if (c == '#') {
    read_comment();
  } else if (std::string_view(";&|()").contains(c) && !(c == '&' && next() == '>')) {
    read_operator();
  } else if (!read_redirect()) {
    begin_command();
    commands_.back().words.push_back(read_word());
  }
}

void CommandReader::newline() {
  finish();
  take();
  read_here_documents();
}

void CommandReader::read_comment() {
  const std::size_t end = std::min(text_.find('\n', at_), text_.size());
  std::string comment(text_.substr(at_, end - at_));
  while (comment.ends_with('\r') || comment.ends_with(' ')) comment.pop_back();
  at_ = end;
  if (!inside_) commands_.push_back({.line = line_, .comment = std::move(comment)});
}

void CommandReader::read_operator() {
  const char c = take();
  if (c == '(' || c == ')') {
    finish();
    begin_command();
    commands_.back().words.push_back({.text = std::string(1, c)});
    return finish();
  }
  const bool twice = here() == c;
  if (twice) take();
  if (c == '|' && here() == '&') take();
  finish(c == '|' && !twice ? AfterCommand::Pipe : AfterCommand::End);
}

// [N]>FILE, [N]>>FILE, >|FILE, &>FILE, <FILE, <<END, N>&M.
bool CommandReader::read_redirect() {
  std::size_t at = at_;
  while (at < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at]))) ++at;
  const bool both = at == at_ && here() == '&' && next() == '>';
  if (both) ++at;
  if (at >= text_.size() || (text_[at] != '>' && text_[at] != '<')) return false;
  begin_command();
  const bool input = text_[at] == '<';
  ShellRedirect redirect{.descriptor = at > at_ && !both ? text_[at_] - '0' : (input ? 0 : 1)};
  at_ = at + 1;
  if (!input) {
    redirect.kind = RedirectKind::Truncate;
    if (here() == '>') {
      redirect.kind = RedirectKind::Append;
      take();
    } else if (here() == '|') {
      take();
    }
  } else if (here() == '<') {
    take();
    redirect.kind = here() == '<' ? RedirectKind::Other : RedirectKind::HereDocument;
    if (here() == '<') take();
  }
  if (here() == '&') {
    take();
    redirect.kind = RedirectKind::Other;
  }
  read_redirect_target(std::move(redirect));
  return true;
}

void CommandReader::read_redirect_target(ShellRedirect redirect) {
  const bool strips = redirect.kind == RedirectKind::HereDocument && here() == '-';
  if (strips) take();
  while (here() == ' ' || here() == '\t') take();
  redirect.target = read_word();
  ShellCommand& command = commands_.back();
  command.redirects.push_back(std::move(redirect));
  const ShellRedirect& made = command.redirects.back();
  if (made.kind != RedirectKind::HereDocument) return;
  here_.push_back(
      {commands_.size() - 1, command.redirects.size() - 1, made.target.text, strips, made.target.is_quoted});
}

void CommandReader::read_here_documents() {
  for (const PendingHereDocument& document : std::exchange(here_, {})) {
    std::string body;
    bool found = false;
    while (!at_end() && !found) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      std::string_view one = text_.substr(at_, end - at_);
      at_ = std::min(end + 1, text_.size());
      ++line_;
      while (document.strips_tabs && one.starts_with('\t')) one.remove_prefix(1);
      if (one.ends_with('\r')) one.remove_suffix(1);
      found = one == document.end;
      if (!found) body += std::string(one) + "\n";
    }
    ShellCommand& command = commands_[document.command];
    if (!found) command.broken = "the here-document does not end";
    ShellWord& word = command.redirects[document.redirect].target;
    word.unknown.reset();
    word.text = document.is_quoted ? body : expanded(body, word.unknown);
  }
}

// Variables in the text of a here-document.
std::string CommandReader::expanded(std::string_view text, std::optional<std::string>& unknown) const {
  CommandReader inner(text);
  inner.variables_ = variables_;
  ShellWord word;
  while (!inner.at_end()) {
    const char c = inner.here();
    if (c == '$') {
      inner.read_dollar(word);
    } else if (c == '`') {
      inner.read_backquoted(word);
    } else if (c == '\\' && std::string_view("$`\\").contains(inner.next()) && inner.next() != '\0') {
      inner.take();
      word.text += inner.take();
    } else {
      word.text += inner.take();
    }
  }
  unknown = std::move(word.unknown);
  return std::move(word.text);
}

ShellWord CommandReader::read_word() {
  ShellWord word;
  while (!at_end()) {
    const char c = here();
    if (std::isspace(static_cast<unsigned char>(c)) || std::string_view(";&|()<>").contains(c)) break;
    if (c == '\'') {
      read_single_quoted(word);
    } else if (c == '"') {
      read_double_quoted(word);
    } else if (c == '\\') {
      read_escape(word);
    } else if (c == '$') {
      read_dollar(word);
    } else if (c == '`') {
      read_backquoted(word);
    } else {
      word.text += take();
    }
  }
  return word;
}

void CommandReader::read_escape(ShellWord& word) {
  take();
  if (at_end()) return;
  const char c = take();
  word.is_quoted = true;
  if (c != '\n') word.text += c;
}

void CommandReader::read_single_quoted(ShellWord& word) {
  take();
  word.is_quoted = true;
  while (!at_end() && here() != '\'') word.text += take();
  if (at_end())
    commands_.back().broken = "a quote is not closed";
  else
    take();
}

void CommandReader::read_double_quoted(ShellWord& word) {
  take();
  word.is_quoted = true;
  while (!at_end() && here() != '"') {
    if (here() == '$') {
      read_dollar(word);
    } else if (here() == '`') {
      read_backquoted(word);
    } else if (here() == '\\' && std::string_view("$`\"\\\n").contains(next()) && next() != '\0') {
      take();
      const char c = take();
      if (c != '\n') word.text += c;
    } else {
      word.text += take();
    }
  }
  if (at_end())
    commands_.back().broken = "a quote is not closed";
  else
    take();
}

void CommandReader::put_variable(ShellWord& word, const std::string& name, std::string_view written) {
  constexpr std::size_t kLongest = 64 * 1024;  // more than any line of a tracing file
  const auto known = variables_.find(name);
  if (known != variables_.end() && word.text.size() + known->second.size() <= kLongest) {
    word.text += known->second;
    return;
  }
  word.text += written;
  if (!word.unknown) word.unknown = std::string(written);
}

void CommandReader::read_dollar(ShellWord& word) {
  const std::size_t begin = at_;
  take();
  if (here() == '(') return read_substitution(word, '(', ')');
  if (here() == '{') {
    std::size_t end = at_ + 1;
    while (end < text_.size() && is_name_part(text_[end])) ++end;
    const std::string name(text_.substr(at_ + 1, end - at_ - 1));
    if (end >= text_.size() || text_[end] != '}') return read_substitution(word, '{', '}');
    at_ = end + 1;
    return put_variable(word, name, text_.substr(begin, at_ - begin));
  }
  if (is_name_start(here())) {
    while (!at_end() && is_name_part(here())) take();
  } else if (std::isdigit(static_cast<unsigned char>(here())) || std::string_view("@*#?$!-").contains(here())) {
    if (!at_end()) take();
  } else {
    word.text += '$';
    return;
  }
  put_variable(word, std::string(text_.substr(begin + 1, at_ - begin - 1)), text_.substr(begin, at_ - begin));
}

// $( … ) and ${ … }, as written; at the opening bracket.
void CommandReader::read_substitution(ShellWord& word, char open, char close) {
  const std::size_t begin = at_;
  int depth = 0;
  do {
    const char c = take();
    if (c == open) ++depth;
    if (c == close) --depth;
  } while (depth > 0 && !at_end());
  const std::string written = "$" + std::string(text_.substr(begin, at_ - begin));
  word.text += written;
  if (!word.unknown) word.unknown = written;
}

void CommandReader::read_backquoted(ShellWord& word) {
  const std::size_t begin = at_;
  take();
  while (!at_end() && here() != '`') take();
  if (!at_end()) take();
  const std::string written(text_.substr(begin, at_ - begin));
  word.text += written;
  if (!word.unknown) word.unknown = written;
}

}  // namespace

std::vector<ShellCommand> read_shell(std::string_view text) { return CommandReader(text).read(); }

}  // namespace kevt::script

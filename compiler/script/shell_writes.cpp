#include "compiler/script/shell_writes.h"

#include <utility>

#include "compiler/script/shell_words.h"

namespace kevt::script {
namespace {

// `\n` and its like, as echo -e and printf read them.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (text[i] == '\\' && (next == 'n' || next == 't' || next == '\\')) {
      out += next == 'n' ? '\n' : next == 't' ? '\t' : '\\';
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

struct Printed {
  std::string text;
  std::optional<std::string> unknown;
};
// What echo or printf prints; nullopt: neither, or a format with conversions.
std::optional<Printed> echoed(Words words) {
  if (words.empty() || (words[0].text != "echo" && words[0].text != "printf")) return std::nullopt;
  const bool is_echo = words[0].text == "echo";
  bool escapes = !is_echo;
  words = words.subspan(1);
  while (is_echo && !words.empty() && !words[0].is_quoted && words[0].text.size() > 1 && words[0].text[0] == '-' &&
         words[0].text.find_first_not_of("neE", 1) == std::string::npos) {
    escapes = escapes || words[0].text.contains('e');
    words = words.subspan(1);
  }
  if (!is_echo && (words.size() != 1 || words[0].text.contains('%'))) return std::nullopt;
  Printed out;
  for (const ShellWord& word : words) {
    out.text += (&word == words.data() ? "" : " ") + word.text;
    if (!out.unknown) out.unknown = word.unknown;
  }
  if (escapes) out.text = unescaped(out.text);
  return out;
}

}  // namespace

Words without_sudo(const ShellCommand& command) {
  Words words(command.words);
  while (!words.empty() &&
         (words[0].text == "sudo" || words[0].text == "command" || words[0].text == "exec" ||
          words[0].text == "builtin" || (words[0].text.starts_with('-') && &words[0] != command.words.data())))
    words = words.subspan(1);
  return words;
}

std::optional<Write> write_of(const ShellCommand& command, const ShellCommand* after) {
  const Words words = without_sudo(command);
  Write write{.line = command.line};
  std::optional<Printed> text = echoed(words);
  const ShellRedirect* file = nullptr;
  for (const ShellRedirect& redirect : command.redirects) {
    if (redirect.kind == RedirectKind::HereDocument && !words.empty() &&
        (words[0].text == "cat" || words[0].text == "tee"))
      text = {redirect.target.text, redirect.target.unknown};
    const bool writes = redirect.kind == RedirectKind::Truncate || redirect.kind == RedirectKind::Append;
    if (writes && redirect.descriptor == 1 && redirect.target.text != "/dev/null") file = &redirect;
  }
  const bool empty = words.empty() || words[0].text == ":" || words[0].text == "true" ||
                     (words.size() == 2 && words[0].text == "cat" && words[1].text == "/dev/null");
  if (!text && empty) text.emplace();
  if (!text) return std::nullopt;
  write.text = std::move(text->text);
  write.unknown = std::move(text->unknown);
  if (file != nullptr) {
    write.file = &file->target;
    write.mode = file->kind;
    return write;
  }
  if (after == nullptr && (words.empty() || words[0].text != "tee")) return std::nullopt;
  Words tee = after != nullptr ? without_sudo(*after) : words;
  if (tee.empty() || tee[0].text != "tee") return std::nullopt;
  for (const ShellWord& word : tee.subspan(1)) {
    if (word.text == "-a" || word.text == "--append")
      write.mode = RedirectKind::Append;
    else
      write.file = &word;
  }
  return write.file != nullptr ? std::optional(write) : std::nullopt;
}

}  // namespace kevt::script

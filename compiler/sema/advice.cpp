// What was meant: near names and fix-its for mistakes whose place says enough.
//
//   %rdi        →  "`%rdi` is `%di` here", write `%di`          +0(%di:u8  →  insert `)`
//   %di:u23     →  "`u32` is near it", write `u32`              $retvl     →  write `$retval`
//
// Problem: the kernel says what is wrong, seldom what is right. Idea: look at the text at the diagnostic's column once
// more. A fix-it is added only if the user can have meant one thing alone; several possibilities become a note.
// Not here: near names of functions, which the rules that look up functions add.
#include "compiler/sema/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "compiler/target/near_misses.h"
#include "compiler/target/target_env.h"
#include "grammar/parse_definition_text.h"

namespace kevt::sema {
namespace {

using diag::Kind;

struct Alias {
  std::string_view written;
  std::string_view meant;
};

constexpr Alias kRegisterAliases[] = {
    {"rax", "ax"}, {"eax", "ax"}, {"rbx", "bx"}, {"ebx", "bx"},       {"rcx", "cx"},       {"ecx", "cx"}, {"rdx", "dx"},
    {"edx", "dx"}, {"rdi", "di"}, {"edi", "di"}, {"rsi", "si"},       {"esi", "si"},       {"rbp", "bp"}, {"ebp", "bp"},
    {"rsp", "sp"}, {"esp", "sp"}, {"rip", "ip"}, {"rflags", "flags"}, {"eflags", "flags"}, {"r8d", "r8"}, {"r9d", "r9"},
};

constexpr Alias kItemAliases[] = {{"hex", "x8"}};
constexpr Alias kTypeAliases[] = {
    {"int", "s32"},      {"long", "s64"},     {"short", "s16"},    {"uint", "u32"},       {"ulong", "u64"},
    {"ushort", "u16"},   {"size_t", "u64"},   {"ssize_t", "s64"},  {"pid_t", "s32"},      {"bool", "u8"},
    {"int8_t", "s8"},    {"int16_t", "s16"},  {"int32_t", "s32"},  {"int64_t", "s64"},    {"uint8_t", "u8"},
    {"uint16_t", "u16"}, {"uint32_t", "u32"}, {"uint64_t", "u64"}, {"hex", "x64"},        {"ptr", "x64"},
    {"pointer", "x64"},  {"str", "string"},   {"char*", "string"}, {"cstring", "string"},
};

constexpr std::string_view kTypes[] = {
#define KEVT_TYPE(name, ...) name,
#include "compiler/model/type.def"
#undef KEVT_TYPE
};
constexpr std::string_view kVariables[] = {"retval", "stack", "comm", "current"};

// Text from `begin` up to one of `stops`.
std::string_view token(std::string_view text, std::size_t begin, std::string_view stops) {
  if (begin > text.size()) return {};
  return text.substr(begin, text.find_first_of(stops, begin) - begin);
}

// The names closest to a misspelt one, if they are within two edits (one for short names).
std::vector<std::string_view> nearest(std::string_view wanted, const std::vector<std::string_view>& names) {
  constexpr std::size_t kShort = 4;
  unsigned best = wanted.size() < kShort ? 1 : 2;
  std::vector<std::string_view> found;
  for (const std::string_view name : names) {
    const unsigned distance = target::edit_distance(wanted, name, best);
    if (distance > best) continue;
    if (distance < best) found.clear();
    best = distance;
    found.push_back(name);
  }
  return found;
}

class Adviser {
 public:
  explicit Adviser(diag::Diagnostic& diagnostic) : diagnostic_(diagnostic), text_(diagnostic.command) {}

  void advise() {
    if (diagnostic_.kind == Kind::BadDeletion) return fix_deletion();
    if (!diagnostic_.column || *diagnostic_.column > text_.size() + 1) return;
    at_ = *diagnostic_.column;
    advise_at();
  }

 private:
  void advise_at();

  void insert(std::size_t at, std::string text) { replace(at, at, std::move(text)); }
  void replace(std::size_t begin, std::size_t end, std::string text) {
    diagnostic_.fixits.push_back({.begin = static_cast<std::uint32_t>(begin),
                                  .end = static_cast<std::uint32_t>(end),
                                  .replacement = std::move(text)});
  }
  void note(std::string text) { diagnostic_.notes.insert(diagnostic_.notes.begin(), {std::move(text)}); }

  // Offers the names nearest to `wanted`, which stands at `begin`; `sigil` is written before each name.
  void offer(std::size_t begin, std::string_view wanted, std::string_view sigil,
             const std::vector<std::string_view>& names) {
    const std::vector<std::string_view> near = nearest(wanted, names);
    // A name that exists was refused for another reason, for instance by an older kernel.
    if (near.empty() || near[0] == wanted) return;
    std::string list;
    for (const std::string_view name : near) list += fmt::format("{}`{}{}`", list.empty() ? "" : ", ", sigil, name);
    note(fmt::format("near it: {}", list));
    constexpr std::size_t kTellingBytes = 3;  // a shorter name is near to too many others
    if (near.size() == 1 && wanted.size() >= kTellingBytes)
      replace(begin - sigil.size(), begin + wanted.size(), std::string(sigil) + std::string(near[0]));
  }
  bool use_alias(std::size_t begin, std::string_view wanted, std::string_view sigil, std::span<const Alias> aliases) {
    const auto found = std::ranges::find(aliases, wanted, &Alias::written);
    if (found == aliases.end()) return false;
    note(fmt::format("`{0}{1}` is `{0}{2}` here", sigil, wanted, found->meant));
    replace(begin - sigil.size(), begin + wanted.size(), std::string(sigil) + std::string(found->meant));
    return true;
  }

  void fix_register() {
    const std::string_view name = token(text_, at_ + 1, "): ");
    if (!use_alias(at_ + 1, name, "%", kRegisterAliases)) offer(at_ + 1, name, "%", target::register_names());
  }
  void fix_type() {
    const std::string_view name = token(text_, at_, "[ ");
    if (name.contains('(') || name.contains(')')) return;  // a length, whose type is a number's
    const bool is_array = at_ + name.size() < text_.size() && text_[at_ + name.size()] == '[';
    if (is_array && use_alias(at_, name, "", kItemAliases)) return;
    if (!use_alias(at_, name, "", kTypeAliases)) offer(at_, name, "", {std::begin(kTypes), std::end(kTypes)});
  }
  void fix_variable() {
    const std::string_view name = token(text_, at_ + 1, "): ->");
    offer(at_ + 1, name, "$", {std::begin(kVariables), std::end(kVariables)});
  }
  // The argument's operand: behind its first '=', up to its first ':'.
  void close_parentheses() {
    std::size_t begin = text_.rfind(' ', std::min(at_, text_.size()) - 1) + 1;
    const std::string_view word = token(text_, begin, " ");
    if (const std::size_t equals = word.find('='); equals != std::string_view::npos) begin += equals + 1;
    const std::string_view operand = token(text_, begin, ": ");
    const auto missing = std::ranges::count(operand, '(') - std::ranges::count(operand, ')');
    if (missing > 0) insert(begin + operand.size(), std::string(static_cast<std::size_t>(missing), ')'));
  }
  void fix_dereference() {
    if (at_ + 1 < text_.size() && text_[at_ + 1] == '(') insert(at_ + 1, "0");
  }
  void fix_argument() {
    const std::string_view word = token(text_, at_, " ");
    const std::string_view digits = word.substr(0, word.find('('));
    const bool number = grammar::parse_unsigned(digits, grammar::kAutoBase).error == 0;
    if (number && digits.size() < word.size()) return insert(at_, "+");
    if (number) return note(fmt::format("a number is written `\\{0}`, the memory at an address `@{0}`", digits));
    const std::string_view name = token(text_, at_, "): ");
    if (target::register_offset(name)) note(fmt::format("the register is `%{}`", name));
    if (std::ranges::find(kVariables, name) != std::end(kVariables)) note(fmt::format("the variable is `${}`", name));
  }
  void fix_suffix() {
    constexpr std::string_view kReturn = "%return";
    const std::string_view suffix = token(text_, at_, " ");
    if (target::edit_distance(suffix, kReturn, 2) <= 2) replace(at_, at_ + suffix.size(), std::string(kReturn));
  }
  // The text begins with a place instead of a kind: `open64`, `libc:open64 …`.
  void fix_event() {
    const std::string_view word = token(text_, 0, " ");
    const std::string_view head = token(word, 0, ":");
    const bool is_kind = head.size() == 1 || (head.starts_with('r') &&
                                              head.substr(1).find_first_not_of("0123456789") == std::string_view::npos);
    if (word.empty() || is_kind) return;
    diagnostic_.notes.clear();
    note(fmt::format("the kind of event comes first: `p {0}` at the function's entry, `r {0}` at its return", word));
  }
  void fix_deletion() {
    const std::string_view head = token(text_, 0, " ");
    if (head.size() > 1 && head[0] == '-' && !head.contains(':')) insert(1, ":");
  }
  // The kernel's column is one behind the operator.
  void fix_operator() {
    const std::size_t begin = at_ == 0 ? 0 : at_ - 1;
    const std::string_view rest = text_.substr(std::min(begin, text_.size()));
    if (rest.starts_with('=') && !rest.starts_with("==")) insert(begin, "=");
  }

  diag::Diagnostic& diagnostic_;
  std::string_view text_;
  std::size_t at_ = 0;
};

void Adviser::advise_at() {
  switch (diagnostic_.kind) {
    case Kind::BadRegName:
      return fix_register();
    case Kind::BadType:
      return fix_type();
    case Kind::BadVar:
      return fix_variable();
    case Kind::DerefOpenBrace:
      return close_parentheses();
    case Kind::ArrayNoClose:
      return insert(at_, "]");
    case Kind::ImmstrNoClose:
      return insert(at_, "\"");
    case Kind::BadDerefOffs:
      return fix_dereference();
    case Kind::BadFetchArg:
      return fix_argument();
    case Kind::NoMatch:
      return fix_event();
    case Kind::BadAddrSuffix:
      return fix_suffix();
    case Kind::FilterInvalidOp:
      return fix_operator();
    default:  // all other kinds, some 200: there is no one thing to do
      return;
  }
}

}  // namespace

void advise(diag::Diagnostic& diagnostic) { Adviser(diagnostic).advise(); }

}  // namespace kevt::sema

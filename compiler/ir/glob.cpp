// The string comparisons of event filters: whole string, prefix, suffix, substring, glob.
//
// The idea of the glob: the pattern becomes a list of items first (any run, one byte of a set), then
// the text is matched with one point to come back to, the last `*`:
//
//   `a*[0-9]?`  →  {a} * {0..9} {any}
//
// A `*` that was passed never has to be tried again once a later `*` was reached, so two cursors are
// enough and the cost is at most pattern × text.
//
// It mirrors lib/glob.c and regex_match_* of kernel/trace/trace_events_filter.c (6.1), except that a
// class never matches the end of the text, where `[!a]` makes 6.1 read past it.
#include "compiler/ir/glob.h"

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/interpreter.h"

namespace kevt::ir {

namespace {

using ByteSet = std::bitset<256>;

std::size_t byte_of(char c) { return static_cast<unsigned char>(c); }

ByteSet only(char c) {
  ByteSet set;
  set.set(byte_of(c));
  return set;
}

void add_range(ByteSet& set, char first, char last) {
  for (std::size_t b = byte_of(first); b <= byte_of(last); ++b) set.set(b);
}

// The class behind the `[` at `at - 1`; moves `at` behind its `]`. nullopt: it is not closed.
std::optional<ByteSet> parse_class(const std::string& pattern, std::size_t& at) {
  std::size_t i = at;
  const auto next = [&]() -> std::optional<char> {
    return i < pattern.size() ? std::optional(pattern[i++]) : std::nullopt;
  };
  const bool inverted = i < pattern.size() && pattern[i] == '!';
  if (inverted) ++i;
  ByteSet set;
  std::optional<char> first = next();  // a `]` here is an ordinary byte
  do {
    if (!first) return std::nullopt;
    char last = *first;
    if (i < pattern.size() && pattern[i] == '-' && !(i + 1 < pattern.size() && pattern[i + 1] == ']')) {
      if (i + 1 >= pattern.size()) return std::nullopt;
      last = pattern[i + 1];
      i += 2;
    }
    add_range(set, *first, last);
    first = next();
  } while (first != ']');
  at = i;
  return inverted ? ~set : set;
}

}  // namespace

std::vector<GlobItem> parse_glob(const std::string& pattern) {
  std::vector<GlobItem> items;
  for (std::size_t i = 0; i < pattern.size();) {
    const char c = pattern[i++];
    if (c == '*') {
      items.push_back({.any_run = true, .bytes = {}});
    } else if (c == '?') {
      items.push_back({.any_run = false, .bytes = ~ByteSet{}});
    } else if (c == '[') {
      items.push_back({.any_run = false, .bytes = parse_class(pattern, i).value_or(only('['))});
    } else if (c != '\\') {
      items.push_back({.any_run = false, .bytes = only(c)});
    } else if (i < pattern.size()) {
      items.push_back({.any_run = false, .bytes = only(pattern[i++])});
    }
  }
  return items;
}

namespace {

bool match_items(const std::vector<GlobItem>& items, std::string_view text) {
  std::size_t item = 0;
  std::size_t at = 0;
  std::optional<std::size_t> star_item;  // the item behind the last `*`
  std::size_t star_at = 0;               // where in the text that item was tried last
  for (;;) {
    if (item < items.size() && items[item].any_run) {
      star_item = ++item;
      star_at = at;
      continue;
    }
    if (item == items.size() && at == text.size()) return true;
    if (item < items.size() && at < text.size() && items[item].bytes[byte_of(text[at])]) {
      ++item;
      ++at;
      continue;
    }
    if (!star_item || star_at >= text.size()) return false;
    item = *star_item;
    at = ++star_at;
  }
}

}  // namespace

bool match_text(model::GlobKind kind, const std::string& pattern, std::string_view text) {
  switch (kind) {
    case model::GlobKind::Full:
      return text == pattern;
    case model::GlobKind::Prefix:
      return text.starts_with(pattern);
    case model::GlobKind::Suffix:
      return text.ends_with(pattern);
    case model::GlobKind::Middle:
      return text.find(pattern) != std::string_view::npos;
    case model::GlobKind::Glob:
      return match_items(parse_glob(pattern), text);
  }
  return false;
}

}  // namespace kevt::ir

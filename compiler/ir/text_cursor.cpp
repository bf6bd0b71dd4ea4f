// Reading tokens of IR text: words, decimal numbers, quoted texts with `\"`, `\\` and `\xHH`.
//
//   v3 = string v2+0     take "v", index 3, expect "=", choice string, expect "v", index 2, +0
//
// It never throws and never reads past the line; the first problem names what stood there.
#include "compiler/ir/text_cursor.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <limits>

namespace kevt::ir {

namespace {

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

void TextCursor::skip_blanks() {
  while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
}

void TextCursor::fail(std::string what) {
  if (problem_.empty()) problem_ = std::move(what);
}

bool TextCursor::take(std::string_view token) {
  if (failed()) return false;
  skip_blanks();
  if (!rest_.starts_with(token)) return false;
  rest_.remove_prefix(token.size());
  return true;
}

void TextCursor::expect(std::string_view token) {
  if (!take(token)) fail(fmt::format("`{}` expected at `{}`", token, rest_.substr(0, 20)));
}

std::size_t TextCursor::choice(std::span<const std::string_view> words, std::string_view what) {
  if (failed()) return 0;
  skip_blanks();
  const auto fits = [this](std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    return !is_word_char(word.back()) || rest_.size() == word.size() || !is_word_char(rest_[word.size()]);
  };
  std::size_t best = words.size();
  for (std::size_t i = 0; i < words.size(); ++i)
    if (fits(words[i]) && (best == words.size() || words[i].size() > words[best].size())) best = i;
  if (best == words.size()) {
    fail(fmt::format("{} expected at `{}`", what, rest_.substr(0, 20)));
    return 0;
  }
  rest_.remove_prefix(words[best].size());
  return best;
}

std::uint64_t TextCursor::bounded_number(std::uint64_t limit) {
  if (failed()) return 0;
  skip_blanks();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
  if (error != std::errc() || number > limit) {
    fail(fmt::format("a number up to {} expected at `{}`", limit, rest_.substr(0, 20)));
    return 0;
  }
  rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  return number;
}

std::uint64_t TextCursor::number() { return bounded_number(std::numeric_limits<std::uint64_t>::max()); }
std::uint8_t TextCursor::small_number() { return static_cast<std::uint8_t>(bounded_number(255)); }
std::uint32_t TextCursor::index() {
  return static_cast<std::uint32_t>(bounded_number(std::numeric_limits<std::uint32_t>::max()));
}

std::int64_t TextCursor::signed_number() {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  if (take("-")) return static_cast<std::int64_t>(0 - bounded_number(kMax + 1));
  take("+");
  return static_cast<std::int64_t>(bounded_number(kMax));
}

// Takes the text behind a backslash, which has been taken already.
char TextCursor::escaped_byte() {
  if (rest_.starts_with('"') || rest_.starts_with('\\')) {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  unsigned byte = 0;
  if (rest_.size() >= 3 && rest_.front() == 'x') {
    const char* begin = rest_.data() + 1;
    const auto [end, error] = std::from_chars(begin, begin + 2, byte, 16);
    if (error == std::errc() && end == begin + 2) {
      rest_.remove_prefix(3);
      return static_cast<char>(byte);
    }
  }
  fail("a text may escape only `\\\"`, `\\\\` and `\\xHH`");
  return 0;
}

std::string TextCursor::quoted_text() {
  std::string text;
  expect("\"");
  while (!failed()) {
    if (rest_.empty()) {
      fail("a text is not closed");
      break;
    }
    const char c = rest_.front();
    rest_.remove_prefix(1);
    if (c == '"') break;
    text += c == '\\' ? escaped_byte() : c;
  }
  return text;
}

void TextCursor::expect_end() {
  skip_blanks();
  if (!rest_.empty()) fail(fmt::format("nothing more expected at `{}`", rest_.substr(0, 20)));
}

}  // namespace kevt::ir

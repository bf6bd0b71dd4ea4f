// One line of IR text, read from left to right. Words are split at blanks; every reader skips the
// blanks before what it reads. The first failure sticks: later reads return defaults.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kevt::ir {

class TextCursor {
 public:
  explicit TextCursor(std::string_view line) : rest_(line) {}

  // Takes `token` if it comes next. Words that may be the beginning of other words are read by choice().
  bool take(std::string_view token);
  void expect(std::string_view token);
  // Takes the longest of `words` that comes next as a whole word, and returns its index.
  std::size_t choice(std::span<const std::string_view> words, std::string_view what);
  std::uint64_t number();        // unsigned decimal
  std::uint8_t small_number();   // at most 255
  std::uint32_t index();         // at most 32 bits
  std::int64_t signed_number();  // decimal, '-' or '+' in front
  std::string quoted_text();
  void expect_end();

  void fail(std::string what);
  bool failed() const { return !problem_.empty(); }
  const std::string& problem() const { return problem_; }

 private:
  void skip_blanks();
  std::uint64_t bounded_number(std::uint64_t limit);
  char escaped_byte();

  std::string_view rest_;
  std::string problem_;
};

}  // namespace kevt::ir

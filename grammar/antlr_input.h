// The input stream of all ANTLR parsers here. Private to this folder: no other folder sees ANTLR.
#pragma once

#include <CharStream.h>

#include <string>
#include <string_view>

namespace kevt::grammar {

// A text as ANTLR reads it: every byte is one character (Latin-1), so columns are bytes and any byte is legal. The text
// must outlive the stream.
class ByteStream final : public antlr4::CharStream {
 public:
  explicit ByteStream(std::string_view text = {}) : text_(text) {}
  // Begins another text.
  void load(std::string_view text) {
    text_ = text;
    at_ = 0;
  }

  void consume() override { ++at_; }
  size_t LA(ssize_t offset) override;
  ssize_t mark() override { return -1; }
  void release(ssize_t) override {}
  size_t index() override { return at_; }
  void seek(size_t index) override { at_ = index < text_.size() ? index : text_.size(); }
  size_t size() override { return text_.size(); }
  std::string getSourceName() const override { return "text"; }
  // The text of the interval, as UTF-8.
  std::string getText(const antlr4::misc::Interval& interval) override;
  std::string toString() const override;

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace kevt::grammar

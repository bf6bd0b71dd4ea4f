// What trace and trace_pipe have in common: lines that become pieces of a read.
#pragma once

#include <cstring>
#include <span>
#include <string>

namespace kevt::tree {

// Text that was made but not yet read.
class Leftover {
 public:
  std::string& text() { return text_; }
  std::size_t size() const { return text_.size() - at_; }
  std::size_t take(std::span<char> out) {
    const std::size_t count = std::min(out.size(), size());
    std::memcpy(out.data(), text_.data() + at_, count);
    at_ += count;
    if (at_ == text_.size()) clear();
    return count;
  }
  void clear() {
    text_.clear();
    at_ = 0;
  }

 private:
  std::string text_;
  std::size_t at_ = 0;
};

}  // namespace kevt::tree

// Texts are made whole at the first read and kept until the file is read from its start again, as the kernel's
// sequential files are by most of their readers. So a reader that reads in pieces never sees half of a change.
#include "tracefs-compat/tree/handle.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

namespace kevt::tree {

namespace {

class TextHandle final : public Handle {
 public:
  explicit TextHandle(TextFile file) : file_(std::move(file)) {}

  Result<std::size_t> read(std::uint64_t offset, std::span<char> out, Waiting) override {
    if (!file_.read) return fails(EINVAL);
    if (offset == 0 || !text_) {
      text_ = KEVT_TRY(file_.read());
    }
    if (offset >= text_->size()) return 0;
    const std::size_t count = std::min<std::size_t>(out.size(), text_->size() - offset);
    std::memcpy(out.data(), text_->data() + offset, count);
    return count;
  }

  Result<std::size_t> write(std::string_view data, const Caller& caller) override {
    if (file_.write_some) return file_.write_some(data);
    if (!file_.write) return fails(EINVAL);
    text_.reset();
    KEVT_TRY(file_.write(data, caller));
    return data.size();
  }

 private:
  TextFile file_;
  std::optional<std::string> text_;
};

}  // namespace

std::unique_ptr<Handle> open_text(TextFile file) { return std::make_unique<TextHandle>(std::move(file)); }

std::unique_ptr<Handle> read_only(std::function<Result<std::string>()> read) {
  return open_text({.read = std::move(read), .write = {}, .write_some = {}});
}

std::string_view stripped(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

Result<std::uint64_t> parse_number(std::string_view text, int base) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.starts_with('+')) text.remove_prefix(1);
  if (base == 0) {
    base = 10;
    if (text.size() > 2 && (text.starts_with("0x") || text.starts_with("0X"))) {
      text.remove_prefix(2);
      base = 16;
    } else if (text.size() > 1 && text.starts_with('0')) {
      base = 8;
    }
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error == std::errc::result_out_of_range) return fails(ERANGE);
  if (error != std::errc() || end != text.data() + text.size()) return fails(EINVAL);
  return value;
}

}  // namespace kevt::tree

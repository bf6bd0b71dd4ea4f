// A hostile file has a problem for every few of its bytes, each with words of its own: neither their number nor their
// length may be the file's to choose.
#include "tracefs-compat/record/problems.h"

#include <fmt/format.h>

namespace kevt::record {
namespace {

constexpr std::size_t kMaxProblemBytes = 400;

}  // namespace

std::string words_of_file(std::string_view text) {
  std::string out(text.substr(0, kMaxProblemBytes));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == '\x7f') c = '?';
  if (text.size() > kMaxProblemBytes) out += " …";
  return out;
}

void Problems::add(std::string_view text) {
  if (texts_.size() < kMaxProblems) {
    texts_.push_back(words_of_file(text));
    return;
  }
  if (more_++ == 0) texts_.emplace_back();
  texts_.back() = fmt::format("… and {} more", more_);
}

}  // namespace kevt::record

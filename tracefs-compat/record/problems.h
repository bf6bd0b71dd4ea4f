// Problems: what could not be read of a recording. The first hundred are kept, the others are counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kevt::record {

inline constexpr std::size_t kMaxProblems = 100;  // of one recording; a damaged file would have one a record

class Problems {
 public:
  // What is long is cut; control characters become '?': the text may hold words of the file.
  void add(std::string_view text);
  // kMaxProblems of them and, where there were more, one that says how many.
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
  std::uint64_t more_ = 0;
};

// Words of a file for a message: cut, without control characters.
std::string words_of_file(std::string_view text);

}  // namespace kevt::record

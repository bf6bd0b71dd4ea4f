// The words of a definition, before it is parsed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace kevt::pipeline {

struct Word {
  std::string_view text;
  std::uint32_t column = 0;  // bytes from the line's beginning
};

inline std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> words;
  for (std::size_t at = line.find_first_not_of(" \t"); at < line.size(); at = line.find_first_not_of(" \t", at)) {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    words.push_back({line.substr(at, end - at), static_cast<std::uint32_t>(at)});
    at = end;
  }
  return words;
}

// The place of a `p` or `r` definition; empty for all others.
inline std::string_view place_in(std::string_view line) {
  constexpr std::string_view kBlanks = " \t";
  const auto skip = [&](std::size_t bytes) { line.remove_prefix(std::min(bytes, line.size())); };
  skip(line.find_first_not_of(kBlanks));
  if (line.empty() || (line[0] != 'p' && line[0] != 'r')) return {};
  skip(line.find_first_of(kBlanks));
  skip(line.find_first_not_of(kBlanks));
  return line.substr(0, line.find_first_of(kBlanks));
}

}  // namespace kevt::pipeline

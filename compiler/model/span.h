// A piece of the user's text: byte columns [begin, end) of one command, 0 = its first byte.
#pragma once

#include <cstdint>

namespace kevt::model {

struct Span {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  friend bool operator==(const Span&, const Span&) = default;
};

}  // namespace kevt::model

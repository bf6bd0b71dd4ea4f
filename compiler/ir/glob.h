// A filter's pattern as a list of items: for all code that matches texts with it.
#pragma once

#include <bitset>
#include <string>
#include <vector>

namespace kevt::ir {

struct GlobItem {
  bool any_run = false;    // `*`
  std::bitset<256> bytes;  // otherwise: the values that one byte may have
};

// `a*[0-9]?`  →  {a} * {0..9} {any}
std::vector<GlobItem> parse_glob(const std::string& pattern);

}  // namespace kevt::ir

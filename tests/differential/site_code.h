// Random machine code with a probe site at its start: prologues, flag users, red zone users, branches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/addresses.h"
#include "tests/support/random_pick.h"

namespace kevt::test {

enum class SiteShape : std::uint8_t {
  Fragment,  // from the middle of a function: leaves by exit 0, 1 or 2
  Function,  // entered with a return address on the stack: leaves by ret
};

// `at` is where the code will stand; 64 bytes at `data` may be read and written. Code ends with enough padding for a
// jump at its start.
std::vector<std::uint8_t> random_site(Random& random, SiteShape shape, RemoteAddr at, RemoteAddr data);

// "55 48 89 e5 …"
std::string hex(const std::vector<std::uint8_t>& bytes);

}  // namespace kevt::test

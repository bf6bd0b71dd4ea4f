// KEVT_ASSERT: for our own bugs. On in every build, never reachable from input.
#pragma once

namespace kevt {
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);
}

#define KEVT_ASSERT(expression) \
  ((expression) ? static_cast<void>(0) : ::kevt::assertion_failed(#expression, __FILE__, __LINE__))

// What /proc tells of a thread.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

namespace kevt::engine {

// The process it belongs to; 0: unknown, it may have ended.
inline std::int32_t tgid_of(std::int32_t tid) {
  std::ifstream status(fmt::format("/proc/{}/status", tid));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("Tgid:")) return static_cast<std::int32_t>(std::atoi(line.c_str() + 5));
  return 0;
}

}  // namespace kevt::engine

// What the names of runtimes mean (runtime.def).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kevt::runtime {

enum class Scope : std::uint8_t { Process, WholeMachine };

struct RuntimeRow {
  std::string_view name;
  Scope scope;
};
inline constexpr std::array kRuntimes = {
#define KEVT_RUNTIME(id, text, what) RuntimeRow{text, Scope::what},
#include "runtime-user/runtime/runtime.def"
#undef KEVT_RUNTIME
};

// False for `auto`, and for a name of no runtime.
inline bool traces_whole_machine(std::string_view name) {
  return std::ranges::any_of(
      kRuntimes, [&](const RuntimeRow& row) { return row.name == name && row.scope == Scope::WholeMachine; });
}

// `auto` first.
inline std::vector<std::string> runtime_names() {
  std::vector<std::string> names = {"auto"};
  for (const RuntimeRow& row : kRuntimes) names.emplace_back(row.name);
  return names;
}

}  // namespace kevt::runtime

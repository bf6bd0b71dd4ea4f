// How many names an enumeration may have that is printed by name.
#pragma once

#include <cstddef>

namespace kevt::model {

inline constexpr std::size_t kMostEnumNames = 512;  // each is in the event's `format`

}  // namespace kevt::model

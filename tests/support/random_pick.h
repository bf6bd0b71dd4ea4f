// Small draws from one generator. The standard distributions differ between libraries; these do not, so a
// seed means the same program everywhere.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace kevt::test {

using Random = std::mt19937_64;

// 0 … bound - 1; bound > 0.
inline std::uint64_t below(Random& random, std::uint64_t bound) { return random() % bound; }

inline bool one_in(Random& random, std::uint64_t n) { return below(random, n) == 0; }

template <class T>
const T& pick(Random& random, const std::vector<T>& from) {
  return from[below(random, from.size())];
}

template <class T>
const T& pick(Random& random, std::span<const T> from) {
  return from[below(random, from.size())];
}

}  // namespace kevt::test

// The seed of a random test: new in each run, printed, and set by KEVT_SEED to repeat one.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace kevt::test {

inline std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 0) : otherwise;
}

inline std::uint64_t test_seed() {
  static const std::uint64_t seed = [] {
    const std::uint64_t chosen = number_from_environment("KEVT_SEED", std::random_device{}());
    std::printf("KEVT_SEED=%llu\n", static_cast<unsigned long long>(chosen));
    return chosen;
  }();
  return seed;
}

}  // namespace kevt::test

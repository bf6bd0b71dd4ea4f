// What a fuzz target offers to its two drivers: libFuzzer, and mutations_test.cpp, which needs no clang.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Traps when the code under test breaks a promise. Returns 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace kevt::fuzz {

// Texts worth changing a little.
std::vector<std::string> seeds();

}  // namespace kevt::fuzz

// The problem: fuzzing needs clang and time; a build should still try odd texts.
//
// The idea: the same entry is fed 50000 texts (fewer where one takes long) made from its seeds by a fixed random
// sequence: bytes changed, left out or doubled, pieces of two seeds joined. The same texts every time, so a failure can
// be repeated. Then a slice of time with texts that are new in every run: KEVT_FUZZ_SECONDS (3; CI takes 30), and
// KEVT_SEED repeats one.
//
// It is compiled once with each fuzz target; what is checked is the target's own.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "tests/fuzz/fuzz_entry.h"

namespace kevt::fuzz {
namespace {

#ifndef KEVT_FUZZ_TEXTS
#define KEVT_FUZZ_TEXTS 50000
#endif
constexpr int kTexts = KEVT_FUZZ_TEXTS;
constexpr unsigned kSeed = 42;

class Mutator {
 public:
  explicit Mutator(std::uint32_t seed) : random_(seed) {}

  std::string next(const std::vector<std::string>& from) {
    std::string text = from[pick(from.size())];
    if (pick(4) == 0) text = text.substr(0, pick(text.size() + 1)) + tail(from[pick(from.size())]);
    for (std::size_t changes = 1 + pick(4); changes > 0; --changes) change(text);
    return text;
  }

 private:
  std::size_t pick(std::size_t count) { return random_() % count; }
  std::string tail(const std::string& text) { return text.substr(pick(text.size() + 1)); }

  char odd_byte() {
    static constexpr char kBytes[] = "()!&|\"'~=<>:,.+-$ \t\n0x9afi\\*?[]@%\xa0\xe9\xff";
    return pick(8) == 0 ? static_cast<char>(pick(256)) : kBytes[pick(sizeof kBytes)];  // the NUL too
  }

  void change(std::string& text) {
    const std::size_t at = pick(text.size() + 1);
    switch (pick(4)) {
      case 0:
        text.insert(at, 1, odd_byte());
        break;
      case 1:
        text.erase(at, pick(4));
        break;
      case 2:
        text.insert(at, text.substr(at, pick(24)));
        break;
      default:
        if (at < text.size()) text[at] = odd_byte();
    }
  }

  std::mt19937 random_;
};

TEST(Mutations, BreakNoPromise) {
  const std::vector<std::string> from = seeds();
  ASSERT_FALSE(from.empty());
  Mutator mutator(kSeed);
  for (int i = 0; i < kTexts; ++i) {
    const std::string text = mutator.next(from);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
}

std::uint32_t number_from(const char* variable, std::uint32_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 0));
}

TEST(Mutations, ASliceOfNewTextsBreaksNoPromise) {
  const std::uint32_t seed = number_from("KEVT_SEED", std::random_device{}());
  const std::chrono::seconds slice(number_from("KEVT_FUZZ_SECONDS", 3));
  std::printf("KEVT_SEED=%u\n", seed);
  std::fflush(stdout);
  const std::vector<std::string> from = seeds();
  Mutator mutator(seed);
  std::uint64_t texts = 0;
  for (const auto end = std::chrono::steady_clock::now() + slice; std::chrono::steady_clock::now() < end;) {
    for (int i = 0; i < 100; ++i, ++texts) {
      const std::string text = mutator.next(from);
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    }
  }
  std::printf("%llu texts\n", static_cast<unsigned long long>(texts));
  EXPECT_GT(texts, 0u);
}

}  // namespace
}  // namespace kevt::fuzz

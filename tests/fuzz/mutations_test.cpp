// The problem: fuzzing needs clang and time; a build should still try odd texts.
//
// The idea: the same entry is fed 50000 texts made from its seeds by a fixed random sequence: bytes changed,
// left out or doubled, pieces of two seeds joined. The same texts every time, so a failure can be repeated.
//
// It is compiled once with each fuzz target; what is checked is the target's own.
#include <gtest/gtest.h>

#include <random>

#include "tests/fuzz/fuzz_entry.h"

namespace kevt::fuzz {
namespace {

constexpr int kTexts = 50000;
constexpr unsigned kSeed = 42;

class Mutator {
 public:
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

  std::mt19937 random_{kSeed};
};

TEST(Mutations, BreakNoPromise) {
  const std::vector<std::string> from = seeds();
  ASSERT_FALSE(from.empty());
  Mutator mutator;
  for (int i = 0; i < kTexts; ++i) {
    const std::string text = mutator.next(from);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
}

}  // namespace
}  // namespace kevt::fuzz

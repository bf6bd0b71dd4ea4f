#include "tracefs-compat/record/symbols.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace kevt::record {
namespace {

constexpr const char* kListing =
    "ffff0300 T late\nffff0100 T first\nffff0100 T alias\nffff0200 t second\t[mod]\nnonsense\nffff0150 A absolute\n";

std::string name_at(const Symbols& symbols, std::uint64_t address) {
  const Symbol* found = symbols.find(address);
  return found ? found->name : "-";
}

TEST(Symbols, OfAListingEndWhereTheNextOneBegins) {
  Symbols symbols;
  symbols.parse_kallsyms(kListing);
  EXPECT_FALSE(symbols.empty());
  EXPECT_EQ(name_at(symbols, 0xffff00ff), "-");
  EXPECT_EQ(name_at(symbols, 0xffff01ff), "first");
  EXPECT_EQ(symbols.find(0xffff0200)->module, "mod");
  EXPECT_EQ(symbols.find(0xffff0200)->size, 0x100u);
  EXPECT_EQ(name_at(symbols, 0xffff0300ull + 0xffff), "late");  // nobody knows where the last one ends
  EXPECT_EQ(name_at(symbols, 0xffff0300ull + 0x10000), "-");
  EXPECT_EQ(symbols.all().size(), 3u);
}

TEST(Symbols, AddedBeforeWinOverAListingAndThoseAddedLaterLose) {
  Symbols symbols;
  symbols.add({.address = 0xffff0200, .size = 0x10, .name = "mine", .module = ""});
  symbols.parse_kallsyms(kListing);
  symbols.add({.address = 0xffff0100, .size = 0x10, .name = "later", .module = ""});
  symbols.add({.address = 0xffff0280, .size = 0x10, .name = "between", .module = ""});
  EXPECT_EQ(name_at(symbols, 0xffff0205), "mine");
  EXPECT_EQ(name_at(symbols, 0xffff0220), "-");
  EXPECT_EQ(name_at(symbols, 0xffff0105), "first");
  EXPECT_EQ(name_at(symbols, 0xffff0285), "between");
  std::vector<std::string> names;
  for (const Symbol* symbol : symbols.all()) names.push_back(symbol->name);
  EXPECT_EQ(names, (std::vector<std::string>{"first", "mine", "between", "late"}));
}

TEST(Symbols, ASecondListingAddsToTheFirst) {
  Symbols symbols;
  symbols.parse_kallsyms(kListing);
  symbols.parse_kallsyms("ffff0100 T other\nffff0400 T more\n");
  EXPECT_EQ(name_at(symbols, 0xffff0101), "first");
  EXPECT_EQ(name_at(symbols, 0xffff0401), "more");
  EXPECT_EQ(symbols.all().size(), 4u);
}

TEST(Symbols, AreReadOnceByWhoeverAsksFirst) {
  Symbols symbols;
  std::string text;
  for (int i = 1; i < 20'000; ++i) text += std::to_string(i * 16) + " T f" + std::to_string(i) + "\n";
  symbols.parse_kallsyms(text);
  const Symbols copy = symbols;
  std::vector<std::thread> threads;
  for (const Symbols* one : std::initializer_list<const Symbols*>{&symbols, &copy, &symbols})
    threads.emplace_back([one] { EXPECT_EQ(one->all().size(), 19'999u); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace kevt::record

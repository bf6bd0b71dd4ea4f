#include "compiler/target/elf/source_names.h"

#include <gtest/gtest.h>

namespace kevt::target {
namespace {

TEST(SourceNames, OfCxx) {
  EXPECT_EQ(source_name("_ZN3Foo3barEid"), "Foo::bar(int, double)");
  EXPECT_EQ(source_name("_Z7computei"), "compute(int)");
  EXPECT_EQ(source_name("main"), "");
  EXPECT_EQ(source_name("_Zgarbage"), "");
  EXPECT_EQ(qualified_name("Foo::bar(int, double) const"), "Foo::bar");
  EXPECT_EQ(qualified_name("void apply<int, char>(int (*)(char), std::vector<int, std::allocator<int> > const&)"),
            "apply<int, char>");
  EXPECT_EQ(qualified_name("(anonymous namespace)::hidden(int)"), "(anonymous namespace)::hidden");
  EXPECT_EQ(qualified_name("operator new(unsigned long)"), "operator new");
  EXPECT_EQ(qualified_name("Foo::operator()(int)"), "Foo::operator()");
  EXPECT_EQ(qualified_name("Foo::~Foo()"), "Foo::~Foo");
}

TEST(SourceNames, OfRust) {
  EXPECT_EQ(source_name("_ZN4main5Shape4area17h0123456789abcdefE"), "main::Shape::area");
  EXPECT_EQ(source_name("_ZN48_$LT$main..Shape$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE"),
            "<main::Shape as core::fmt::Debug>::fmt");
}

TEST(SourceNames, AreMeantByTheirLastParts) {
  const std::string name = "ns::Foo::bar(int, unsigned long)";
  EXPECT_EQ(matches_source_name(name, "ns::Foo::bar"), NameMatch::Exact);
  EXPECT_EQ(matches_source_name(name, "Foo::bar"), NameMatch::Suffix);
  EXPECT_EQ(matches_source_name(name, "bar"), NameMatch::Suffix);
  EXPECT_EQ(matches_source_name(name, "oo::bar"), NameMatch::No);
  EXPECT_EQ(matches_source_name(name, "ns::Foo::bar(int,unsignedlong)"), NameMatch::Exact);
  EXPECT_EQ(matches_source_name(name, "Foo::bar(int, unsigned long)"), NameMatch::Suffix);
  EXPECT_EQ(matches_source_name(name, "Foo::bar(int)"), NameMatch::No);
  EXPECT_EQ(matches_source_name("void apply<int>(int)", "apply<int>"), NameMatch::Exact);
  EXPECT_EQ(matches_source_name("void apply<int>(int)", "apply<int>(int)"), NameMatch::Exact);
}

TEST(SourceNames, LastIdentifier) {
  EXPECT_EQ(last_identifier("Foo::bar(int)"), "bar");
  EXPECT_EQ(last_identifier("apply<std::pair<int, int>>"), "apply");
  EXPECT_EQ(last_identifier("Foo::operator+"), "");
  EXPECT_EQ(last_identifier("Foo::~Foo"), "");
}

// f(p<p<int, int>, p<int, int>>) and so on: each level names the one before once more, so that the text doubles.
std::string nested(int levels) {
  std::string symbol = "_Z1f";
  for (int level = 0; level < levels; ++level) symbol += "1pI";
  symbol += "iiE";
  for (int level = 1; level < levels; ++level) {
    const int number = levels + level - 2;  // of the substitution; the first ones are the names
    symbol += std::string("S") + static_cast<char>(number < 10 ? '0' + number : 'A' + number - 10) + "_E";
  }
  return symbol;
}

TEST(SourceNames, OfAHostileFileAreNotMade) {
  EXPECT_EQ(source_name(nested(2)), "f(p<p<int, int>, p<int, int> >)");
  EXPECT_GT(source_name(nested(8)).size(), 1000u);
  EXPECT_EQ(source_name(nested(22)), "");
  std::string packs = "_Z1gIJ" + std::string(100, 'i') + "EEvDpT_";
  EXPECT_NE(source_name(packs), "");
  packs = "_Z1gIJ" + std::string(100, 'i') + "EJ" + std::string(100, 'i') + "EEvDp1pIJDpT_EEDpT0_";
  EXPECT_EQ(source_name(packs), "");
  EXPECT_EQ(source_name("_Z" + std::string(10'000, 'N')), "");
}

}  // namespace
}  // namespace kevt::target

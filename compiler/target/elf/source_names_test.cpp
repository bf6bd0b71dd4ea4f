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

// Of RFC 2603, and of rustc 1.95.
TEST(SourceNames, OfRustV0) {
  EXPECT_EQ(source_name("_RNvCs1234_7mycrate3foo"), "mycrate::foo");
  EXPECT_EQ(source_name("_RNvNtCsjrHSEGnQ3l9_3std2rt19lang_start_internal"), "std::rt::lang_start_internal");
  EXPECT_EQ(source_name("_RINvNtC3std3mem8align_ofdE"), "std::mem::align_of::<f64>");
  EXPECT_EQ(source_name("_RNvXs5_NtCsd4VYFwevHkG_8bitcoind6stringNtB5_6StringNtNtCs9_4core3fmt5Debug3fmt"),
            "<bitcoind::string::String as core::fmt::Debug>::fmt");
  EXPECT_EQ(source_name("_RNvMCs1234_4mainNtB2_5Shape4area"), "main::Shape::area");
  EXPECT_EQ(qualified_name("std::mem::align_of::<fn(i32) -> u8>"), "std::mem::align_of::<fn(i32) -> u8>");
  EXPECT_EQ(shown_name("_RNvCs1234_7mycrate3foo"), "mycrate::foo");
  EXPECT_EQ(source_name("_R"), "");
  EXPECT_EQ(source_name("_Rgarbage"), "");
  EXPECT_EQ(matches_source_name("mycrate::foo", "foo"), NameMatch::Suffix);
}

// A tuple that holds the one before it twice, forty times: a backward reference counts from behind "_R", in base 62.
TEST(SourceNames, ARustNameThatNeverEndsIsNone) {
  constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string symbol = "_RINvC1a1fTuuE";
  std::size_t last = symbol.find('T') - 2;
  for (int i = 0; i < 40; ++i) {
    std::string back = "_";
    for (std::size_t n = last; n > 0; n = (n - 1) / 62) back.insert(0, 1, kDigits[(n - 1) % 62]);
    last = symbol.size() - 2;
    symbol += "TB" + back + "B" + back + "E";
    if (i == 0) {
      EXPECT_EQ(source_name(symbol + "E"), "a::f::<((), ()), (((), ()), ((), ()))>");
    }
  }
  EXPECT_EQ(source_name(symbol + "E"), "");
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

TEST(SourceNames, ParametersAsInTheSource) {
  constexpr std::string_view kString =
      "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
  const std::string name = "ns::put(char const*, std::map<int const, " + std::string(kString) + " const> const&, " +
                           std::string(kString) + " const&, char* const*)";
  for (const std::string_view wanted :
       {"ns::put(const char*, const std::map<const int, const std::string>&, const std::string&, char* const*)",
        "put(char const*, std::map<int const, std::string const> const&, std::string const&, char* const*)"})
    EXPECT_NE(matches_source_name(name, wanted), NameMatch::No) << wanted;
  EXPECT_EQ(matches_source_name("put(char const*)", "put(char*)"), NameMatch::No);
  EXPECT_EQ(matches_source_name("put(char* const)", "put(const char*)"), NameMatch::No);
  EXPECT_EQ(matches_source_name("Foo::size(int) const", "Foo::size(int) const"), NameMatch::Exact);
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

TEST(SourceNames, CopiesThatACompilerMakes) {
  EXPECT_EQ(copied_function("area.constprop.0"), "area");
  EXPECT_EQ(copied_function("area.isra.0.constprop.12.lto_priv.3"), "area");
  EXPECT_EQ(copied_function("_Z4areai.isra.0"), "_Z4areai");
  for (const char* const other :
       {"area", "area.part.0", "area.cold", "area.constprop.0.cold", "main.work", ".isra.0", "area."})
    EXPECT_EQ(copied_function(other), "") << other;
  EXPECT_TRUE(has_other_arguments("area.isra.0"));
  EXPECT_FALSE(has_other_arguments("area.lto_priv.0"));
  EXPECT_FALSE(has_other_arguments("area.part.0"));
}

}  // namespace
}  // namespace kevt::target

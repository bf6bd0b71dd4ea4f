#include "tracefs-compat/record/formats/flame_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <vector>

namespace kevt::record {
namespace {

struct Shown {
  std::string name;
  double x = 0, width = 0;
  int depth = 0;
  friend bool operator==(const Shown&, const Shown&) = default;
};

std::vector<Shown> boxes(const std::string& svg) {
  static const std::regex form(R"re(data-n="([^"]*)" data-x="([^"]*)" data-w="([^"]*)" data-d="(\d+)")re");
  std::vector<Shown> found;
  for (std::sregex_iterator it(svg.begin(), svg.end(), form), end; it != end; ++it)
    found.push_back({(*it)[1], std::stod((*it)[2]), std::stod((*it)[3]), std::stoi((*it)[4])});
  return found;
}

std::string svg_of(const PathWeights& paths, std::string_view counts = "hits") {
  return flame_graph_svg(CallTree::of(paths, counts));
}

TEST(FlameGraph, CalleesLieOnTheirCallers) {
  const auto shown = boxes(svg_of({{"main;f;g", 3}, {"main;h", 1}, {"main;f", 4}}, "hits"));
  EXPECT_EQ(
      shown,
      (std::vector<Shown>{
          {"all", 0, 1, 0}, {"main", 0, 1, 1}, {"f", 0, 0.875, 2}, {"g", 0.5, 0.375, 3}, {"h", 0.875, 0.125, 2}}));
}

// `a b;x` sorts between `a;x` and `a;y` as text.
TEST(FlameGraph, AFrameIsOneBoxWhateverItsName) {
  const auto shown = boxes(svg_of({{"a b;x", 1}, {"a;x", 1}, {"a!;x", 1}, {"a;y", 1}}, "hits"));
  EXPECT_EQ(std::ranges::count(shown, "a", &Shown::name), 1);
}

TEST(FlameGraph, NamesAreText) {
  const std::string svg = svg_of({{"main;<script>alert(\"1\")</script>&\x01]]>", 1}}, "<b>");
  EXPECT_EQ(svg.find("<script>alert"), std::string::npos);
  EXPECT_NE(svg.find("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;?]]&gt;"), std::string::npos);
  EXPECT_EQ(svg.find("<b>"), std::string::npos);
}

// Whole characters are kept of a name that is cut, and what is no UTF-8 is none in the file.
TEST(FlameGraph, IsXmlWhateverNamesAre) {
  const std::string svg = svg_of({{"main", 1000},
                                  {"\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc", 50},
                                  {"\xff"
                                   "AB\xed\xa0\x80",
                                   900}});
  EXPECT_NE(svg.find(">\u00e4\u00f6..<"), std::string::npos);
  EXPECT_EQ(svg.find('\xff'), std::string::npos);
  EXPECT_NE(svg.find("data-n=\"\ufffdAB\ufffd"), std::string::npos);
}

TEST(FlameGraph, WhatIsTooNarrowIsLeftOut) {
  std::map<std::string, std::uint64_t> folded = {{"main;wide", 100'000'000}};
  for (int i = 0; i < 50'000; ++i) folded["main;narrow" + std::to_string(i)] = 1;
  EXPECT_LT(svg_of(folded, "hits").size(), 10'000u);
}

TEST(FlameGraph, OfNothingAndOfDepth) {
  EXPECT_EQ(boxes(svg_of({}, "hits")).size(), 0u);
  std::string deep = "f";
  for (int i = 0; i < 5'000; ++i) deep += ";f";
  EXPECT_EQ(boxes(svg_of({{deep, 1}}, "hits")).size(), 513u);
}

}  // namespace
}  // namespace kevt::record

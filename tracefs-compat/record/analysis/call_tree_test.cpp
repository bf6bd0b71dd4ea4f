#include "tracefs-compat/record/analysis/call_tree.h"

#include <gtest/gtest.h>

namespace kevt::record {
namespace {

const PathWeights kPaths = {{"main;f;g", 3}, {"main;h", 1}, {"main;f", 4}, {"other", 2}};

TEST(CallTree, CalleesAreInsideTheirCallers) {
  const CallTree tree = CallTree::of(kPaths, "stacks");
  struct Expected {
    std::string_view name;
    std::size_t depth;
    std::uint64_t begin, weight, own;
    std::size_t end;
  };
  const Expected expected[] = {{"all", 0, 0, 10, 0, 6}, {"main", 1, 0, 8, 0, 5}, {"f", 2, 0, 7, 4, 4},
                               {"g", 3, 4, 3, 3, 4},    {"h", 2, 7, 1, 1, 5},    {"other", 1, 8, 2, 2, 6}};
  ASSERT_EQ(tree.nodes().size(), std::size(expected));
  for (std::size_t i = 0; i < std::size(expected); ++i) {
    const CallTree::Node& node = tree.nodes()[i];
    EXPECT_EQ(node.name, expected[i].name);
    EXPECT_EQ(node.depth, expected[i].depth) << node.name;
    EXPECT_EQ(node.begin, expected[i].begin) << node.name;
    EXPECT_EQ(node.weight, expected[i].weight) << node.name;
    EXPECT_EQ(node.own, expected[i].own) << node.name;
    EXPECT_EQ(node.end, expected[i].end) << node.name;
  }
}

TEST(CallTree, TextHasTheHeaviestFirstAndSumsUpTheRest) {
  EXPECT_EQ(CallTree::of(kPaths, "stacks").text(0.15, Controls::Raw),
            "        WEIGHT      %            OWN  stacks\n"
            "            10 100.00              0  all\n"
            "             8  80.00              0    main\n"
            "             7  70.00              4      f\n"
            "             3  30.00              3        g\n"
            "             1  10.00              1      (1 more)\n"
            "             2  20.00              2    other\n");
}

TEST(CallTree, TwoRecordingsSideBySide) {
  const PathWeights before = {{"main;f", 9}, {"gone;x", 1}};
  const CallTree tree = CallTree::of(kPaths, "stacks", &before);
  EXPECT_EQ(tree.text(0, Controls::Raw),
            "        BEFORE          AFTER         CHANGE  stacks\n"
            "            10             10             +0  all\n"
            "             0              2             +2    other\n"
            "             1              0             -1    gone\n"
            "             1              0             -1      x\n"
            "             9              8             -1    main\n"
            "             9              7             -2      f\n"
            "             0              3             +3        g\n"
            "             0              1             +1      h\n");
}

TEST(CallTree, AMillionNodesAreEnough) {
  PathWeights paths;
  for (int i = 0; i < 9'000; ++i) {
    std::string path = "p" + std::to_string(i);
    for (int depth = 0; depth < 120; ++depth) path += ";f";
    paths[path] = 1;
  }
  const CallTree tree = CallTree::of(paths, "stacks");
  EXPECT_LE(tree.nodes().size(), 1'000'000u);
  std::uint64_t own = 0;
  for (const CallTree::Node& node : tree.nodes()) own += node.own;
  EXPECT_EQ(own, 9'000u);
  EXPECT_EQ(tree.nodes().front().weight, 9'000u);
}

TEST(CallTree, ReversedPathsBeginWithTheCallee) {
  const PathWeights reversed = {{"f;main", 4}, {"g;f;main", 3}, {"h;main", 1}, {"other", 2}};
  EXPECT_EQ(reversed_paths(kPaths), reversed);
}

TEST(CallTree, NamesAreEscapedWhereATerminalReadsThem) {
  EXPECT_EQ(CallTree::of({{"a\x1b[31m", 1}}, "stacks").text(0, Controls::Escaped).find('\x1b'), std::string::npos);
  EXPECT_NE(CallTree::of({{"a\"b", 1}}, "ns").json().find(R"("name":"a\"b","depth":1,"weight":1,"own":1)"),
            std::string::npos);
}

}  // namespace
}  // namespace kevt::record

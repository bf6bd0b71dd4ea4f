#include "tracefs-compat/record/analysis/hist_merge.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace kevt::record {
namespace {

using testing::HasSubstr;

std::string merged_text(std::initializer_list<const char*> texts) {
  std::vector<HistFileTable> tables;
  for (const char* text : texts)
    for (HistFileTable& one : read_hist_file(text)) tables.push_back(std::move(one));
  std::string out;
  for (const HistFileTable& one : merge_hist_tables(tables)) out += hist_table_text(one);
  return out;
}

constexpr const char* kOne = R"(# kprobes:read
# event histogram
#
# trigger info: hist:keys=path,fd.sym:vals=hitcount,len,ret.min,ret.avg:sort=hitcount:size=2048 [active]
#

{ path: /etc/passwd                                       , fd: [          401000] main                                          } hitcount:          2  len: 9223372036854775807  ret (min):         -7  ret (avg):       1.00
{ path: } hitcount: 99, fd: 1                             , fd: [          401000] main                                          } hitcount:          3  len:         40  ret (min):          1  ret (avg):       1.00

Totals:
    Hits: 5
    Entries: 2
    Dropped: 1
)";
constexpr const char* kOther = R"(# kprobes:read
# event histogram
#
# trigger info: hist:keys=path,fd.sym:vals=hitcount,len,ret.min,ret.avg:sort=hitcount:size=2048 [active]
#

{ path: /etc/hosts                                        , fd: [          777000] main                                          } hitcount:          1  len:          5  ret (min):          4  ret (avg):       4.00
{ path: /etc/passwd                                       , fd: [          777000] main                                          } hitcount:          6  len: 9223372036854775802  ret (min):          3  ret (avg):       3.00

Totals:
    Hits: 7
    Entries: 2
    Dropped: 0
)";

TEST(HistMerge, OfOneTableIsThatTable) { EXPECT_EQ(merged_text({kOne}), kOne); }

TEST(HistMerge, AddsWhatHasOneKey) {
  const std::string text = merged_text({kOne, kOther});
  EXPECT_THAT(
      text,
      HasSubstr("hitcount:          8  len: 18446744073709551609  ret (min):         -7  ret (avg):       2.50\n"))
      << "sums are exact in 64 bits";
  EXPECT_THAT(text, HasSubstr("Hits: 12\n    Entries: 3\n    Dropped: 1\n"));
  EXPECT_LT(text.find("/etc/hosts"), text.find("} hitcount: 99")) << "sorted by hits";
  EXPECT_LT(text.find("} hitcount: 99"), text.find("/etc/passwd"));
}

TEST(HistMerge, KeepsEventsAndTriggersApart) {
  std::string other = kOther;
  other.replace(other.find("kprobes:read"), 12, "kprobes:rite");
  EXPECT_EQ(merged_text({kOne, other.c_str()}), std::string(kOne) + other);
}

std::string of_sizes(const char* rows, int hits) {
  return "# a:b\n# event histogram\n#\n# trigger info: "
         "hist:keys=size.loglinear,common_comm:vals=hitcount:sort=size:size=2048 "
         "[active]\n#\n\n" +
         std::string(rows) + "\nTotals:\n    Hits: " + std::to_string(hits) + "\n    Entries: 1\n    Dropped: 0\n";
}

TEST(HistMerge, FindsPercentilesAnew) {
  const std::string a = of_sizes(
      "{ size: ~ 8-8, common_comm: cat                                                } hitcount:         10\n", 10);
  const std::string b = of_sizes(
      "{ size: ~ 3-3, common_comm: cat                                                } hitcount:         89\n"
      "{ size: ~ 512-519, common_comm: cat                                                } hitcount:          1\n",
      90);
  const std::string text = merged_text({a.c_str(), b.c_str()});
  EXPECT_THAT(text, HasSubstr("Percentiles of size:\n    { common_comm: cat } p50:          3 p90:          8 p99:     "
                              "     8 max:        519\n"));
  EXPECT_LT(text.find("~ 3-3"), text.find("~ 8-8"));
  const auto tables = read_hist_file(text);
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(
      hist_table_object(tables[0]),
      R"({"type":"histogram","v":1,"event":"a:b","trigger":"hist:keys=size.loglinear,common_comm:vals=hitcount:sort=size:size=2048 [active]","hits":100,"dropped":0,"rows":[)"
      R"({"keys":{"size.loglinear":{"from":3,"to":3},"common_comm":"cat"},"hitcount":89,"values":{}},)"
      R"({"keys":{"size.loglinear":{"from":8,"to":8},"common_comm":"cat"},"hitcount":10,"values":{}},)"
      R"({"keys":{"size.loglinear":{"from":512,"to":519},"common_comm":"cat"},"hitcount":1,"values":{}}]})");
}

std::string top(const char* rows, int others) {
  return "# a:b\n# event histogram\n#\n# trigger info: "
         "hist:keys=fd:vals=hitcount:sort=hitcount.descending:size=128:top=2 "
         "[active]\n#\n\n" +
         std::string(rows) +
         "\nTotals:\n    Hits: 200\n    Entries: 2\n    Dropped: 0\n\nTop 2: hits of any other key: " +
         std::to_string(others) + " or fewer\n";
}

TEST(HistMerge, OfTheLargestKeysBoundsWhatOthersMayHave) {
  const std::string a =
      top("{ fd:          3 } hitcount:         90\n{ fd:          4 } hitcount:         12 (at least 9)\n", 5);
  const std::string b = top("{ fd:          3 } hitcount:         50\n{ fd:          5 } hitcount:         40\n", 7);
  const std::string text = merged_text({a.c_str(), b.c_str()});
  EXPECT_THAT(
      text,
      HasSubstr(
          "{ fd:          3 } hitcount:        140\n{ fd:          5 } hitcount:         45 (at least 40)\n\nTotals"));
  EXPECT_THAT(text, HasSubstr("Top 2: hits of any other key: 19 or fewer\n"))
      << "12 of fd 4, and 7 that the other may have";
}

}  // namespace
}  // namespace kevt::record

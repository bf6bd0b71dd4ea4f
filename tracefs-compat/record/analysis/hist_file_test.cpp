// Tables read back from texts as kernels write them, and the axis that their buckets stand on.
#include "tracefs-compat/record/analysis/hist_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "tracefs-compat/record/analysis/buckets.h"

namespace kevt::record {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// From a 6.1 kernel.
constexpr const char* kNumbers = R"(# event histogram
#
# trigger info: hist:keys=bytes_req.log2,call_site.sym:vals=hitcount,bytes_req,bytes_alloc.hex:sort=hitcount:size=2048 if bytes_req > 3 [paused]
#

{ bytes_req: ~ 2^5 , call_site: [ffffffff811d36f4] seq_open                                      } hitcount:          2  bytes_req:         50  bytes_alloc:         40
{ bytes_req: ~ 2^0 , call_site: [ffffffff811d36f5] seq_open                                      } hitcount:         12  bytes_req:          4  bytes_alloc:         ff

Totals:
    Hits: 14
    Entries: 2
    Dropped: 3
)";

TEST(HistFile, ReadsNumbersAndBuckets) {
  const auto tables = read_hist_file(kNumbers);
  ASSERT_EQ(tables.size(), 1u);
  const HistFileTable& table = tables[0];
  EXPECT_EQ(table.trigger,
            "hist:keys=bytes_req.log2,call_site.sym:vals=hitcount,bytes_req,bytes_alloc.hex:sort=hitcount:size=2048 if "
            "bytes_req > 3");
  EXPECT_TRUE(table.is_paused);
  EXPECT_THAT(table.keys, ElementsAre(HistFileColumn{"bytes_req", "log2"}, HistFileColumn{"call_site", "sym"}));
  EXPECT_THAT(table.values, ElementsAre(HistFileColumn{"bytes_req", ""}, HistFileColumn{"bytes_alloc", "hex"}));
  EXPECT_EQ(table.measuring_key(), 0u);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0].keys[0].range, (HistFileRange{17, 32}));
  EXPECT_EQ(table.rows[0].keys[1].range, (HistFileRange{0xffffffff811d36f4, 0xffffffff811d36f4}));
  EXPECT_EQ(table.rows[0].keys[1].text, "[ffffffff811d36f4] seq_open");
  EXPECT_EQ(table.rows[0].hits, 2u);
  EXPECT_THAT(table.rows[0].values, ElementsAre(50, 0x40));
  EXPECT_EQ(table.rows[1].keys[0].range, (HistFileRange{0, 1}));
  EXPECT_THAT(table.rows[1].values, ElementsAre(4, 0xff));
  EXPECT_EQ(table.hits, 14u);
  EXPECT_EQ(table.dropped, 3u);
}

// Only behind the totals: a text may have a line that begins so.
TEST(HistFile, ATextMayBeginALineWithTop) {
  const auto tables = read_hist_file(
      "# trigger info: hist:keys=name:vals=hitcount:sort=hitcount:size=2048 [active]\n#\n\n"
      "{ name: a\nTop 2: hits of any other key: 5 or fewer  } hitcount:          3\n"
      "\nTotals:\n    Hits: 3\n    Entries: 1\n    Dropped: 0\n");
  ASSERT_EQ(tables.size(), 1u);
  ASSERT_EQ(tables[0].rows.size(), 1u);
  EXPECT_EQ(tables[0].rows[0].hits, 3u);
  EXPECT_EQ(tables[0].others_at_most, std::nullopt);
}

TEST(HistFile, ReadsTopKeys) {
  const auto tables = read_hist_file(
      "# trigger info: hist:keys=fd:vals=hitcount,len:sort=hitcount.descending:size=128:top=2 [active]\n#\n\n"
      "{ fd:          3 } hitcount:         90  len:          7\n"
      "{ fd:          4 } hitcount:         12 (at least 9)  len:          8\n"
      "\nTotals:\n    Hits: 140\n    Entries: 2\n    Dropped: 0\n\nTop 2: hits of any other key: 5 or fewer\n");
  ASSERT_EQ(tables.size(), 1u);
  ASSERT_EQ(tables[0].rows.size(), 2u);
  EXPECT_EQ(tables[0].rows[0].at_least, 90u);
  EXPECT_EQ(tables[0].rows[1].hits, 12u);
  EXPECT_EQ(tables[0].rows[1].at_least, 9u);
  EXPECT_THAT(tables[0].rows[1].values, ElementsAre(8));
  EXPECT_EQ(tables[0].others_at_most, 5u);
}

// A text key may hold what separates keys, rows and lines.
TEST(HistFile, TextsAndStacksMayHoldAnything) {
  const auto tables = read_hist_file(
      "# trigger info: hist:keys=comm,pid:vals=hitcount:sort=hitcount:size=2048 [active]\n#\n\n"
      "{ comm: a } hitcount: 7                                   , pid:          3 } hitcount:          2\n"
      "{ comm: two\nlines                                         , pid:          4 } hitcount:          5\n"
      "\nTotals:\n    Hits: 7\n    Entries: 2\n    Dropped: 0\n\n\n"
      "# event histogram\n#\n"
      "# trigger info: hist:keys=common_stacktrace,pid:vals=hitcount:sort=hitcount:size=2048 [active]\n#\n\n"
      "{ common_stacktrace:\n         f+0x1/0x2\n         g+0x3/0x4 [ext4]\n, pid:          3} hitcount:          9\n"
      "\nTotals:\n    Hits: 9\n    Entries: 1\n    Dropped: 0\n");
  ASSERT_EQ(tables.size(), 2u);
  ASSERT_EQ(tables[0].rows.size(), 2u);
  EXPECT_EQ(tables[0].rows[0].keys[0].text, "a } hitcount: 7");
  EXPECT_EQ(tables[0].rows[0].hits, 2u);
  EXPECT_EQ(tables[0].rows[1].keys[0].text, "two ← lines");
  EXPECT_EQ(tables[0].rows[1].hits, 5u);
  ASSERT_EQ(tables[1].rows.size(), 1u);
  EXPECT_EQ(tables[1].rows[0].keys[0].text, "f+0x1/0x2 ← g+0x3/0x4 [ext4]");
  EXPECT_FALSE(tables[1].rows[0].keys[0].range);
  EXPECT_EQ(tables[1].rows[0].keys[1].range, (HistFileRange{3, 3}));
  EXPECT_EQ(tables[1].rows[0].hits, 9u);
}

TEST(HistFile, NamesBucketsAndShares) {
  const auto tables = read_hist_file(
      "# trigger info: hist:keys=common_pid.execname,id.syscall,len.buckets=16,ret.loglinear:"
      "vals=hitcount.percent,len.graph:sort=hitcount:size=2048 [active]\n#\n\n"
      "{ common_pid: cat             [      4711], id: sys_read                      [  0], len: ~ 16-31, ret: ~ "
      "128-129 } "
      "hitcount (%):  75.00 len: ##########          \n"
      "{ common_pid: <idle>          [         0], id: unknown_syscall               [999], len: 5, ret: ~ 3-1 } "
      "hitcount (%):  25.00 len:                     \n");
  ASSERT_EQ(tables.size(), 1u);
  ASSERT_EQ(tables[0].rows.size(), 2u);
  const HistFileRow& row = tables[0].rows[0];
  EXPECT_EQ(row.keys[0].text, "cat             [      4711]");
  EXPECT_EQ(row.keys[0].range, (HistFileRange{4711, 4711}));
  EXPECT_EQ(row.keys[1].range, (HistFileRange{0, 0}));
  EXPECT_EQ(row.keys[2].range, (HistFileRange{16, 31}));
  EXPECT_EQ(row.keys[3].range, (HistFileRange{128, 129}));
  EXPECT_FALSE(tables[0].measuring_key());
  // What is no bucket has no range.
  EXPECT_FALSE(tables[0].rows[1].keys[2].range);
  EXPECT_FALSE(tables[0].rows[1].keys[3].range);
}

TEST(HistFile, LeastGreatestAndAverage) {
  const auto tables = read_hist_file(
      "# trigger info: hist:keys=fd:vals=hitcount,ret.min,ret.max,ret.avg,ret:sort=hitcount:size=2048 [active]\n#\n\n"
      "{ fd:          3 } hitcount:          4  ret (min):         -7  ret (max):        100  ret (avg):      24.25  "
      "ret:         97\n");
  ASSERT_EQ(tables.size(), 1u);
  ASSERT_EQ(tables[0].rows.size(), 1u);
  EXPECT_THAT(tables[0].rows[0].values, ElementsAre(-7.0, 100.0, 24.25, 97.0));
  EXPECT_TRUE(tables[0].values[0].is_statistic());
  EXPECT_FALSE(tables[0].values[3].is_statistic());
}

TEST(HistFile, HeadingsOfRecordings) {
  const std::string table =
      "# event histogram\n#\n# trigger info: hist:keys=fd:vals=hitcount:sort=hitcount:size=2048 [active]\n#\n\n"
      "{ fd:          3 } hitcount:          2\n\nTotals:\n    Hits: 2\n    Entries: 1\n    Dropped: 0\n";
  const auto tables = read_hist_file("# few/kprobes:read, 1.000 s to 2.500 s\n" + table + "\n\n" + table +
                                     "\n# kprobes:open\n" + table);
  ASSERT_EQ(tables.size(), 3u);
  EXPECT_EQ(tables[0].event, "few/kprobes:read");
  EXPECT_EQ(tables[0].to_s, 2.5);
  EXPECT_EQ(tables[1].event, "few/kprobes:read");
  EXPECT_EQ(tables[1].from_s, 1);
  EXPECT_EQ(tables[2].event, "kprobes:open");
  EXPECT_EQ(tables[2].to_s, 0);
  for (const HistFileTable& one : tables) EXPECT_EQ(one.rows.size(), 1u);
}

// Any damage gives fewer or other rows, and every row has all its columns.
TEST(HistFile, SurvivesDamage) {
  std::mt19937 random(20261126);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = kNumbers;
    for (unsigned i = 0; i < 1 + random() % 6; ++i) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, random() % 40);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
      }
      if (text.empty()) break;
    }
    for (const HistFileTable& table : read_hist_file(text))
      for (const HistFileRow& row : table.rows) {
        ASSERT_EQ(row.keys.size(), table.keys.size());
        ASSERT_EQ(row.values.size(), table.values.size());
      }
  }
}

TEST(BucketLines, HaveNoGaps) {
  const HistFileRange powers[] = {{5, 8}, {33, 64}};
  EXPECT_THAT(bucket_lines("log2", powers, 3),
              ElementsAre(HistFileRange{5, 8}, HistFileRange{9, 16}, HistFileRange{17, 32}, HistFileRange{33, 64}));
  const HistFileRange few[] = {{30, 39}, {0, 9}};
  EXPECT_THAT(bucket_lines("buckets=10", few, 4),
              ElementsAre(HistFileRange{0, 9}, HistFileRange{10, 19}, HistFileRange{20, 29}, HistFileRange{30, 39}));
  EXPECT_THAT(bucket_lines("buckets=10", few, 2), ElementsAre(HistFileRange{0, 19}, HistFileRange{20, 39}));
  EXPECT_THAT(bucket_lines("log2", {}, 2), IsEmpty());
}

TEST(BucketLines, TakeEveryBucketWhole) {
  std::mt19937_64 random(20261126);
  for (int round = 0; round < 2'000; ++round) {
    const std::string modifier = round % 3 == 0 ? "log2" : round % 3 == 1 ? "loglinear" : "buckets=7";
    std::vector<HistFileRange> buckets;
    for (unsigned i = 0; i < 1 + random() % 9; ++i) {
      const std::uint64_t number = random() >> random() % 64;
      if (modifier == "log2") {
        const int power = number <= 1 ? 0 : std::bit_width(number - 1);
        buckets.push_back(power == 0 ? HistFileRange{0, 1}
                                     : HistFileRange{(std::uint64_t{1} << (power - 1)) + 1,
                                                     power == 64 ? ~std::uint64_t{0} : std::uint64_t{1} << power});
      } else if (modifier == "loglinear") {
        const int shift = std::max(0, static_cast<int>(std::bit_width(number)) - 7);
        const std::uint64_t from = number >> shift << shift;
        buckets.push_back({from, from + ((std::uint64_t{1} << shift) - 1)});
      } else {
        const std::uint64_t from = number / 7 * 7;
        buckets.push_back({from, from + std::min<std::uint64_t>(6, ~std::uint64_t{0} - from)});
      }
    }
    const std::size_t most = 1 + random() % 50;
    const auto lines = bucket_lines(modifier, buckets, most);
    ASSERT_FALSE(lines.empty());
    EXPECT_LE(lines.size(), std::max<std::size_t>(most, 65));
    for (std::size_t i = 1; i < lines.size(); ++i) ASSERT_EQ(lines[i].from, lines[i - 1].to + 1);
    for (const HistFileRange& bucket : buckets) {
      const auto line = line_of(lines, bucket);
      ASSERT_TRUE(line) << modifier << ' ' << bucket.from << '-' << bucket.to;
      EXPECT_LE(lines[*line].from, bucket.from);
      EXPECT_GE(lines[*line].to, bucket.to);
    }
  }
}

}  // namespace kevt::record

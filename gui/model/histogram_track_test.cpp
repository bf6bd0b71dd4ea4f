// Readings of hist files become entries, slices of time, lines of a picture, percentiles and filters.
#include "gui/model/histogram_track.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/model/histogram_rows.h"

namespace kevt::gui {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

record::HistFileTable tableOf(const std::string& trigger, const std::string& rows, std::uint64_t hits,
                              const std::string& heading = {}) {
  const auto tables =
      record::read_hist_file((heading.empty() ? std::string() : "# " + heading + "\n") +
                             "# event histogram\n#\n# trigger info: " + trigger + " [active]\n#\n\n" + rows +
                             "\nTotals:\n    Hits: " + std::to_string(hits) + "\n    Entries: 1\n    Dropped: 0\n");
  EXPECT_EQ(tables.size(), 1u);
  return tables.at(0);
}

const std::string kByLength = "hist:keys=fd,len.log2:vals=hitcount,len:sort=hitcount:size=2048";

std::string row(int fd, int power, int hits, int len) {
  return "{ fd:          " + std::to_string(fd) + ", len: ~ 2^" + std::to_string(power) +
         " } hitcount:          " + std::to_string(hits) + "  len:         " + std::to_string(len) + "\n";
}

TEST(GuiHistogramTrack, DifferencesOfTotalsAreSlices) {
  HistogramTrack track;
  track.takeTotals(1, tableOf(kByLength, row(3, 5, 2, 40), 2));
  EXPECT_TRUE(track.slices().empty());
  track.takeTotals(2, tableOf(kByLength, row(3, 5, 5, 90) + row(4, 2, 1, 4), 6));
  track.takeTotals(3, tableOf(kByLength, row(4, 2, 1, 4) + row(3, 5, 5, 90), 6));
  ASSERT_EQ(track.slices().size(), 2u);
  EXPECT_EQ(track.slices()[0].from_s, 1);
  EXPECT_EQ(track.slices()[0].to_s, 2);
  EXPECT_THAT(track.slices()[0].hits, ElementsAre(Pair(0u, 3u), Pair(1u, 1u)));
  EXPECT_TRUE(track.slices()[1].hits.empty());
  EXPECT_THAT(track.order(), ElementsAre(1u, 0u));
  // Somebody cleared it: what is there now is new; what is not there has no hits.
  track.takeTotals(4, tableOf(kByLength, row(3, 5, 4, 70), 4));
  EXPECT_THAT(track.slices()[2].hits, ElementsAre(Pair(0u, 4u)));
  EXPECT_THAT(track.order(), ElementsAre(0u));
  EXPECT_EQ(track.entries()[1].hits, 0u);
  EXPECT_EQ(track.hits(), 4u);
  EXPECT_EQ(track.entries()[0].values[0], 70u);
}

TEST(GuiHistogramTrack, SpansAddUp) {
  HistogramTrack track;
  track.takeSpan(tableOf(kByLength, row(3, 5, 2, 40), 2, "kprobes:read, 0.000 s to 1.000 s"));
  const auto next = tableOf(kByLength, row(3, 5, 3, 60) + row(3, 7, 1, 100), 4, "kprobes:read, 1.000 s to 2.000 s");
  EXPECT_TRUE(track.goesOn(next));
  track.takeSpan(next);
  EXPECT_EQ(track.hits(), 6u);
  EXPECT_EQ(track.entries()[0].hits, 5u);
  EXPECT_EQ(track.entries()[0].values[0], 100u);
  ASSERT_EQ(track.slices().size(), 2u);
  EXPECT_EQ(track.slices()[1].from_s, 1);
  HistogramTrack least;
  const std::string by = "hist:keys=fd:vals=hitcount,len.min,len.max,len.avg:sort=hitcount:size=2048";
  least.takeSpan(tableOf(by, "{ fd: 3 } hitcount: 1  len (min): 5  len (max): 7  len (avg): 6.00\n", 1));
  least.takeSpan(tableOf(by, "{ fd: 3 } hitcount: 3  len (min): -2  len (max): 6  len (avg): 2.00\n", 3));
  EXPECT_THAT(least.entries()[0].values, ElementsAre(-2.0, 7.0, 3.0));
  EXPECT_FALSE(track.goesOn(tableOf("hist:keys=fd:vals=hitcount:sort=hitcount:size=2048", "", 0)));
}

TEST(GuiHistogramTrack, ThePictureHasALineForEachRange) {
  HistogramTrack track;
  track.takeTotals(0, tableOf(kByLength, "", 0));
  track.takeTotals(1, tableOf(kByLength, row(3, 5, 2, 40) + row(4, 5, 1, 20) + row(3, 7, 97, 9000), 100));
  const HistogramPicture all = pictureOf(track, std::nullopt, 48);
  ASSERT_EQ(all.lines.size(), 3u);
  EXPECT_EQ(all.lines[0].range, (record::HistFileRange{17, 32}));
  EXPECT_EQ(all.lines[0].hits, 3u);
  EXPECT_EQ(all.lines[1].hits, 0u);  // 33-64: no gap
  EXPECT_EQ(all.lines[2].over_time, std::vector<std::uint64_t>{97});
  EXPECT_EQ(all.most_in_line, 97u);
  EXPECT_EQ(all.most_in_cell, 97u);
  EXPECT_EQ(percentilesOf(track, std::nullopt), (std::array<std::uint64_t, 4>{128, 128, 128, 128}));
  const HistogramPicture of4 = pictureOf(track, groupOf(track, 1), 48);
  ASSERT_EQ(of4.lines.size(), 1u);
  EXPECT_EQ(of4.lines[0].hits, 1u);
  EXPECT_EQ(percentilesOf(track, groupOf(track, 1)), (std::array<std::uint64_t, 4>{32, 32, 32, 32}));
  EXPECT_EQ(filterOf(track, all.lines[2], nullptr), "len >= 65 && len <= 128");
}

TEST(GuiHistogramTrack, WithoutRangesTheLargestEntriesAreTheLines) {
  const std::string trigger = "hist:keys=common_pid.execname,name:vals=hitcount:sort=hitcount:size=2048";
  HistogramTrack track;
  track.takeTotals(0, tableOf(trigger,
                              "{ common_pid: cat             [      4711], name: a\"b   } hitcount:          2\n"
                              "{ common_pid: cat             [      4711], name: plain } hitcount:          9\n"
                              "{ common_pid: cat             [      4712], name: plain } hitcount:          1\n",
                              12));
  const HistogramPicture picture = pictureOf(track, std::nullopt, 2);
  ASSERT_EQ(picture.lines.size(), 2u);
  EXPECT_EQ(picture.left_out, 1u);
  EXPECT_EQ(picture.lines[0].hits, 9u);
  EXPECT_EQ(filterOf(track, picture.lines[0], nullptr), "common_pid == 4711 && name == \"plain\"");
  EXPECT_EQ(filterOf(track, picture.lines[1], nullptr), "common_pid == 4711");  // no filter can have the quote
  EXPECT_FALSE(percentilesOf(track, std::nullopt));
}

TEST(GuiHistogramTrack, TheTableSorts) {
  const auto track = std::make_shared<HistogramTrack>();
  track->takeTotals(0, tableOf(kByLength, row(10, 5, 2, 40) + row(9, 5, 3, 20) + row(9, 2, 1, 9000), 6));
  HistogramRows rows;
  rows.show(track);
  ASSERT_EQ(rows.rowCount(), 3);
  ASSERT_EQ(rows.columnCount(), 5);
  const auto cell = [&](int at, int column) { return rows.index(at, column).data().toString(); };
  EXPECT_EQ(rows.headerData(1, Qt::Horizontal, Qt::DisplayRole), "len.log2");
  EXPECT_EQ(cell(0, 0), "10");
  EXPECT_EQ(cell(0, 3), "33.33 %");
  rows.sort(0, Qt::AscendingOrder);  // 9 before 10: as numbers
  EXPECT_EQ(cell(2, 0), "10");
  rows.sort(4, Qt::DescendingOrder);
  EXPECT_EQ(cell(0, 2), "1");
  // The order stays when more comes.
  track->takeTotals(1, tableOf(kByLength, row(10, 5, 2, 99999) + row(9, 5, 3, 20) + row(9, 2, 1, 9000), 6));
  rows.show(track);
  EXPECT_EQ(cell(0, 0), "10");
}

}  // namespace
}  // namespace kevt::gui

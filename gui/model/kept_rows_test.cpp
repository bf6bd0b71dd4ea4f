// What a filter leaves is what the lanes, their counts and plots show, also of a trace that grows.
#include <gtest/gtest.h>

#include <QTest>

#include "gui/model/event_rows.h"
#include "gui/model/lanes.h"
#include "gui/model/model_testing.h"
#include "gui/model/trace_document.h"
#include "tracefs-compat/record/store/store_field.h"

namespace kevt::gui {
namespace {

constexpr int kFilterPatienceMs = 20'000;

class GuiKept : public ModelTest {
 protected:
  void SetUp() override {
    auto format = record::parse_format("kprobes", kFormat);
    ASSERT_TRUE(format);
    format_ = *std::move(format);
  }
  static bool settle(const EventRows& rows) {
    return QTest::qWaitFor([&] { return !rows.isBusy(); }, kFilterPatienceMs);
  }
  record::EventFormat format_;
};

TEST_F(GuiKept, AListThatGrowsLeavesItsCopiesAlone) {
  RowList list;
  std::vector<RowList> copies;
  std::vector<record::Row> all;
  for (record::Row row = 0; row < 10'000; ++row) {
    list.add(row * 3);
    all.push_back(row * 3);
    if (row % 1000 == 0) copies.push_back(list);
  }
  for (std::size_t i = 0; i < copies.size(); ++i) {
    RowList& copy = copies[i];
    ASSERT_EQ(copy.size(), i * 1000 + 1);
    copy.add(1'000'000);  // in its own last piece
    EXPECT_TRUE(copy.contains(static_cast<record::Row>(i * 3000)));
    EXPECT_FALSE(copy.contains(static_cast<record::Row>(i * 3000 + 3)));
  }
  ASSERT_EQ(list.size(), all.size());
  for (const record::Row row : {0u, 1u, 3u, 12'285u, 12'288u, 12'289u, 29'997u, 29'998u, 50'000u}) {
    const auto expected = std::ranges::lower_bound(all, row) - all.begin();
    EXPECT_EQ(list.lower_bound(row), static_cast<std::size_t>(expected)) << row;
    EXPECT_EQ(list.contains(row), std::ranges::binary_search(all, row)) << row;
  }
  EXPECT_EQ(RowList().lower_bound(0), 0u);
}

TEST_F(GuiKept, LanesShowAndCountWhatTheFilterLeaves) {
  TraceDocument document;
  EventRows rows(document);
  document.beginLive(QStringLiteral("test"));
  document.showLive(trace(300, format_), nullptr);
  FilterMistake mistake;
  ASSERT_TRUE(rows.setFilter(QStringLiteral("count >= 1000 && common_pid != 8"), mistake));
  ASSERT_TRUE(settle(rows));
  const record::StoreView& view = document.view();
  ASSERT_TRUE(rows.kept());
  EXPECT_EQ(rows.rowCount(), 133);  // rows 100 to 299 without pid 8's 67
  EXPECT_EQ(rows.kept()->all().size(), 133u);
  std::map<QString, std::uint64_t> counts;
  for (const Lane& lane : lanesOf(view, {}, rows.kept()))
    if (lane.kind != Lane::Kind::Group) counts[lane.name(view.names())] = countInLane(view, lane, 0, ~0ull);
  const std::map<QString, std::uint64_t> expected = {{QStringLiteral("cpu:0"), 66},
                                                     {QStringLiteral("cpu:1"), 67},
                                                     {QStringLiteral("task:7"), 66},
                                                     {QStringLiteral("task:9"), 67},
                                                     {QStringLiteral("event:kprobes/open"), 133}};
  EXPECT_EQ(counts, expected);  // task 8 is left out
  std::vector<std::uint32_t> pixels(30);
  countByPixel(view, everything(rows.kept()), {view.first_ns(), 0, 1000, 30}, pixels);
  for (std::size_t x = 0; x < pixels.size(); ++x) EXPECT_NEAR(pixels[x], x < 10 ? 0 : 6.7, 1) << x;

  // A plot has the same values.
  LanePrefs wishes;
  wishes.fields.emplace_back(QStringLiteral("kprobes/open"), QStringLiteral("count"));
  const std::atomic<bool> goes_on = false;
  for (const Lane& lane : lanesOf(view, wishes, rows.kept())) {
    if (lane.kind != Lane::Kind::Field) continue;
    const record::FieldPyramid values(view, lane.id, "count", goes_on, plottedRows(lane));
    EXPECT_EQ(values.size(), 133u);
    EXPECT_EQ(values.whole().least, 1010);
  }
  ASSERT_TRUE(rows.setFilter(QString(), mistake));
  EXPECT_FALSE(rows.kept());
  EXPECT_EQ(rows.rowCount(), 300);
}

TEST_F(GuiKept, OfATraceThatGrowsMoreIsLeftInEveryOrder) {
  TraceDocument document;
  EventRows rows(document);
  document.beginLive(QStringLiteral("test"));
  document.showLive(trace(100, format_), nullptr);
  FilterMistake mistake;
  ASSERT_TRUE(rows.setFilter(QStringLiteral("common_pid == 7"), mistake));
  ASSERT_TRUE(settle(rows));
  const auto before = rows.kept();
  EXPECT_EQ(before->all().size(), 34u);
  document.showLive(trace(200, format_), nullptr);
  ASSERT_TRUE(settle(rows));
  EXPECT_EQ(rows.kept()->all().size(), 67u);
  EXPECT_TRUE(rows.kept()->isContinued(*before));
  EXPECT_EQ(before->all().size(), 34u);
  EXPECT_EQ(rows.rowCount(), 67);
  // Ordered otherwise the table stays as it was ordered; the timeline goes on.
  rows.sortBy({{EventRows::FixedColumns, Qt::DescendingOrder}});
  ASSERT_TRUE(settle(rows));
  document.showLive(trace(300, format_), nullptr);
  ASSERT_TRUE(settle(rows));
  EXPECT_EQ(rows.rowCount(), 67);
  EXPECT_EQ(rows.kept()->all().size(), 100u);
  rows.sortBy({{EventRows::Number, Qt::AscendingOrder}});
  ASSERT_TRUE(settle(rows));
  EXPECT_EQ(rows.rowCount(), 100);
  EXPECT_EQ(rows.rowAt(99), 297u);
  // Another filter is another thing, even with the same records.
  const auto last = rows.kept();
  ASSERT_TRUE(rows.setFilter(QStringLiteral("common_pid == 7 || common_pid == 7"), mistake));
  ASSERT_TRUE(settle(rows));
  EXPECT_FALSE(rows.kept()->isContinued(*last));
}

}  // namespace
}  // namespace kevt::gui

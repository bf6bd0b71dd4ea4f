// What a filter leaves is what the lanes, their counts and plots show, also of a trace that grows.
#include <gtest/gtest.h>

#include <QTest>
#include <algorithm>
#include <random>

#include "gui/model/event_rows.h"
#include "gui/model/lanes.h"
#include "gui/model/model_testing.h"
#include "gui/model/trace_document.h"
#include "gui/model/trace_filter.h"
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
    document_.beginLive(QStringLiteral("test"));
  }
  bool settle() {
    return QTest::qWaitFor([&] { return !rows_.isBusy(); }, kFilterPatienceMs);
  }
  bool filter(const QString& text) {
    FilterMistake mistake;
    return rows_.setFilter(text, mistake) && settle();
  }
  record::EventFormat format_;
  TraceDocument document_;
  EventRows rows_{document_};
};

TEST_F(GuiKept, LanesShowAndCountWhatTheFilterLeaves) {
  document_.showLive(trace(300, format_), nullptr);
  ASSERT_TRUE(filter(QStringLiteral("count >= 1000 && common_pid != 8")));
  const record::StoreView& view = document_.view();
  ASSERT_TRUE(rows_.kept());
  EXPECT_EQ(rows_.rowCount(), 133);  // rows 100 to 299 without pid 8's 67
  EXPECT_EQ(rows_.kept()->size(), 133u);
  std::map<QString, std::uint64_t> counts;
  for (const Lane& lane : lanesOf(view, {}, rows_.kept()))
    if (lane.kind != Lane::Kind::Group)
      counts[lane.name(view.names())] = record::count_lane(view, lane.key(), 0, ~0ull);
  const std::map<QString, std::uint64_t> expected = {{QStringLiteral("cpu:0"), 66},
                                                     {QStringLiteral("cpu:1"), 67},
                                                     {QStringLiteral("task:7"), 66},
                                                     {QStringLiteral("task:9"), 67},
                                                     {QStringLiteral("event:kprobes/open"), 133}};
  EXPECT_EQ(counts, expected);  // task 8 is left out
  std::vector<std::uint32_t> pixels(30);
  record::count_by_pixel(view, {.only = rows_.kept().get()}, {view.first_ns(), 0, 1000, 30}, pixels);
  for (std::size_t x = 0; x < pixels.size(); ++x) EXPECT_NEAR(pixels[x], x < 10 ? 0 : 6.7, 1) << x;

  // A plot has the same values.
  LanePrefs wishes;
  wishes.fields.emplace_back(QStringLiteral("kprobes/open"), QStringLiteral("count"));
  const std::atomic<bool> goes_on = false;
  for (const Lane& lane : lanesOf(view, wishes, rows_.kept())) {
    if (lane.kind != Lane::Kind::Field) continue;
    const record::FieldPyramid values(view, lane.id, "count", goes_on, plottedRows(lane));
    EXPECT_EQ(values.size(), 133u);
    EXPECT_EQ(values.whole().least, 1010);
  }
  ASSERT_TRUE(filter(QString()));
  EXPECT_FALSE(rows_.kept());
  EXPECT_EQ(rows_.rowCount(), 300);
}

TEST_F(GuiKept, OfATraceThatGrowsMoreIsLeftInEveryOrder) {
  document_.showLive(trace(100, format_), nullptr);
  ASSERT_TRUE(filter(QStringLiteral("common_pid == 7")));
  const auto before = rows_.kept();
  EXPECT_EQ(before->size(), 34u);
  document_.showLive(trace(200, format_), nullptr);
  ASSERT_TRUE(settle());
  EXPECT_EQ(rows_.kept()->size(), 67u);
  EXPECT_TRUE(rows_.kept()->is_continued(*before));
  EXPECT_EQ(before->size(), 34u);
  EXPECT_EQ(rows_.rowCount(), 67);
  // Ordered otherwise the table stays as it was ordered; the timeline goes on.
  rows_.sortBy({{EventRows::FixedColumns, Qt::DescendingOrder}});
  EXPECT_EQ(rows_.rowAt(66), 198u);  // until the worker has sorted them the table is as it was
  EXPECT_EQ(rows_.positionOf(198), 66);
  ASSERT_TRUE(settle());
  EXPECT_EQ(rows_.rowAt(0), 198u);
  EXPECT_EQ(rows_.positionOf(198), 0);
  document_.showLive(trace(300, format_), nullptr);
  ASSERT_TRUE(settle());
  EXPECT_EQ(rows_.rowCount(), 67);
  EXPECT_EQ(rows_.kept()->size(), 100u);
  rows_.sortBy({{EventRows::Number, Qt::AscendingOrder}});
  ASSERT_TRUE(settle());
  EXPECT_EQ(rows_.rowCount(), 100);
  EXPECT_EQ(rows_.rowAt(99), 297u);
  // Another filter is another thing, even with the same records.
  const auto last = rows_.kept();
  ASSERT_TRUE(filter(QStringLiteral("common_pid == 7 || common_pid == 7")));
  EXPECT_FALSE(rows_.kept()->is_continued(*last));
}

// A thread that becomes another program has another name from then on; what was kept of it stays kept.
TEST_F(GuiKept, WhatIsKeptStaysWhenItsTaskGetsAnotherName) {
  record::StoreBuilder builder;
  const auto add = [&](int count, const char* comm) {
    const std::vector<std::uint8_t> bytes(20);
    for (int i = 0; i < count; ++i)
      builder.add({.event = &format_, .time_ns = builder.rows() * 100ull, .pid = 7, .comm = comm, .bytes = bytes});
    document_.showLive(builder.view(), nullptr);
  };
  add(100, "python3");
  ASSERT_TRUE(filter(QStringLiteral("COMM == \"python3\"")));
  EXPECT_EQ(rows_.rowCount(), 100);
  const auto before = rows_.kept();
  add(50, "ls");
  ASSERT_TRUE(settle());
  EXPECT_EQ(rows_.rowCount(), 100);
  EXPECT_TRUE(rows_.kept()->is_continued(*before));
  for (int i = 0; i < rows_.rowCount(); ++i) ASSERT_EQ(rows_.rowAt(i), static_cast<record::Row>(i));
}

// Views ask for the current row while a filter is taken away.
TEST_F(GuiKept, RowsCanBeAskedForWhileAFilterGoes) {
  document_.showLive(trace(300, format_), nullptr);
  ASSERT_TRUE(filter(QStringLiteral("common_pid == 9")));
  std::vector<record::Row> asked;
  QObject::connect(&rows_, &QAbstractItemModel::modelAboutToBeReset, [&] { asked.push_back(rows_.rowAt(5)); });
  ASSERT_TRUE(filter(QString()));
  EXPECT_EQ(asked, (std::vector<record::Row>{17}));
  EXPECT_EQ(rows_.rowAt(5), 5u);
}

// Chunks are filtered block by block and event by event; a single record is asked for itself. Records of different
// lengths, of two events in turn, in more than one chunk.
TEST_F(GuiKept, OfManyRecordsTheSameAreLeftAsOneByOne) {
  std::string text = kFormat;
  text.replace(text.find("open"), 4, "wait").replace(text.find("1700"), 4, "1701");
  const record::EventFormat other = *record::parse_format("kprobes", text);
  std::mt19937_64 random(3);
  record::StoreBuilder builder;
  for (int i = 0; i < 90'000; ++i) {
    std::vector<std::uint8_t> bytes(18 + random() % 8);  // of some the count is cut
    const auto pid = static_cast<std::int32_t>(7 + random() % 5), count = static_cast<std::int32_t>(random() % 1000);
    std::memcpy(bytes.data() + 4, &pid, 4);
    std::memcpy(bytes.data() + 16, &count, std::min<std::size_t>(4, bytes.size() - 16));
    builder.add({.event = random() % 3 ? &format_ : &other,
                 .time_ns = 1000u + static_cast<std::uint64_t>(i) * 100,
                 .cpu = static_cast<std::uint32_t>(random() % 4),
                 .pid = pid,
                 .comm = pid == 8 ? "prog" : "other",
                 .bytes = bytes});
  }
  document_.showLive(builder.view(), nullptr);
  for (const char* filter_text :
       {"count > 900", "wait: count < 500 && common_pid != 8", "open: CPU == 2 || !(count & 3)", "COMM ~ \"pro*\"",
        "common_pid >= 0", "wait: count == 7 && COMM == \"prog\"", "open:", "count > 100000"}) {
    ASSERT_TRUE(filter(QString::fromLatin1(filter_text))) << filter_text;
    FilterMistake mistake;
    const auto alone = TraceFilter::compile(QString::fromLatin1(filter_text), document_.view().names(), mistake);
    ASSERT_TRUE(alone);
    int kept = 0;
    for (record::Row row = 0; row < document_.view().rows(); ++row) {
      const bool is_kept = alone->keeps(document_.view(), row);
      ASSERT_EQ(rows_.kept()->contains(row), is_kept) << filter_text << ", record " << row;
      kept += is_kept ? 1 : 0;
    }
    EXPECT_EQ(rows_.rowCount(), kept) << filter_text;
    EXPECT_EQ(kept == 0, std::string_view(filter_text) == "count > 100000") << filter_text;
  }
}

}  // namespace
}  // namespace kevt::gui

// What a recording is looked at with: lanes of hits and durations, orders, latencies, times, colours, bundles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QDropEvent>
#include <QFile>
#include <QHeaderView>
#include <QLineEdit>
#include <QMimeData>
#include <QProcess>
#include <QStatusBar>
#include <QTest>
#include <QTreeWidget>
#include <set>

#include "gui/app/log_panels.h"
#include "gui/app/main_window.h"
#include "gui/app/measure_panel.h"
#include "gui/app/search_bar.h"
#include "gui/app/window_testing.h"
#include "gui/model/event_rows.h"
#include "gui/model/event_tree.h"
#include "gui/model/model_testing.h"
#include "gui/model/trace_document.h"
#include "gui/view/event_table.h"
#include "gui/view/lane_painter.h"
#include "gui/view/timeline_view.h"

namespace kevt::gui {
namespace {

class GuiLook : public WindowTest {
 protected:
  void SetUp() override {
    dat_ = folder_.filePath("run.dat");
    ASSERT_TRUE(record(dat_)) << qPrintable(said_);
    window_.resize(1300, 900);
    window_.show();
    window_.openTrace(dat_);
    window_.settle();
    ASSERT_GT(view().rows(), 300u);
  }
  const record::StoreView& view() { return window_.timeline().view(); }
  std::optional<std::size_t> laneNamed(const QString& name) {
    const auto& lanes = window_.timeline().lanes();
    for (std::size_t i = 0; i < lanes.size(); ++i)
      if (lanes[i].name(view().names()) == name) return i;
    return std::nullopt;
  }
  void trigger(const QString& text) {
    for (QAction* action : window_.actions())
      if (action->text() == text) return action->trigger();
    FAIL() << qPrintable(text);
  }
  QImage laneImage(std::size_t lane) {
    window_.timeline().selectLane(lane);
    window_.settle();
    return window_.timeline().viewport()->grab(window_.timeline().laneRect(lane)).toImage();
  }
  static int colours(const QImage& image) {
    std::set<QRgb> all;
    for (int y = 0; y < image.height(); ++y)
      for (int x = 0; x < image.width(); ++x) all.insert(image.pixel(x, y));
    return static_cast<int>(all.size());
  }

  QString dat_;
  MainWindow window_;
};

TEST_F(GuiLook, HitsOfASearchStayAsALane) {
  window_.search().open();
  window_.search().edit().setText("/etc/passwd");
  ASSERT_TRUE(QTest::qWaitFor([&] { return !window_.search().search().isBusy(); }, kPatienceMs));
  const std::vector<record::Row> hits = window_.search().search().hits();
  ASSERT_GE(hits.size(), 200u);
  trigger("Keep the hits as a lane");
  window_.search().edit().setText("nothing like this");
  const auto lane = laneNamed("found:1:/etc/passwd");
  ASSERT_TRUE(lane);
  window_.timeline().addFound("nowhere", {});
  const auto empty = laneNamed("found:2:nowhere");
  ASSERT_TRUE(empty);
  EXPECT_GT(colours(laneImage(*lane)), colours(laneImage(*empty)));
  window_.timeline().selectRow(hits[4]);
  QTest::keyClick(&window_.timeline(), Qt::Key_BracketRight);
  EXPECT_EQ(window_.timeline().selectedRow(), hits[5]);
  window_.openTrace(dat_);  // of another trace they mean nothing
  window_.settle();
  EXPECT_FALSE(laneNamed("found:1:/etc/passwd"));
}

TEST_F(GuiLook, DurationsArePlottedAndMapped) {
  LanePrefs& wishes = window_.timeline().wishes();
  wishes.latencies = {"kprobes/opening"};
  wishes.heats = {"kprobes/opening"};
  window_.timeline().wishesChanged();
  const auto latency = laneNamed("latency:kprobes/opening"), heat = laneNamed("heat:kprobes/opening");
  ASSERT_TRUE(latency && heat);
  const QImage before = laneImage(*heat);
  EXPECT_GT(colours(laneImage(*latency)), 4);
  EXPECT_GT(colours(before), 4);
  EXPECT_TRUE(window_.timeline().isComplete());
  // A session has them again.
  const QString kevs = folder_.filePath("s.kevs");
  ASSERT_TRUE(window_.writeSession(kevs));
  MainWindow other;
  other.resize(1300, 900);
  other.show();
  ASSERT_TRUE(other.openSession(kevs));
  EXPECT_EQ(other.timeline().wishes().heats, wishes.heats);
  EXPECT_EQ(other.timeline().wishes().latencies, wishes.latencies);
}

TEST_F(GuiLook, ColoursStandForWhatOneChoosesAndPatternsGoWithThem) {
  // The tile in which a call's slice is a hundred pixels wide.
  record::Row call = 0;
  while (call < view().rows() && (view().match(call) == record::kNoRow || view().match(call) < call)) ++call;
  ASSERT_LT(call, view().rows());
  const auto lane = laneNamed(QStringLiteral("task:%1").arg(view().names().tasks[view().task(call)].pid));
  ASSERT_TRUE(lane);
  const auto length = static_cast<double>(view().time_ns(view().match(call)) - view().time_ns(call) + 1);
  const auto painted = [&] {
    LaneColors colors(window_.palette());
    colors.has_patterns = window_.timeline().hasPatterns();
    return paintTile({.view = view(),
                      .lane = window_.timeline().lanes()[*lane],
                      .pixels = {view().time_ns(call), 0, length / 100, kTilePixels},
                      .field = nullptr,
                      .sched = nullptr,
                      .colouring = window_.timeline().colouring()},
                     colors)
        .image;
  };
  const QImage by_event = painted();
  trigger("Colour by outcome (negative results)");
  const QImage by_outcome = painted();
  EXPECT_NE(by_event, by_outcome);
  trigger("Patterns besides colours");
  EXPECT_NE(painted(), by_outcome);
  trigger("Patterns besides colours");
  trigger("Colour by event");
  EXPECT_EQ(painted(), by_event);
}

TEST_F(GuiLook, ColumnsAreAsWideAsTheirTextsUnlessTheUserMovesThem) {
  QHeaderView& header = window_.table().header();
  const auto needs = [&](const char* event) {
    return window_.table().fontMetrics().horizontalAdvance(QString::fromLatin1(event)) + 20;
  };
  EXPECT_GE(header.sectionSize(EventRows::Event), needs("opening"));
  // Another recording has a longer name, which comes late.
  const QString other = folder_.filePath("other.dat");
  QProcess kevtrace;
  kevtrace.start(
      TargetProcess::findKevtrace(),
      {"run", "-q", "-o", other, "-e", "p:o libc:open64", "-e", "p:a_name_that_is_rather_long libc:write", "--",
       "/usr/bin/python3", "-S", "-c", "import os\nfor i in range(200): open('/dev/null').close()\nos.write(1, b'x')"});
  ASSERT_TRUE(kevtrace.waitForFinished(kPatienceMs) && kevtrace.exitCode() == 0);
  window_.openTrace(other);
  window_.settle();
  EXPECT_GE(header.sectionSize(EventRows::Event), needs("a_name_that_is_rather_long"));
  header.resizeSection(EventRows::Event, 70);
  window_.openTrace(dat_);
  window_.settle();
  EXPECT_EQ(header.sectionSize(EventRows::Event), 70);
}

TEST_F(GuiLook, TheTableIsOrderedBySeveralColumns) {
  QHeaderView& header = window_.table().header();
  const auto click = [&](int column, Qt::KeyboardModifiers modifiers) {
    const QPoint at(header.sectionViewportPosition(column) + 12, header.height() / 2);
    QTest::mouseClick(header.viewport(), Qt::LeftButton, modifiers, at);
    return QTest::qWaitFor([&] { return !window_.table().rows().isBusy(); }, kPatienceMs);
  };
  ASSERT_TRUE(click(EventRows::Event, Qt::NoModifier));
  ASSERT_TRUE(click(EventRows::Time, Qt::ShiftModifier));
  ASSERT_TRUE(click(EventRows::Time, Qt::ShiftModifier));
  const auto& order = window_.table().rows().sortColumns();
  ASSERT_EQ(order.size(), 2u);
  EXPECT_EQ(order[0].column, EventRows::Event);
  EXPECT_EQ(order[1].column, EventRows::Time);
  EXPECT_EQ(order[1].order, Qt::DescendingOrder);
  const auto text = [&](int row, int column) {
    return window_.table().rows().data(window_.table().rows().index(row, column), Qt::DisplayRole).toString();
  };
  EXPECT_EQ(text(0, EventRows::Event), text(1, EventRows::Event));
  EXPECT_GT(window_.table().rows().rowAt(0), window_.table().rows().rowAt(1));
  ASSERT_TRUE(click(EventRows::Cpu, Qt::NoModifier));
  EXPECT_EQ(order.size(), 1u);
}

TEST_F(GuiLook, LatencyBetweenTwoRecordsIsMeasured) {
  window_.measureLatency(30, 10);
  ASSERT_TRUE(window_.timeline().range());
  EXPECT_EQ(*window_.timeline().range(), std::pair(view().time_ns(10), view().time_ns(30)));
  EXPECT_TRUE(window_.statusBar()->currentMessage().contains("(record 31)"))
      << qPrintable(window_.statusBar()->currentMessage());
}

TEST_F(GuiLook, FlagsAndAddressesHaveNoMean) {
  const auto of = [&](const char* field) {
    const auto found = window_.measure().table().findItems(QLatin1String(field), Qt::MatchExactly | Qt::MatchRecursive);
    QStringList cells;
    for (int column = 3; !found.isEmpty() && column < found[0]->columnCount(); ++column)
      cells.append(found[0]->text(column));
    return cells.join(QLatin1Char(' ')).toStdString();
  };
  EXPECT_EQ(of("flags"), "0x0 – – – 0x80000");
  EXPECT_THAT(of("fd"), ::testing::MatchesRegex("-1 [0-9.]+( [0-9]+){3}"));
}

TEST_F(GuiLook, TimesAreWrittenByTheWallClock) {
  const auto time = [&] {
    return window_.table().rows().data(window_.table().rows().index(0, EventRows::Time), Qt::DisplayRole).toString();
  };
  const QString own = time();
  ASSERT_TRUE(window_.timeline().origin().wall_offset_ns);
  trigger("Times by the wall clock");
  EXPECT_TRUE(time().contains(QLatin1Char('-')) && time().contains(QLatin1Char(':'))) << qPrintable(time());
  const auto back = parseTime(time(), window_.timeline().origin());
  EXPECT_EQ(back, view().time_ns(0));
  trigger("Times behind the first record");
  EXPECT_EQ(time(), "+0.000000000");
  trigger("Times as the trace has them");
  EXPECT_EQ(time(), own);
}

// At another scale all tiles are painted anew.
TEST_F(GuiLook, EverythingOfATraceThatGrowsIsShownInSteps) {
  const auto format = record::parse_format("kprobes", kFormat);
  ASSERT_TRUE(format);
  TraceDocument& document = window_.document();
  TimelineView& timeline = window_.timeline();
  document.beginLive(QStringLiteral("test"));
  document.showLive(trace(10'000, *format), nullptr);
  timeline.zoomToAll();
  std::set<double> scales;
  int records = 10'000;
  for (; records < 20'000; records += 50) {
    document.showLive(trace(records, *format), nullptr);
    scales.insert(timeline.window().ns_per_pixel);
    const double right = timeline.viewport()->width();
    ASSERT_LT(timeline.xOf(view().last_ns()), right) << records;
    ASSERT_GT(timeline.xOf(view().last_ns()), right * 0.94) << records;
    const double left = timeline.xOf(view().first_ns()) - TimelineView::kGutter;
    ASSERT_TRUE(left > 0 && left < right * 0.01) << records;
  }
  EXPECT_GT(scales.size(), 10u);
  EXPECT_LT(scales.size(), 20u);
  timeline.settle();
  const QImage picture = timeline.viewport()->grab().toImage();
  for (const double part : {0.02, 0.5, 0.98}) {  // bars of the mini-map
    const int x =
        TimelineView::kGutter + static_cast<int>(part * (timeline.viewport()->width() - TimelineView::kGutter));
    EXPECT_NE(picture.pixel(x, TimelineView::kOverview - 5), picture.pixel(x, 2)) << part;
  }
  document.endLive();
  EXPECT_GT(timeline.xOf(view().last_ns()), timeline.viewport()->width() * 0.985);
}

TEST_F(GuiLook, KernelSharksMouseSetsItsTwoMarkersAndZooms) {
  TimelineView& timeline = window_.timeline();
  trigger("Mouse and markers as in KernelShark");
  const int y = timeline.laneRect(1).center().y();
  const QPoint first(static_cast<int>(timeline.xOf(view().time_ns(20))), y);
  const QPoint second(static_cast<int>(timeline.xOf(view().time_ns(200))), y);
  QTest::mouseDClick(timeline.viewport(), Qt::LeftButton, {}, first);
  trigger("Double clicks set marker B");
  QTest::mouseDClick(timeline.viewport(), Qt::LeftButton, {}, second);
  QTest::mouseDClick(timeline.viewport(), Qt::LeftButton, {}, second);  // moves it
  ASSERT_EQ(timeline.markers().size(), 2u);
  EXPECT_EQ(timeline.markers()[0].name, "A");
  EXPECT_EQ(timeline.markers()[1].name, "B");
  const double before = timeline.window().ns_per_pixel;
  QTest::mousePress(timeline.viewport(), Qt::LeftButton, {}, first);
  QTest::mouseMove(timeline.viewport(), first + QPoint(40, 0));
  QTest::mouseMove(timeline.viewport(), first + QPoint(90, 0));
  QTest::mouseRelease(timeline.viewport(), Qt::LeftButton, {}, first + QPoint(90, 0));
  EXPECT_LT(timeline.window().ns_per_pixel, before / 2);
  EXPECT_FALSE(timeline.range());
}

TEST_F(GuiLook, AnEventIsDroppedOnTheTimeline) {
  window_.timeline().wishes().hidden = {"event:kprobes/opened"};
  window_.timeline().wishesChanged();
  ASSERT_FALSE(laneNamed("event:kprobes/opened"));
  QMimeData data;
  data.setData(EventTree::kMimeType, "kprobes/opened\n");
  QDragEnterEvent enter(QPoint(400, 200), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(window_.timeline().viewport(), &enter);
  EXPECT_TRUE(enter.isAccepted());
  QDropEvent drop(QPointF(400, 200), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(window_.timeline().viewport(), &drop);
  const auto lane = laneNamed("event:kprobes/opened");
  ASSERT_TRUE(lane);
  EXPECT_EQ(window_.timeline().lanes()[0].title, "Pinned");
  EXPECT_EQ(window_.timeline().selectedLane(), lane);
}

TEST_F(GuiLook, ABundleOpensElsewhere) {
  window_.timeline().addMarker(view().time_ns(50));
  const QString bundle = folder_.filePath("b.kevb");
  const auto written = window_.writeSession(bundle);
  ASSERT_TRUE(written) << written.error().message();
  const QString line = window_.table().rows().data(window_.table().rows().index(50, 0), Qt::ToolTipRole).toString();
  const record::Row rows = view().rows();
  ASSERT_TRUE(QFile::remove(dat_));
  MainWindow other;
  other.show();
  const auto opened = other.openSession(bundle);
  ASSERT_TRUE(opened) << opened.error().message();
  EXPECT_EQ(other.document().view().rows(), rows);
  ASSERT_EQ(other.timeline().markers().size(), 1u);
  EXPECT_EQ(other.table().rows().data(other.table().rows().index(50, 0), Qt::ToolTipRole).toString(), line);
}

TEST_F(GuiLook, ASessionSaysWhenItsRecordingIsAnotherOne) {
  const QString kevs = folder_.filePath("s.kevs");
  ASSERT_TRUE(window_.writeSession(kevs));
  ASSERT_TRUE(record(dat_)) << qPrintable(said_);  // the same name, another run
  MainWindow other;
  other.show();
  ASSERT_TRUE(other.openSession(kevs));
  EXPECT_TRUE(other.problems().has("is not the recording"));
  window_.openTrace(dat_);
  window_.settle();
  ASSERT_TRUE(window_.writeSession(kevs));
  MainWindow third;
  third.show();
  ASSERT_TRUE(third.openSession(kevs));
  EXPECT_FALSE(third.problems().has("is not the recording"));
}

TEST_F(GuiLook, FlagsStandInTheTimeline) {
  std::size_t event = 0;
  while (window_.timeline().lanes()[event].kind != Lane::Kind::Event) ++event;
  const auto grabbed = [&] { return window_.timeline().viewport()->grab().toImage(); };
  window_.settle();
  const QImage before = grabbed();
  window_.timeline().setFlags({{view().time_ns(100), Flag::Kind::Trigger, "snapshot of opening"},
                               {view().time_ns(200), Flag::Kind::Clock, "the clock went back"}});
  EXPECT_NE(grabbed(), before);
  window_.openTrace(dat_);
  window_.settle();
  EXPECT_TRUE(window_.timeline().flags().empty());
}

}  // namespace
}  // namespace kevt::gui

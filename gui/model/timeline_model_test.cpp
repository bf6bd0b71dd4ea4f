// What the timeline and the table show, without either: lanes of hits and durations, what the scheduler did, colours,
// times, orders by several columns.
#include <gtest/gtest.h>

#include <QDir>
#include <QMimeData>
#include <QTemporaryDir>
#include <QTest>

#include "gui/model/event_rows.h"
#include "gui/model/event_tree.h"
#include "gui/model/lanes.h"
#include "gui/model/model_testing.h"
#include "gui/model/record_search.h"
#include "gui/model/sched_spans.h"
#include "gui/model/session_bundle.h"
#include "gui/model/time_text.h"
#include "gui/model/trace_document.h"
#include "gui/model/trigger_watch.h"
#include "tracefs-compat/record/store/store_field.h"

namespace kevt::gui {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// An event whose fields are all numbers: "s32 NAME" each, behind the common ones.
record::EventFormat numbersFormat(const char* system, const char* name, int id, const QStringList& fields) {
  QString text = QStringLiteral("name: %1\nID: %2\nformat:\n").arg(QString::fromLatin1(name)).arg(id);
  text += QStringLiteral(
      "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
      "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
      "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
      "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n");
  for (int i = 0; i < fields.size(); ++i)
    text += QStringLiteral("\tfield:int %1;\toffset:%2;\tsize:4;\tsigned:1;\n").arg(fields[i]).arg(8 + 4 * i);
  return *record::parse_format(system, (text + QStringLiteral("\nprint fmt: \"\"\n")).toStdString());
}

class GuiTimelineModel : public ModelTest {
 protected:
  void add(const record::EventFormat& format, std::uint64_t ns, std::int32_t pid, std::vector<std::int32_t> numbers) {
    std::vector<std::uint8_t> bytes(8 + 4 * numbers.size());
    const auto id = static_cast<std::uint16_t>(format.id);
    std::memcpy(bytes.data(), &id, 2);
    std::memcpy(bytes.data() + 4, &pid, 4);
    std::memcpy(bytes.data() + 8, numbers.data(), 4 * numbers.size());
    builder_.add({.event = &format, .time_ns = ns, .cpu = 0, .pid = pid, .comm = "prog", .bytes = bytes});
  }
  record::StoreBuilder builder_;
  const std::atomic<bool> goes_on_ = false;
};

TEST_F(GuiTimelineModel, HitsOfASearchAreALane) {
  const auto format = record::parse_format("kprobes", kFormat);
  ASSERT_TRUE(format);
  const record::StoreView view = trace(30, *format);
  LanePrefs wishes;
  wishes.found.push_back(
      {1, QStringLiteral("50"), std::make_shared<const record::RowSubset>(view, std::vector<record::Row>{5, 15, 25})});
  const std::vector<Lane> lanes = lanesOf(view, wishes);
  ASSERT_EQ(lanes[0].title, QStringLiteral("Found"));
  const Lane& lane = lanes[1];
  EXPECT_EQ(lane.name(view.names()), QStringLiteral("found:1:50"));
  EXPECT_EQ(lane.note, QStringLiteral("3"));
  EXPECT_EQ(record::count_lane(view, lane.key(), 0, ~0ull), 3u);
  EXPECT_EQ(record::count_lane(view, lane.key(), view.time_ns(5), view.time_ns(15)), 1u);
  EXPECT_EQ(record::nearest_in_lane(view, lane.key(), view.time_ns(13), 1000), 15u);
  EXPECT_EQ(record::nearest_in_lane(view, lane.key(), view.time_ns(10), 100), std::nullopt);
  EXPECT_EQ(record::next_in_lane(view, lane.key(), 5), 15u);
  EXPECT_EQ(record::next_in_lane(view, lane.key(), 25), std::nullopt);
  EXPECT_EQ(record::previous_in_lane(view, lane.key(), 15), 5u);
  std::vector<std::uint32_t> counts(3);
  record::count_by_pixel(view, lane.key(), {view.first_ns(), 0, 1000, 3}, counts);
  EXPECT_EQ(counts, (std::vector<std::uint32_t>{1, 1, 1}));
}

TEST_F(GuiTimelineModel, DurationsStandWhereTheirSlicesBegin) {
  const auto enters = numbersFormat("syscalls", "sys_enter_x", 1, {}),
             exits = numbersFormat("syscalls", "sys_exit_x", 2, {QStringLiteral("ret")});
  add(enters, 1000, 7, {});
  add(enters, 1100, 8, {});
  add(exits, 1500, 7, {0});
  add(exits, 3100, 8, {-2});
  add(enters, 4000, 7, {});  // never ends
  const record::StoreView view = builder_.view();
  const auto durations = record::FieldPyramid::durations(view, view.event(0), goes_on_);
  ASSERT_EQ(durations.size(), 2u);
  EXPECT_EQ(durations.time_ns(0), 1000u);
  EXPECT_EQ(durations.value(0), 500);
  EXPECT_EQ(durations.value(1), 2000);
  const std::atomic<bool> cancelled = true;
  EXPECT_EQ(record::FieldPyramid::durations(view, view.event(0), cancelled).size(), 0u);

  LanePrefs wishes;
  wishes.latencies = {QStringLiteral("syscalls/sys_enter_x")};
  wishes.heats = wishes.latencies;
  QStringList names;
  for (const Lane& lane : lanesOf(view, wishes))
    if (lane.isPlot()) names.append(lane.name(view.names()));
  EXPECT_EQ(names.join(QLatin1Char(' ')), QStringLiteral("latency:syscalls/sys_enter_x heat:syscalls/sys_enter_x"));

  // By outcome a call that failed has another colour than one that did not.
  EXPECT_EQ(colourNumber(view, {ColourBy::Outcome, {}}, 0, view.match(0)), kSucceeded);
  EXPECT_EQ(colourNumber(view, {ColourBy::Outcome, {}}, 1, view.match(1)), kFailed);
  EXPECT_EQ(colourNumber(view, {ColourBy::Outcome, {}}, 4, view.match(4)), kNoOutcome);
  EXPECT_EQ(colourNumber(view, {ColourBy::Field, QStringLiteral("ret")}, 0, view.match(0)), 0u);
  EXPECT_NE(colourNumber(view, {ColourBy::Field, QStringLiteral("ret")}, 1, view.match(1)), 0u);
  EXPECT_NE(colourNumber(view, {ColourBy::Task, {}}, 0, view.match(0)),
            colourNumber(view, {ColourBy::Task, {}}, 1, view.match(1)));
}

TEST_F(GuiTimelineModel, TheSchedulersEventsBecomeSpans) {
  const auto switches =
      numbersFormat("sched", "sched_switch", 1,
                    {QStringLiteral("prev_pid"), QStringLiteral("prev_state"), QStringLiteral("next_pid")});
  const auto wakes = numbersFormat("sched", "sched_waking", 2, {QStringLiteral("pid")});
  const auto woken = numbersFormat("sched", "sched_wakeup", 3, {QStringLiteral("pid")});
  EXPECT_FALSE(hasSchedEvents(builder_.view().names()));
  add(wakes, 100, 1, {7});
  add(woken, 110, 1, {7});
  add(switches, 150, 0, {0, 0, 7});      // 7 waited 50 ns
  add(switches, 200, 7, {7, 0x100, 8});  // preempted by 8
  add(switches, 230, 8, {8, 1, 7});      // 8 sleeps
  add(switches, 300, 7, {7, 2, 0});      // 7 sleeps
  add(wakes, 350, 1, {7});               // never runs again
  const record::StoreView view = builder_.view();
  ASSERT_TRUE(hasSchedEvents(view.names()));
  const SchedSpans spans(view, goes_on_);
  const auto of = [&](std::int32_t pid) {
    QStringList out;
    for (const SchedSpan& span : spans.between(pid, 0, ~0ull))
      out.append(QStringLiteral("%1-%2:%3").arg(span.from_ns).arg(span.to_ns).arg(static_cast<int>(span.kind)));
    return out.join(QLatin1Char(' '));
  };
  EXPECT_EQ(of(7), QStringLiteral("100-150:1 150-200:0 200-230:2 230-300:0"));
  EXPECT_EQ(of(8), QStringLiteral("200-230:0"));
  EXPECT_TRUE(of(0).isEmpty());  // a CPU with nothing to do is no task
  EXPECT_EQ(spans.between(7, 210, 220).size(), 1u);
  EXPECT_EQ(spans.between(7, 301, 400).size(), 0u);
  const std::atomic<bool> cancelled = true;
  EXPECT_TRUE(SchedSpans(view, cancelled).empty());
}

TEST_F(GuiTimelineModel, TimesAreWrittenAndReadThreeWays) {
  qputenv("TZ", "UTC");
  tzset();
  const TimeOrigin origin{.first_ns = 5 * kSecond, .wall_offset_ns = 1'700'000'000 * kSecond};
  EXPECT_EQ(timeText(6'500'000'001, TimeFormat::Trace, origin), QStringLiteral("6.500000001"));
  EXPECT_EQ(timeText(6'500'000'001, TimeFormat::Relative, origin), QStringLiteral("+1.500000001"));
  EXPECT_EQ(timeText(6'500'000'001, TimeFormat::Wall, origin), QStringLiteral("2023-11-14 22:13:26.500000001"));
  EXPECT_EQ(timeText(6'500'000'001, TimeFormat::Wall, {.first_ns = 0, .wall_offset_ns = {}}),
            QStringLiteral("6.500000001"));
  EXPECT_EQ(parseTime(QStringLiteral("6.500000001"), origin), 6'500'000'001u);
  EXPECT_EQ(parseTime(QStringLiteral(" +1.5"), origin), 6'500'000'000u);
  EXPECT_EQ(parseTime(QStringLiteral("22:13:26.5"), origin), 6'500'000'000u);
  EXPECT_EQ(parseTime(QStringLiteral("2023-11-14 22:13:26.500000001"), origin), 6'500'000'001u);
  EXPECT_EQ(parseTime(QStringLiteral("22:13:26"), {.first_ns = 5, .wall_offset_ns = {}}), std::nullopt);
  for (const char* wrong : {"", "+", "x", "-1", "25:61:00", "99999999999999999999", "1e9", "2023-14-14 22:13:26"})
    EXPECT_EQ(parseTime(QString::fromLatin1(wrong), origin), std::nullopt) << wrong;
}

TEST_F(GuiTimelineModel, RowsAreOrderedBySeveralColumns) {
  const auto format = record::parse_format("kprobes", kFormat);
  ASSERT_TRUE(format);
  TraceDocument document;
  EventRows rows(document);
  document.beginLive(QStringLiteral("test"));
  document.showLive(trace(12, *format), nullptr);
  rows.sortBy({{EventRows::Pid, Qt::DescendingOrder}, {EventRows::FixedColumns, Qt::DescendingOrder}});
  ASSERT_TRUE(QTest::qWaitFor([&] { return !rows.isBusy(); }, 20000));
  QStringList order;
  for (int i = 0; i < rows.rowCount(); ++i) order.append(QString::number(rows.rowAt(i)));
  EXPECT_EQ(order.join(QLatin1Char(' ')), QStringLiteral("11 8 5 2 10 7 4 1 9 6 3 0"));
  // What is the same stays in the order of time, whichever way it is turned.
  rows.sortBy({{EventRows::Pid, Qt::DescendingOrder}});
  ASSERT_TRUE(QTest::qWaitFor([&] { return !rows.isBusy(); }, 20000));
  EXPECT_EQ(rows.rowAt(0), 2u);
  EXPECT_EQ(rows.rowAt(3), 11u);
  rows.setTimeFormat(TimeFormat::Relative);
  EXPECT_EQ(rows.data(rows.index(0, EventRows::Time), Qt::DisplayRole).toString(), QStringLiteral("+0.000000200"));
}

// In the table, its sorted rows, its search and its tool tips.
TEST_F(GuiTimelineModel, EventsOfPluginsAreToldInTheirWords) {
  const auto wakes = numbersFormat("sched", "sched_wakeup", 3,
                                   {QStringLiteral("pid"), QStringLiteral("prio"), QStringLiteral("target_cpu")});
  for (int i = 0; i < 2500; ++i) add(wakes, 100 + static_cast<std::uint64_t>(i), 1, {3000 - i, 120, 1});
  TraceDocument document;
  EventRows rows(document);
  RecordSearch search(document, rows);
  document.beginLive(QStringLiteral("test"));
  document.showLive(builder_.view(), nullptr);
  const auto details = [&](int position) {
    return rows.data(rows.index(position, EventRows::Details), Qt::DisplayRole).toString();
  };
  EXPECT_EQ(details(0), QStringLiteral("3000 [120] CPU:001"));
  EXPECT_EQ(details(2499), QStringLiteral("501 [120] CPU:001"));
  EXPECT_TRUE(rows.data(rows.index(7, EventRows::Details), Qt::ToolTipRole)
                  .toString()
                  .endsWith(QStringLiteral(": sched_wakeup: 2993 [120] CPU:001")));
  QString error;
  ASSERT_TRUE(search.start({QStringLiteral(": 1234 ["), false, true}, error));
  ASSERT_TRUE(QTest::qWaitFor([&] { return !search.isBusy(); }, 60000));
  ASSERT_EQ(search.hits().size(), 1u);
  EXPECT_EQ(search.hits()[0], 3000u - 1234u);
  rows.sort(EventRows::Details, Qt::AscendingOrder);
  ASSERT_TRUE(QTest::qWaitFor([&] { return !rows.isBusy(); }, 20000));
  EXPECT_EQ(details(0), QStringLiteral("1000 [120] CPU:001"));
  EXPECT_EQ(details(1), QStringLiteral("1001 [120] CPU:001"));
  EXPECT_EQ(details(2499), QStringLiteral("999 [120] CPU:001"));
}

TEST_F(GuiTimelineModel, SessionsKeepTheLookAndKnowTheirRecording) {
  Session s;
  s.latencies = {QStringLiteral("a/b")};
  s.heats = {QStringLiteral("c/d")};
  s.time_format = 2;
  s.colour_by = 3;
  s.colour_field = QStringLiteral("fd");
  s.has_patterns = true;
  s.mouse = QStringLiteral("kernelshark");
  s.trace_hash = QStringLiteral("12ab");
  const auto again = fromJson(toJson(s));
  ASSERT_TRUE(again);
  EXPECT_EQ(toJson(*again), toJson(s));
  EXPECT_EQ(again->colour_field, QStringLiteral("fd"));
  EXPECT_TRUE(again->has_patterns);

  QTemporaryDir folder;
  const QString path = folder.filePath(QStringLiteral("x"));
  const auto write = [&](const QByteArray& text) {
    QFile file(path);
    return file.open(QIODevice::WriteOnly) && file.write(text) == text.size();
  };
  ASSERT_TRUE(write(QByteArray(3 << 20, 'a')));
  const QString hash = fileHash(path);
  EXPECT_EQ(hash.size(), 64);
  EXPECT_EQ(fileHash(path), hash);
  ASSERT_TRUE(write(QByteArray(3 << 20, 'a') + 'b'));
  EXPECT_NE(fileHash(path), hash);
  EXPECT_TRUE(fileHash(folder.filePath(QStringLiteral("none"))).isEmpty());
}

TEST_F(GuiTimelineModel, EventsAreDraggedByTheirNames) {
  EventTree tree;
  LiveState state;
  state.events = {{.system = QStringLiteral("a"), .name = QStringLiteral("x")}};
  tree.take(state);
  const QModelIndex event = tree.find(QStringLiteral("a"), QStringLiteral("x"));
  EXPECT_TRUE(tree.flags(event) & Qt::ItemIsDragEnabled);
  EXPECT_FALSE(tree.flags(event.parent()) & Qt::ItemIsDragEnabled);
  const std::unique_ptr<QMimeData> data(tree.mimeData({event, event.siblingAtColumn(EventTree::Hits), event.parent()}));
  EXPECT_EQ(data->data(QString::fromLatin1(EventTree::kMimeType)), "a/x\n");
}

LiveState stateOf(const char* trigger, bool is_tracing = true) {
  LiveState state;
  state.is_tracing = is_tracing;
  state.events = {{.system = QStringLiteral("kprobes"),
                   .name = QStringLiteral("open"),
                   .is_enabled = true,
                   .trigger = QString::fromLatin1(trigger)}};
  return state;
}

TEST_F(GuiTimelineModel, TriggersThatWentOffAreKnownByTheirRecords) {
  const auto format = record::parse_format("kprobes", kFormat);
  ASSERT_TRUE(format);
  TriggerWatch watch;
  const auto settle = [&] { return QTest::qWaitFor([&] { return !watch.isBusy(); }, 20000); };
  watch.take(stateOf("snapshot:count=2 if count >= 120"), trace(10, *format));
  ASSERT_TRUE(settle());
  EXPECT_TRUE(watch.firings().empty());
  // Counts are 10, 20 …: records 12 and 13 use it up.
  watch.take(stateOf("snapshot:count=1 if count >= 120"), trace(13, *format));
  ASSERT_TRUE(settle());
  watch.take(stateOf("snapshot:count=0 if count >= 120"), trace(30, *format));
  ASSERT_TRUE(settle());
  ASSERT_EQ(watch.firings().size(), 2u);
  EXPECT_EQ(watch.firings()[0].ns, 1000u + 1200u);
  EXPECT_EQ(watch.firings()[1].ns, 1000u + 1300u);
  EXPECT_EQ(watch.firings()[0].text, QStringLiteral("snapshot of open"));

  // Tracing that goes off while a traceoff is set was switched off by it; without one by somebody.
  watch.clear();
  watch.take(stateOf("traceoff:unlimited"), trace(20, *format));
  watch.take(stateOf("traceoff:unlimited", false), trace(20, *format));
  ASSERT_EQ(watch.firings().size(), 1u);
  EXPECT_EQ(watch.firings()[0].ns, 1000u + 1900u);
  EXPECT_EQ(watch.firings()[0].text, QStringLiteral("traceoff of open"));
  watch.clear();
  watch.take(stateOf(""), trace(20, *format));
  watch.take(stateOf("", false), trace(20, *format));
  EXPECT_TRUE(watch.firings().empty());
}

TEST_F(GuiTimelineModel, ABundleIsASessionWithItsRecording) {
  QTemporaryDir folder, other;
  const QString recording = folder.filePath(QStringLiteral("r.dat")),
                bundle = folder.filePath(QStringLiteral("b.kevb"));
  const auto write = [](const QString& path, const QByteArray& bytes) {
    QFile file(path);
    return file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size();
  };
  const auto read = [](const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
  };
  const QByteArray bytes(3'000'000, 'x');
  ASSERT_TRUE(write(recording, bytes));
  Session s;
  s.probes = QStringLiteral("p:a b");
  s.directory = QStringLiteral("/tmp/x");
  s.pid = 7;
  s.command = {QStringLiteral("ls")};
  ASSERT_TRUE(writeBundle(s, recording, bundle));
  const auto again = readBundle(bundle, other.path());
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->probes, s.probes);
  EXPECT_EQ(read(again->trace), bytes);
  EXPECT_EQ(again->trace_hash, fileHash(again->trace));
  EXPECT_TRUE(again->directory.isEmpty() && again->command.isEmpty() && again->pid == 0);

  // Cut, longer, or something else: refused.
  const QByteArray whole = read(bundle);
  for (const QByteArray& wrong :
       {whole.left(whole.size() - 1), whole + 'x', whole.left(20), QByteArray(), QByteArray("kevtrace-bundle 1 9 -9\n"),
        QByteArray("kevtrace-bundle 1 99999999999 0\n"), QByteArray("kevtrace-bundle 1 2 0\n{}")}) {
    ASSERT_TRUE(write(bundle, wrong));
    EXPECT_FALSE(readBundle(bundle, other.path())) << wrong.left(40).toStdString();
  }
  EXPECT_FALSE(readBundle(folder.filePath(QStringLiteral("none")), other.path()));
  EXPECT_FALSE(writeBundle(s, folder.filePath(QStringLiteral("none")), bundle));
}

}  // namespace
}  // namespace kevt::gui

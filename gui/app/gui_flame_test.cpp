// The flame graph of a real program's stacks, by mouse and keyboard.
#include <QCheckBox>
#include <QComboBox>
#include <QDesktopServices>
#include <QDockWidget>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QLineEdit>
#include <QMenu>
#include <QPointer>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <QTimer>
#include <QToolButton>
#include <QUrl>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gui/app/compare_dialog.h"
#include "gui/app/filter_bar.h"
#include "gui/app/flame_panel.h"
#include "gui/app/log_panels.h"
#include "gui/app/main_window.h"
#include "gui/app/screenshot.h"
#include "gui/app/window_testing.h"
#include "gui/model/event_rows.h"
#include "gui/model/trace_document.h"
#include "gui/view/event_table.h"
#include "gui/view/flame_view.h"
#include "gui/view/timeline_view.h"

namespace kevt::gui {

// Files that would be shown by another program.
class Opened : public QObject {
  Q_OBJECT

 public:
  Opened() { QDesktopServices::setUrlHandler(QStringLiteral("file"), this, "take"); }
  ~Opened() override { QDesktopServices::unsetUrlHandler(QStringLiteral("file")); }
  QList<QUrl> urls;

 public Q_SLOTS:
  void take(const QUrl& url) { urls.append(url); }
};

class GuiFlame : public WindowTest {
 protected:
  // Opens of three functions of a script: inner() is called by one of them, and opens twice as often.
  bool recordStacks(const QString& path) {
    QProcess kevtrace;
    kevtrace.setProcessChannelMode(QProcess::MergedChannels);
    kevtrace.start(TargetProcess::findKevtrace(),
                   {"run", "--stack", "-o", path, "-f", "dat", "-e", "p:opening libc:open64 flags=%si:u32", "--",
                    "/usr/bin/python3", "-S", "-c", "for i in range(200): open('/etc/passwd').close()"});
    if (!kevtrace.waitForFinished(kPatienceMs)) return false;
    said_ = QString::fromUtf8(kevtrace.readAll());
    return kevtrace.exitCode() == 0 && QFile::exists(path);
  }

  // As the form has it, and as the page.
  static QString rangeOf(std::uint64_t from_ns, std::uint64_t to_ns) {
    const auto seconds = [](std::uint64_t ns) {
      return QStringLiteral("%1.%2").arg(ns / 1'000'000'000).arg(ns % 1'000'000'000, 9, 10, QLatin1Char('0'));
    };
    return seconds(from_ns) + QLatin1Char(',') + seconds(to_ns);
  }
  static QString micros(std::uint64_t ns) {
    return QStringLiteral("%1.%2").arg(ns / 1'000'000'000).arg(ns / 1000 % 1'000'000, 6, 10, QLatin1Char('0'));
  }

  static void show(MainWindow& window) {
    window.resize(1400, 900);
    window.show();
    window.findChild<QDockWidget*>(QStringLiteral("flame"))->raise();
  }

  static std::optional<std::size_t> named(const FlameView& graph, std::string_view name) {
    for (std::size_t i = 0; i < graph.tree()->nodes().size(); ++i)
      if (graph.tree()->nodes()[i].name.starts_with(name)) return i;
    return std::nullopt;
  }
};

TEST_F(GuiFlame, ZoomsSearchesComparesAndIsSaved) {
  const QString dat = folder_.filePath("stacks.dat");
  ASSERT_TRUE(recordStacks(dat)) << qPrintable(said_);
  MainWindow window;
  show(window);
  window.openTrace(dat);
  window.settle();
  FlamePanel& panel = window.flame();
  FlameView& graph = panel.graph();
  ASSERT_NE(graph.tree(), nullptr);
  const auto& nodes = graph.tree()->nodes();
  const std::uint64_t stacks = window.document().view().rows() / 2;  // each record has one
  EXPECT_EQ(nodes.front().weight, stacks);
  EXPECT_EQ(graph.tree()->counts(), "stacks");
  EXPECT_TRUE(panel.head().startsWith("whole trace: ")) << qPrintable(panel.head());

  // A click zooms, Escape takes it back; the arrows walk.
  const auto main = named(graph, "Py_BytesMain");
  ASSERT_TRUE(main);
  ASSERT_FALSE(graph.boxOf(*main).isEmpty());
  QTest::mouseClick(&graph, Qt::LeftButton, {}, graph.boxOf(*main).center().toPoint());
  EXPECT_EQ(graph.zoomed(), *main);
  EXPECT_NEAR(graph.boxOf(*main).width(), graph.width(), 1);
  EXPECT_FALSE(graph.boxOf(0).isEmpty());
  QTest::keyClick(&graph, Qt::Key_Down);
  ASSERT_TRUE(graph.current());
  EXPECT_EQ(nodes[*graph.current()].depth, nodes[*main].depth + 1);
  EXPECT_TRUE(panel.head().contains(QString::fromStdString(nodes[*graph.current()].name)));
  QTest::keyClick(&graph, Qt::Key_Up);
  EXPECT_EQ(graph.current(), main);
  QTest::keyClick(&graph, Qt::Key_Escape);
  EXPECT_EQ(graph.zoomed(), 0u);

  // What is found, of the whole.
  panel.search().setText("py_bytesmain");
  EXPECT_NEAR(graph.foundPart(), static_cast<double>(nodes[*main].weight) / static_cast<double>(stacks), 1e-9);
  panel.search().setText("no such function");
  EXPECT_EQ(graph.foundPart(), 0);
  panel.search().clear();
  const QString png = folder_.filePath("flame.png");
  ASSERT_TRUE(saveScreenshot(window, png));
  if (const QByteArray shot = qgetenv("KEVTRACE_GUI_TEST_SHOT"); !shot.isEmpty()) QFile::copy(png, shot + ".flame.png");

  // A stack is one line of the table.
  const EventRows& rows = window.table().rows();
  for (int row = 0; row < 20; ++row) EXPECT_FALSE(rows.index(row, EventRows::Details).data().toString().contains('\n'));
  EXPECT_TRUE(rows.index(1, EventRows::Details).data().toString().contains(QStringLiteral(" \u2190 ")));

  // Turned: the outermost frames are those that were innermost.
  panel.bottomUp().setChecked(true);
  window.settle();
  const auto open = named(graph, "open");
  ASSERT_TRUE(open);
  EXPECT_EQ(graph.tree()->nodes()[*open].depth, 1u);
  panel.bottomUp().setChecked(false);
  window.settle();

  // By a field: what the flags of all opens sum up to.
  const int flags = panel.weight().findData("opening.flags");
  ASSERT_GE(flags, 0);
  panel.weight().setCurrentIndex(flags);
  Q_EMIT panel.weight().activated(flags);
  window.settle();
  std::uint64_t sum = 0;
  for (record::Row row = 0; row < window.document().view().rows(); ++row)
    if (const record::Field* field = window.document().view().format(row).find("flags"))
      sum += record::value_of(*field, window.document().view().bytes(row)).number;
  EXPECT_EQ(graph.tree()->nodes().front().weight, sum);
  EXPECT_GT(sum, 0u);
  panel.weight().setCurrentIndex(0);
  Q_EMIT panel.weight().activated(0);
  window.settle();

  // A filter leaves the stacks of the records that it leaves.
  window.filterBar().setText("opening: flags == 524288");
  window.settle();
  EXPECT_EQ(graph.tree()->counts(), "stacks");
  EXPECT_GE(graph.tree()->nodes().front().weight, 200u);
  EXPECT_LT(graph.tree()->nodes().front().weight, stacks);
  window.filterBar().setText("");
  window.settle();

  // The first half, beside the whole.
  panel.compare().setChecked(true);
  window.settle();
  const record::StoreView& view = window.document().view();
  window.timeline().setRange(std::pair(view.first_ns(), view.time_ns(view.rows() / 2)));
  window.settle();
  ASSERT_TRUE(graph.tree()->compares());
  EXPECT_EQ(graph.tree()->nodes().front().before, stacks);
  EXPECT_LT(graph.tree()->nodes().front().weight, stacks);
  EXPECT_TRUE(panel.head().startsWith("range: ")) << qPrintable(panel.head());
  EXPECT_TRUE(graph.textOf(0).contains(QString("before %1").arg(stacks)));
  const QString svg = folder_.filePath("flame.svg");
  ASSERT_TRUE(panel.save(svg));
  QFile file(svg);
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  EXPECT_TRUE(file.readAll().contains(QByteArray("before " + QByteArray::number(static_cast<qulonglong>(stacks)))));
  EXPECT_FALSE(panel.save(folder_.filePath("no/such/folder.svg")));
}

TEST_F(GuiFlame, WithoutStacksItIsTheTimeOfCallsAndWhatTheFilterLeaves) {
  const QString dat = folder_.filePath("calls.dat");
  ASSERT_TRUE(record(dat)) << qPrintable(said_);
  MainWindow window;
  show(window);
  window.openTrace(dat);
  window.settle();
  FlameView& graph = window.flame().graph();
  ASSERT_NE(graph.tree(), nullptr);
  EXPECT_EQ(graph.tree()->counts(), "ns");
  EXPECT_GT(graph.tree()->nodes().front().weight, 0u);
  window.filterBar().setText("opening: ");
  window.settle();
  EXPECT_EQ(graph.tree()->counts(), "records");  // no call has an end now
  window.filterBar().setText("opening: flags == 12345");
  window.settle();
  EXPECT_EQ(graph.tree()->nodes().front().weight, 0u);
  EXPECT_TRUE(saveScreenshot(window, folder_.filePath("empty.png")));
}

// By the button's menu and a file dialog; what is selected goes on being compared with the other one's whole.
TEST_F(GuiFlame, StandsBesideAnotherRecordings) {
  const QString before = folder_.filePath("before.dat"), now = folder_.filePath("now.dat");
  ASSERT_TRUE(recordStacks(before)) << qPrintable(said_);
  ASSERT_TRUE(recordStacks(now)) << qPrintable(said_);
  const QString calls = folder_.filePath("calls.dat");
  ASSERT_TRUE(record(calls)) << qPrintable(said_);
  MainWindow window;
  show(window);
  window.openTrace(before);
  window.settle();
  FlamePanel& panel = window.flame();
  FlameView& graph = panel.graph();
  const std::uint64_t stacks = graph.tree()->nodes().front().weight;
  window.openTrace(now);
  window.settle();
  const auto choose = [&](const QString& file) {
    QTimer::singleShot(0, [&] {
      auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
      ASSERT_NE(dialog, nullptr);
      auto* name = dialog->findChild<QLineEdit*>(QStringLiteral("fileNameEdit"));
      ASSERT_NE(name, nullptr);
      name->setText(file);
      QTest::keyClick(name, Qt::Key_Return);
    });
    panel.compare().menu()->actions().front()->trigger();
    window.settle();
  };
  choose(before);
  ASSERT_TRUE(graph.tree()->compares());
  EXPECT_TRUE(panel.compare().isChecked());
  EXPECT_EQ(graph.tree()->nodes().front().before, stacks);
  EXPECT_TRUE(panel.head().endsWith(QString(", %1 in before.dat").arg(stacks))) << qPrintable(panel.head());
  const record::StoreView& view = window.document().view();
  window.timeline().setRange(std::pair(view.first_ns(), view.time_ns(view.rows() / 2)));
  window.settle();
  EXPECT_LT(graph.tree()->nodes().front().weight, stacks);
  EXPECT_EQ(graph.tree()->nodes().front().before, stacks);
  ASSERT_TRUE(saveScreenshot(window, folder_.filePath("flame.png")));

  // Another weight is another weight of both.
  const auto weigh = [&](const char* by) {
    const int at = panel.weight().findData(by);
    ASSERT_GE(at, 0);
    panel.weight().setCurrentIndex(at);
    Q_EMIT panel.weight().activated(at);
    window.settle();
  };
  weigh("opening.flags");
  ASSERT_TRUE(graph.tree()->compares());
  EXPECT_EQ(graph.tree()->counts(), "opening.flags");
  EXPECT_GT(graph.tree()->nodes().front().before, stacks);  // each open has O_CLOEXEC
  weigh("");

  // What has other weights, is no recording or not there is not beside it, and why is said.
  const auto refuses = [&](const QString& file, const QString& why) {
    choose(file);
    EXPECT_FALSE(panel.compare().isChecked());
    EXPECT_FALSE(graph.tree()->compares());
    EXPECT_TRUE(window.problems().has(file + why));
    window.findChild<QDockWidget*>(QStringLiteral("flame"))->raise();
  };
  refuses(calls, " weighs ns, this one stacks: choose a weight that both have");
  QFile none(folder_.filePath("none.dat"));
  ASSERT_TRUE(none.open(QIODevice::WriteOnly));
  none.write("no recording");
  none.close();
  refuses(none.fileName(), " is no recording that can be read");

  // Of one that is cut there is what can be read, and why it is not all is said.
  const QString cut = folder_.filePath("cut.dat");
  ASSERT_TRUE(QFile::copy(before, cut));
  ASSERT_TRUE(QFile::resize(cut, QFileInfo(cut).size() - 8192));
  choose(cut);
  EXPECT_TRUE(graph.tree()->compares());
  EXPECT_TRUE(window.problems().has(cut + ": "));
  window.findChild<QDockWidget*>(QStringLiteral("flame"))->raise();

  // The button takes it away.
  choose(before);
  ASSERT_TRUE(graph.tree()->compares());
  panel.compare().click();
  window.settle();
  EXPECT_FALSE(graph.tree()->compares());
}

TEST_F(GuiFlame, TwoRecordingsAreComparedAsAPage) {
  const QString before = folder_.filePath("before.dat"), now = folder_.filePath("now.dat");
  ASSERT_TRUE(recordStacks(before)) << qPrintable(said_);
  ASSERT_TRUE(recordStacks(now)) << qPrintable(said_);
  MainWindow window;
  window.openTrace(now);
  window.settle();
  for (const char* const align : {"", "opening"}) {
    const QString page = folder_.filePath("page.html");
    std::optional<Result<std::string>> done;
    window.compare({.before = before, .before_range = {}, .range = {}, .align_on = align, .page = page},
                   [&](const Result<std::string>& unread) { done = unread; });
    ASSERT_TRUE(QTest::qWaitFor([&] { return done.has_value(); }, kPatienceMs));
    ASSERT_TRUE(*done) << done->error().message();
    QFile file(page);
    ASSERT_TRUE(file.open(QIODevice::ReadOnly));
    const QByteArray text = file.readAll();
    EXPECT_TRUE(text.contains("<td>kprobes:opening</td>"));
    EXPECT_EQ(text.contains("of each, from the first opening on"), *align != 0);
  }
  std::optional<Result<std::string>> done;
  const QString none = folder_.filePath("none.html");
  window.compare({.before = before, .before_range = {}, .range = {}, .align_on = "nobody", .page = none},
                 [&](const Result<std::string>& unread) { done = unread; });
  ASSERT_TRUE(QTest::qWaitFor([&] { return done.has_value(); }, kPatienceMs));
  ASSERT_FALSE(*done);
  EXPECT_EQ(done->error().message(), "A has no record of `nobody` to align on");
  EXPECT_FALSE(QFile::exists(none));
}

// The form: two parts of one recording, the selected one and one that is typed.
TEST_F(GuiFlame, PartsOfARecordingAreComparedByTheForm) {
  const QString dat = folder_.filePath("stacks.dat"), page = folder_.filePath("parts.html");
  ASSERT_TRUE(recordStacks(dat)) << qPrintable(said_);
  MainWindow window;
  show(window);
  EXPECT_EQ(window.askCompare(), nullptr);
  EXPECT_TRUE(window.problems().has("open a recording first"));
  window.openTrace(dat);
  window.settle();
  const record::StoreView view = window.document().view();
  const std::uint64_t first = view.time_ns(0), middle = view.time_ns(view.rows() / 2);
  window.timeline().setRange(std::pair(first, middle));
  for (const std::uint64_t at : {first, middle, first + 1}) window.timeline().addMarker(at);
  Opened opened;
  QPointer<CompareDialog> form = window.askCompare();
  ASSERT_NE(form, nullptr);
  EXPECT_EQ(form->range().currentText(), "selected: " + rangeOf(first, middle));
  ASSERT_EQ(form->range().count(), 5);
  EXPECT_EQ(form->range().itemText(2), "A to C: " + rangeOf(first, first + 1));
  EXPECT_EQ(form->range().itemText(3), "C to B: " + rangeOf(first + 1, middle));
  EXPECT_EQ(form->range().itemText(4), "A to B: " + rangeOf(first, middle));
  EXPECT_FALSE(form->compareButton().isEnabled());
  EXPECT_EQ(form->verdict(), "Which recording is the earlier one?");
  form->before().setEditText(folder_.filePath("nothing.dat"));
  EXPECT_EQ(form->verdict(), "There is no recording " + folder_.filePath("nothing.dat"));
  form->before().setEditText("ch+http://127.0.0.1:1/nowhere");
  EXPECT_EQ(form->verdict(), "");
  EXPECT_EQ(form->before().itemText(0), dat);
  form->before().setEditText(dat);
  form->beforeRange().setEditText("1..2");
  EXPECT_TRUE(form->verdict().startsWith("`1..2` is no FROM,TO: ")) << qPrintable(form->verdict());
  form->beforeRange().setEditText(rangeOf(first, middle));
  EXPECT_EQ(form->verdict(), "This is one recording: which two parts of it?");
  form->beforeRange().setEditText(rangeOf(middle, view.time_ns(view.rows() - 1)));
  form->page().setText(dat);
  EXPECT_EQ(form->verdict(), "The page would take the place of a recording");
  form->page().setText(folder_.filePath("none/parts.html"));
  EXPECT_EQ(form->verdict(), "");
  EXPECT_TRUE(saveScreenshot(*form, folder_.filePath("form.png")));
  form->compareButton().click();
  EXPECT_FALSE(form->page().isEnabled());
  ASSERT_TRUE(QTest::qWaitFor([&] { return form->verdict().startsWith("⚠ "); }, kPatienceMs));
  EXPECT_TRUE(form->page().isEnabled());
  EXPECT_TRUE(form->verdict().contains("none/parts.html")) << qPrintable(form->verdict());
  ASSERT_TRUE(QFile(page).open(QIODevice::WriteOnly));
  form->page().setText(page);
  EXPECT_EQ(form->verdict(), "parts.html is there, and will be replaced");
  form->compareButton().click();
  ASSERT_TRUE(QTest::qWaitFor([&] { return form.isNull(); }, kPatienceMs));
  EXPECT_EQ(opened.urls, QList<QUrl>{QUrl::fromLocalFile(page)});
  QFile file(page);
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  const QString text = QString::fromUtf8(file.readAll());
  EXPECT_TRUE(text.contains("<p>Compared are A from " + micros(middle) + " to " +
                            micros(view.time_ns(view.rows() - 1)) + "; B from " + micros(first) + " to " +
                            micros(middle) + ".</p>"))
      << qPrintable(text.left(20'000));
}

// The tasks of each are its own, and the records of both stand in one timeline.
TEST_F(GuiFlame, TwoRecordingsStandBesideOneAnother) {
  const QString before = folder_.filePath("before.dat"), now = folder_.filePath("now.dat");
  ASSERT_TRUE(recordStacks(before)) << qPrintable(said_);
  ASSERT_TRUE(recordStacks(now)) << qPrintable(said_);
  MainWindow window;
  show(window);
  window.openTrace(before);
  window.settle();
  const std::uint64_t rows = window.document().view().rows();
  const std::uint64_t began = window.document().view().time_ns(0);
  window.openBeside(now, "opening");
  window.settle();
  const record::StoreView both = window.document().view();
  EXPECT_EQ(window.windowTitle(), QStringLiteral("before.dat beside now.dat — kevtrace"));
  EXPECT_GT(both.rows(), rows);
  std::map<std::string, std::uint64_t> first, count;  // by recording
  std::map<std::string, record::Row> first_row;
  const std::vector<std::string> instances = window.document().metadata()->instances;
  for (record::Row row = 0; row < both.rows(); ++row) {
    const record::TypedRecord record = both.typed(row);
    const std::string& of = instances.at(record.instance - 1);
    ++count[of];
    if (record.event->name == "opening" && first.try_emplace(of, record.time_ns).second) first_row[of] = row;
  }
  EXPECT_EQ(count["before.dat"], rows);
  EXPECT_EQ(first.size(), 2u);
  EXPECT_EQ(first["before.dat"], first["now.dat"]);
  EXPECT_EQ(both.time_ns(0), began);
  EXPECT_TRUE(saveScreenshot(window, folder_.filePath("beside.png")));

  // A marker a millisecond behind it: the other recording goes there.
  window.timeline().addMarker(first["before.dat"] + 1'000'000);
  window.timeline().selectRow(first_row["now.dat"]);
  const auto moved = window.moveBeside();
  ASSERT_TRUE(moved) << moved.error().message();
  window.settle();
  const record::StoreView shifted = window.document().view();
  EXPECT_EQ(shifted.rows(), both.rows());
  std::map<std::string, std::uint64_t> after;
  for (record::Row row = 0; row < shifted.rows(); ++row)
    if (const record::TypedRecord record = shifted.typed(row); record.event->name == "opening")
      after.try_emplace(instances.at(record.instance - 1), record.time_ns);
  EXPECT_EQ(after["now.dat"] - after["before.dat"], 1'000'000u);

  // Both are compared in one range of the timeline: a millisecond from the marker on.
  window.timeline().setRange(std::pair(after["now.dat"], after["now.dat"] + 1'000'000));
  std::map<std::string, std::uint64_t> in_range;
  for (record::Row row = 0; row < shifted.rows(); ++row)
    if (const record::TypedRecord record = shifted.typed(row); record.event->name == "opening")
      in_range[instances.at(record.instance - 1)] +=
          record.time_ns >= after["now.dat"] && record.time_ns <= after["now.dat"] + 1'000'000 ? 1 : 0;
  Opened opened;
  const QPointer<CompareDialog> form = window.askCompare();
  ASSERT_NE(form, nullptr);
  EXPECT_FALSE(form->beforeRange().isVisible());
  EXPECT_FALSE(form->before().isEnabled());
  EXPECT_EQ(form->verdict(), "");
  EXPECT_EQ(form->page().text(), folder_.filePath("comparison.html"));
  form->compareButton().click();
  ASSERT_TRUE(QTest::qWaitFor([&] { return form.isNull(); }, kPatienceMs));
  QFile page(folder_.filePath("comparison.html"));
  ASSERT_TRUE(page.open(QIODevice::ReadOnly));
  const QString text = QString::fromUtf8(page.readAll());
  ASSERT_GT(in_range["now.dat"], 0u);
  EXPECT_TRUE(text.contains(QStringLiteral("<tr><td>kprobes:opening</td><td>%1</td><td>%2</td>")
                                .arg(in_range["before.dat"])
                                .arg(in_range["now.dat"])))
      << qPrintable(text.left(20'000));

  // A session knows both.
  const QString session = folder_.filePath("both.kevs");
  ASSERT_TRUE(window.writeSession(session));
  MainWindow again;
  ASSERT_TRUE(again.openSession(session));
  again.settle();
  EXPECT_EQ(again.document().view().rows(), both.rows());
}

}  // namespace kevt::gui

#include "gui_flame_test.moc"

// What others wrote, traced strings and sessions, is shown as it is written, and no directory is followed unasked.
#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QDir>
#include <QFileInfo>
#include <QHelpEvent>
#include <QLabel>
#include <QMessageBox>
#include <QTimer>
#include <QToolTip>

#include "gui/app/log_panels.h"
#include "gui/app/main_window.h"
#include "gui/app/window_testing.h"
#include "gui/model/event_rows.h"
#include "gui/model/event_tree.h"
#include "gui/model/session.h"
#include "gui/model/trace_document.h"
#include "gui/model/tracing_service.h"
#include "gui/view/event_table.h"
#include "gui/view/timeline_view.h"

namespace kevt::gui {
namespace {

constexpr const char* kRich = "<b>bold</b><img src='file:///etc/passwd'>";

class GuiForeign : public WindowTest {
 protected:
  // Of a program that opens one path, as rich text and as a formula.
  bool recordForeign(const QString& path) {
    QProcess kevtrace;
    kevtrace.start(TargetProcess::findKevtrace(),
                   {"run", "-q", "-o", path, "-e", "p:opening libc:open64 path=+0(%di):string flags=%si:s32",
                    "--filter", "opening: flags == -5", "--", "/usr/bin/python3", "-S", "-c",
                    QStringLiteral("import ctypes; libc = ctypes.CDLL('libc.so.6'); [libc.open64(p, -5) for p in "
                                   "(b\"%1\", b'=1+1')]")
                        .arg(kRich)});
    return kevtrace.waitForFinished(kPatienceMs) && kevtrace.exitCode() == 0;
  }
  QString sessionOf(const QString& directory) {
    QDir().mkpath(directory + "/events");
    Session session;
    session.directory = directory;
    session.probes = "p:a libc:open64";
    const QString path = folder_.filePath("s.kevs");
    EXPECT_TRUE(saveSession(session, path));
    return path;
  }
  // Opens the session and presses a button of the question that comes; the question, null when none came.
  static QString answered(MainWindow& window, const QString& path, QMessageBox::StandardButton button) {
    QString asked;
    QTimer timer;
    QObject::connect(&timer, &QTimer::timeout, [&] {
      auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
      if (!box) return;
      EXPECT_EQ(box->textFormat(), Qt::PlainText);
      asked = box->text();
      box->button(button)->click();
    });
    timer.start(10);
    const auto opened = window.openSession(path);
    EXPECT_TRUE(opened) << opened.error().message();
    return asked;
  }
};

TEST_F(GuiForeign, LabelsTakeNoTextForRich) {
  MainWindow window;
  window.show();
  QApplication::processEvents();
  const QList<QLabel*> labels = window.findChildren<QLabel*>();
  EXPECT_GT(labels.size(), 5);
  for (const QLabel* label : labels) {
    if (label->buddy()) continue;  // of a form: its text is ours
    EXPECT_NE(label->textFormat(), Qt::AutoText) << qPrintable(label->text());
  }
}

TEST_F(GuiForeign, ToolTipsShowTracedTextAsItIs) {
  const QString dat = folder_.filePath("run.dat");
  ASSERT_TRUE(recordForeign(dat));
  MainWindow window;
  window.resize(1300, 900);
  window.show();
  window.openTrace(dat);
  window.settle();
  ASSERT_EQ(window.table().rows().rowCount(), 2);
  QWidget* table = window.table().viewport();
  const QPoint first(60, 4);
  QHelpEvent help(QEvent::ToolTip, first, table->mapToGlobal(first));
  QApplication::sendEvent(table, &help);
  EXPECT_TRUE(QToolTip::text().contains("&lt;b&gt;bold")) << qPrintable(QToolTip::text());
  EXPECT_FALSE(QToolTip::text().contains("<img"));
  QToolTip::hideText();
}

TEST_F(GuiForeign, ToolTipsOfEventsShowTheirTextAsItIs) {
  EventTree tree;
  LiveState state;
  LiveEvent event;
  event.system = "kprobes";
  event.name = "a";
  event.filter = kRich;
  event.definition = QString("p:kprobes/a libc:open64 # ") + kRich;
  state.events.push_back(event);
  tree.take(state);
  const QModelIndex found = tree.find("kprobes", "a");
  ASSERT_TRUE(found.isValid());
  for (const int column : {EventTree::Filter, EventTree::Source}) {
    const QString tip = found.siblingAtColumn(column).data(Qt::ToolTipRole).toString();
    EXPECT_TRUE(tip.contains("&lt;b&gt;bold")) << qPrintable(tip);
  }
  EXPECT_EQ(found.siblingAtColumn(EventTree::Filter).data().toString(), kRich);
}

TEST_F(GuiForeign, TheDirectoryOfASessionIsFollowedWhenTheAnswerIsYes) {
  const QString directory = folder_.filePath("<b>dir</b>");
  const QString path = sessionOf(directory);
  MainWindow window;
  window.show();
  EXPECT_TRUE(answered(window, path, QMessageBox::No).contains(directory));
  EXPECT_FALSE(window.service().isRunning());
  EXPECT_TRUE(window.problems().has("is not followed"));
  EXPECT_TRUE(answered(window, path, QMessageBox::Yes).contains(directory));
  EXPECT_EQ(window.service().directory(), directory);
}

TEST_F(GuiForeign, WhereNobodyCanAnswerItIsNotFollowed) {
  const QString path = sessionOf(folder_.filePath("dir"));
  MainWindow window;
  window.show();
  ASSERT_TRUE(window.openSession(path, MainWindow::Following::Leaves));
  EXPECT_FALSE(window.service().isRunning());
  EXPECT_TRUE(window.problems().has("is not followed"));
}

TEST_F(GuiForeign, ExportedCellsAreTextAndForTheUserAlone) {
  const QString dat = folder_.filePath("run.dat"), csv = folder_.filePath("run.csv");
  ASSERT_TRUE(recordForeign(dat));
  MainWindow window;
  window.openTrace(dat);
  window.settle();
  const auto exported = window.exportRows(csv, 0, 1);
  ASSERT_TRUE(exported) << exported.error().message();
  QFile file(csv);
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  const QByteArray text = file.readAll();
  EXPECT_TRUE(text.contains(",\"'=1+1\"")) << text.constData();
  EXPECT_TRUE(text.contains(",-5")) << text.constData();
  EXPECT_EQ(QFileInfo(csv).permissions() & (QFile::ReadGroup | QFile::ReadOther), QFile::Permissions());
}

}  // namespace
}  // namespace kevt::gui

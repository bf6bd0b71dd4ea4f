// Three arrangements of the window's pages: by their keys, as they were left, in a session and from start to start.
#include <gmock/gmock.h>

#include <QAction>
#include <QDockWidget>
#include <QSettings>
#include <QTest>
#include <QTreeWidget>

#include "gui/app/main_window.h"
#include "gui/app/measure_panel.h"
#include "gui/app/window_testing.h"
#include "gui/app/workspaces.h"
#include "gui/model/session.h"
#include "gui/model/trace_document.h"
#include "gui/view/timeline_view.h"

namespace kevt::gui {
namespace {

class GuiWorkspaces : public WindowTest {
 protected:
  static void show(MainWindow& window, int width = 1500, int height = 940) {
    window.resize(width, height);
    window.show();
    window.activateWindow();  // keys are for the active window, which nobody manages under Xvfb
    ASSERT_TRUE(QTest::qWaitForWindowActive(&window));
    window.settle();
  }
  static QDockWidget& dock(MainWindow& window, const char* name) {
    return *window.findChild<QDockWidget*>(QLatin1String(name));
  }
  static std::vector<std::string> visible(MainWindow& window) {
    std::vector<std::string> names;
    for (const QDockWidget* one : window.findChildren<QDockWidget*>())
      if (one->isVisible() && !one->visibleRegion().isEmpty()) names.push_back(one->objectName().toStdString());
    return names;
  }
  static void press(MainWindow& window, Qt::Key key) {
    QTest::keyClick(&window, key);
    window.settle();
  }
};

using ::testing::UnorderedElementsAre;

TEST_F(GuiWorkspaces, EachKeyShowsItsPages) {
  MainWindow window;
  show(window);
  EXPECT_EQ(window.workspaces().current(), Workspace::Author);
  EXPECT_THAT(visible(window), UnorderedElementsAre("probes", "events", "problems"));
  EXPECT_GT(dock(window, "probes").width(), window.width() * 35 / 100);
  press(window, Qt::Key_F8);
  EXPECT_EQ(window.workspaces().current(), Workspace::Live);
  EXPECT_THAT(visible(window), UnorderedElementsAre("events", "histogram"));
  EXPECT_GT(window.timeline().width(), window.width() * 60 / 100);
  EXPECT_GT(window.timeline().height(), window.height() * 40 / 100);
  press(window, Qt::Key_F9);
  EXPECT_THAT(visible(window), UnorderedElementsAre("measure", "flame"));
  EXPECT_GT(window.timeline().width(), window.width() * 95 / 100);
  EXPECT_NEAR(dock(window, "flame").width(), window.width() / 2, window.width() / 5);
  press(window, Qt::Key_F7);
  EXPECT_THAT(visible(window), UnorderedElementsAre("probes", "events", "problems"));
}

TEST_F(GuiWorkspaces, EachIsAsItWasLeft) {
  MainWindow window;
  show(window);
  dock(window, "problems").close();
  dock(window, "directory").close();
  dock(window, "files").close();
  dock(window, "histogram").close();
  press(window, Qt::Key_F9);
  dock(window, "events").show();
  press(window, Qt::Key_F7);
  EXPECT_THAT(visible(window), UnorderedElementsAre("probes", "events"));
  press(window, Qt::Key_F9);
  EXPECT_TRUE(dock(window, "events").isVisible());
  window.workspaces().reset();
  window.settle();
  EXPECT_THAT(visible(window), UnorderedElementsAre("measure", "flame"));
  press(window, Qt::Key_F7);
  EXPECT_THAT(visible(window), UnorderedElementsAre("probes", "events")) << "only the current one was reset";
}

TEST_F(GuiWorkspaces, WhatIsOpenedProposesOneAndTheUserDecides) {
  const QString dat = folder_.filePath("run.dat");
  ASSERT_TRUE(record(dat)) << qPrintable(said_);
  MainWindow window;
  show(window);
  window.openTrace(dat);
  window.settle();
  EXPECT_EQ(window.workspaces().current(), Workspace::Analyse);
  press(window, Qt::Key_F8);
  window.openTrace(dat);
  window.settle();
  EXPECT_EQ(window.workspaces().current(), Workspace::Live);
}

// A page that was hidden while a live trace went on is up to date when it is seen.
TEST_F(GuiWorkspaces, APageThatComesForthIsUpToDate) {
  const QString dat = folder_.filePath("run.dat");
  ASSERT_TRUE(record(dat)) << qPrintable(said_);
  TraceDocument recorded;
  recorded.openFile(dat);
  ASSERT_TRUE(QTest::qWaitFor([&] { return recorded.state() == TraceDocument::State::Loaded; }, kPatienceMs));
  MainWindow window;
  show(window);
  window.document().beginLive(QStringLiteral("test"));
  window.settle();  // what the beginning itself has looked at
  window.document().showLive(recorded.view(), recorded.metadata());
  window.settle();
  ASSERT_FALSE(dock(window, "measure").isVisible());
  dock(window, "measure").show();
  dock(window, "measure").raise();
  const QTreeWidget& table = window.measure().table();
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.measure().isVisible(); }, kPatienceMs));
  EXPECT_TRUE(window.measure().isBusy()) << "it measures at once, not when the timeline moves next";
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return !window.measure().isBusy() && table.topLevelItemCount() > 0; }, kPatienceMs));
  const auto found = table.findItems(QStringLiteral("opening"), Qt::MatchExactly | Qt::MatchRecursive);
  ASSERT_EQ(found.size(), 1);
  EXPECT_GE(found[0]->text(1).toInt(), 200);
  window.document().endLive();
}

TEST_F(GuiWorkspaces, ASessionHasThemAll) {
  MainWindow first;
  show(first);
  dock(first, "problems").close();
  press(first, Qt::Key_F9);
  dock(first, "flame").close();
  press(first, Qt::Key_F8);
  const QString path = folder_.filePath("s.kevs");
  ASSERT_TRUE(first.writeSession(path));
  MainWindow second;
  show(second);
  ASSERT_TRUE(second.openSession(path));
  second.settle();
  EXPECT_EQ(second.workspaces().current(), Workspace::Live);
  EXPECT_THAT(visible(second), UnorderedElementsAre("events", "histogram"));
  press(second, Qt::Key_F9);
  EXPECT_THAT(visible(second), UnorderedElementsAre("measure"));
  press(second, Qt::Key_F7);
  EXPECT_FALSE(dock(second, "problems").isVisible());
}

TEST_F(GuiWorkspaces, TheUsersOwnAreThereAtTheNextStart) {
  const QString path = folder_.filePath("settings.ini");
  {
    MainWindow window;
    show(window);
    press(window, Qt::Key_F9);
    dock(window, "flame").close();
    QSettings settings(path, QSettings::IniFormat);
    window.workspaces().save(settings);
  }
  {
    QSettings settings(path, QSettings::IniFormat);
    MainWindow window;
    window.workspaces().load(settings);
    show(window);
    EXPECT_EQ(window.workspaces().current(), Workspace::Author);
    EXPECT_THAT(visible(window), UnorderedElementsAre("probes", "events", "problems"));
    press(window, Qt::Key_F9);
    EXPECT_THAT(visible(window), UnorderedElementsAre("measure"));
  }
}

// What is loaded before the window has its size is arranged in that size.
TEST_F(GuiWorkspaces, TheFirstStartIsArrangedInTheWindowsSize) {
  QSettings settings(folder_.filePath("none.ini"), QSettings::IniFormat);
  MainWindow window;
  window.workspaces().load(settings);
  show(window, 1800, 1000);
  EXPECT_THAT(visible(window), UnorderedElementsAre("probes", "events", "problems"));
  EXPECT_NEAR(dock(window, "probes").width(), 720, 60);
}

TEST_F(GuiWorkspaces, WhatIsNoArrangementIsIgnored) {
  MainWindow window;
  show(window);
  Session session = window.session();
  for (const QByteArray& hostile : {QByteArray(), QByteArray("\xff\xff\xff\xfe", 4), QByteArray(5000, '\xff'),
                                    QByteArray(100, '\0'), session.arrangements["author"].left(90)}) {
    session.workspace = "author";
    session.arrangements = {{"author", hostile}, {"nosuch", hostile}};
    window.applySession(session, MainWindow::Following::Leaves);
    window.settle();
    EXPECT_THAT(visible(window), UnorderedElementsAre("probes", "events", "problems"));
  }
  session.workspace = "nosuch";
  window.applySession(session, MainWindow::Following::Leaves);
  EXPECT_EQ(window.workspaces().current(), Workspace::Author);
}

}  // namespace
}  // namespace kevt::gui

// The guide, done as a first user does it; the list of keys; recordings that were opened before.
#include <QAction>
#include <QFile>
#include <QMenu>
#include <QMenuBar>
#include <QPushButton>
#include <QTest>
#include <set>

#include "gui/app/guide.h"
#include "gui/app/help_menu.h"
#include "gui/app/log_panels.h"
#include "gui/app/main_window.h"
#include "gui/app/probes_panel.h"
#include "gui/app/screenshot.h"
#include "gui/app/window_testing.h"
#include "gui/model/target_process.h"
#include "gui/model/trace_document.h"
#include "gui/model/tracing_service.h"
#include "gui/view/definition_editor.h"
#include "gui/view/timeline_view.h"

namespace kevt::gui {
namespace {

#define WAIT_FOR(condition) ASSERT_TRUE(QTest::qWaitFor([&] { return (condition); }, kPatienceMs)) << #condition

class GuiHelp : public WindowTest {
 protected:
  void SetUp() override {
    window_.resize(1280, 800);
    window_.show();
  }
  MainWindow window_;
};

TEST_F(GuiHelp, TheGuideLeadsFromNothingToARecord) {
  if (!QFile("/dev/fuse").open(QIODevice::ReadWrite)) GTEST_SKIP() << "no FUSE here";
  window_.showGuide();
  Guide& guide = *window_.guide();
  using Step = Guide::Step;
  const auto press = [&] { QTest::mouseClick(&guide.button(), Qt::LeftButton); };
  EXPECT_EQ(guide.step(), Step::Start);
  EXPECT_TRUE(guide.isVisible());
  press();
  WAIT_FOR(window_.service().isRunning() || window_.problems().has("ended with status 4"));
  if (window_.problems().has("ended with status 4")) GTEST_SKIP() << "no mount is allowed here";
  WAIT_FOR(guide.step() == Step::Probe);
  EXPECT_TRUE(window_.target().isRunning());
  EXPECT_EQ(guide.button().text(), QStringLiteral("Write it for me"));
  press();
  EXPECT_EQ(guide.button().text(), QStringLiteral("Apply it"));
  WAIT_FOR(window_.probes().canApply() && window_.probes().editor().isChecked());
  press();
  WAIT_FOR(guide.step() == Step::Look);
  WAIT_FOR(window_.document().view().rows() > 2);
  EXPECT_TRUE(saveScreenshot(window_, folder_.filePath("guide.png")));
  press();
  WAIT_FOR(guide.step() == Step::Done);
  EXPECT_TRUE(window_.timeline().selectedRow());
  press();
  WAIT_FOR(!window_.target().isRunning());
  EXPECT_EQ(guide.step(), Step::Done);
  WAIT_FOR(!guide.button().isEnabled());
}

// What the user does by other ways counts, too.
TEST_F(GuiHelp, TheGuideSeesWhatIsDoneWithoutIt) {
  if (!QFile("/dev/fuse").open(QIODevice::ReadWrite)) GTEST_SKIP() << "no FUSE here";
  window_.startTarget(Guide::demo());
  WAIT_FOR(window_.service().isRunning() || window_.problems().has("ended with status 4"));
  if (window_.problems().has("ended with status 4")) GTEST_SKIP() << "no mount is allowed here";
  window_.probes().editor().replaceText(QStringLiteral("p:mine libc:open64"));
  WAIT_FOR(window_.probes().canApply() && window_.probes().editor().isChecked());
  window_.showGuide();
  EXPECT_EQ(window_.guide()->step(), Guide::Step::Probe);
  EXPECT_EQ(window_.guide()->button().text(), QStringLiteral("Apply it"));
  window_.probes().apply();
  WAIT_FOR(window_.guide()->step() == Guide::Step::Look);
  window_.guide()->actions().constLast()->trigger();
  EXPECT_FALSE(window_.guide()->isVisible());
  window_.stopTarget();
}

TEST_F(GuiHelp, KeysAreThoseOfTheActionsAndEachHasOneMeaning) {
  KeysDialog dialog(window_);
  dialog.show();
  std::set<QString> keys;
  QString open;
  for (int i = 0; i < dialog.keys().topLevelItemCount(); ++i)
    for (int j = 0; j < dialog.keys().topLevelItem(i)->childCount(); ++j) {
      const QTreeWidgetItem* item = dialog.keys().topLevelItem(i)->child(j);
      EXPECT_TRUE(keys.insert(item->text(1)).second) << qPrintable(item->text(0) + ": " + item->text(1));
      if (item->text(0).startsWith(QLatin1String("Open recording"))) open = item->text(1);
    }
  EXPECT_GT(keys.size(), 30u);
  EXPECT_EQ(open, QKeySequence(QKeySequence::Open).toString(QKeySequence::NativeText));
  EXPECT_TRUE(saveScreenshot(dialog, folder_.filePath("keys.png")));
}

TEST_F(GuiHelp, RecordingsThatWereOpenedCanBeOpenedAgain) {
  const QString one = folder_.filePath("one.dat"), two = folder_.filePath("two.dat");
  ASSERT_TRUE(record(one)) << qPrintable(said_);
  ASSERT_TRUE(QFile::copy(one, two));
  for (const QString& path : {one, two, one}) {
    window_.openTrace(path);
    window_.settle();
  }
  EXPECT_EQ(window_.recentTraces(), QStringList({one, two}));
  QMenu* recent = nullptr;
  for (QMenu* menu : window_.menuBar()->findChildren<QMenu*>())
    if (menu->title() == QStringLiteral("Open &recent")) recent = menu;
  ASSERT_NE(recent, nullptr);
  Q_EMIT recent->aboutToShow();
  ASSERT_EQ(recent->actions().size(), 2);
  recent->actions().constLast()->trigger();
  window_.settle();
  EXPECT_EQ(window_.document().path(), two);
  EXPECT_EQ(window_.recentTraces(), QStringList({two, one}));
}

}  // namespace
}  // namespace kevt::gui

// The commands' keys are read from the actions. Keys of the timeline, the table and the editor are no commands, and are
// told in gui.md.
#include "gui/app/help_menu.h"

#include <QAction>
#include <QApplication>
#include <QHeaderView>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QVBoxLayout>

#include "gui/app/main_window.h"

namespace kevt::gui {

namespace {

QString plain(QString text) { return text.remove(QLatin1Char('&')); }

void addKeys(QTreeWidgetItem* group, const QList<QAction*>& actions) {
  for (const QAction* action : actions) {
    if (const QMenu* menu = action->menu()) addKeys(group, menu->actions());
    if (action->shortcuts().isEmpty()) continue;
    const QStringList columns = {plain(action->text()),
                                 QKeySequence::listToString(action->shortcuts(), QKeySequence::NativeText)};
    auto* item = new QTreeWidgetItem(group, columns);
    item->setToolTip(0, action->toolTip());
  }
}

void showAbout(MainWindow& window) {
  QMessageBox box(QMessageBox::NoIcon, QObject::tr("About kevtrace"),
                  QObject::tr("kevtrace %1\n\nCompiles definitions, filters and triggers of kprobe_events for programs "
                              "and for the kernel, and shows what they see.\n\nQt %2")
                      .arg(QApplication::applicationVersion().isEmpty() ? QObject::tr("(no version)")
                                                                        : QApplication::applicationVersion(),
                           QString::fromLatin1(qVersion())),
                  QMessageBox::Close, &window);
  box.setTextFormat(Qt::PlainText);
  box.exec();
}

}  // namespace

KeysDialog::KeysDialog(MainWindow& window) : QDialog(&window), keys_(new QTreeWidget(this)) {
  setWindowTitle(tr("Keys"));
  keys_->setHeaderLabels({tr("Command"), tr("Key")});
  keys_->setRootIsDecorated(false);
  for (const QAction* menu : window.menuBar()->actions()) {
    if (!menu->menu()) continue;
    auto* group = new QTreeWidgetItem(keys_, {plain(menu->text())});
    addKeys(group, menu->menu()->actions());
    group->setFirstColumnSpanned(true);
    group->setExpanded(true);
    group->setHidden(group->childCount() == 0);
  }
  keys_->header()->setSectionResizeMode(0, QHeaderView::Stretch);
  keys_->header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
  keys_->header()->setStretchLastSection(false);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(keys_);
  resize(560, 640);
}

void addHelpMenu(MainWindow& window) {
  QMenu* help = window.menuBar()->addMenu(QObject::tr("&Help"));
  window.add(help, QObject::tr("&Three steps to begin with"), {}, [&window] { window.showGuide(); });
  window.add(help, QObject::tr("&Keys …"), QKeySequence(QObject::tr("Ctrl+F1")), [&window] {
    KeysDialog dialog(window);
    dialog.exec();
  });
  window.add(help, QObject::tr("&About kevtrace"), {}, [&window] { showAbout(window); });
}

}  // namespace kevt::gui

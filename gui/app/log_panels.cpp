// Problems and files. Problems are not shown in modal dialogs: they stay in this list until they are solved.
#include "gui/app/log_panels.h"

#include <QHeaderView>
#include <QTime>

#include "gui/model/definition_check.h"
#include "gui/model/text_forms.h"
#include "gui/model/tracing_service.h"

namespace kevt::gui {

namespace {
constexpr int kMaxLines = 500;
enum { kLineRole = Qt::UserRole, kColumnRole, kFromEditorRole };
}  // namespace

ProblemsPanel::ProblemsPanel(QWidget* parent) : QTreeWidget(parent) {
  setHeaderLabels({tr("Where"), tr("What"), tr("What to do")});
  setRootIsDecorated(false);
  setAccessibleName(tr("Problems"));
  header()->resizeSection(0, 130);
  header()->resizeSection(1, 420);
  connect(this, &QTreeWidget::itemActivated, this, [this](QTreeWidgetItem* item) {
    if (item->data(0, kFromEditorRole).toBool())
      Q_EMIT lineWanted(item->data(0, kLineRole).toInt(), item->data(0, kColumnRole).toInt());
  });
}

void ProblemsPanel::showMistakes(const CheckedText& checked) {
  for (int i = topLevelItemCount(); i-- > 0;)
    if (topLevelItem(i)->data(0, kFromEditorRole).toBool()) delete takeTopLevelItem(i);
  int at = 0;
  for (const Mistake& mistake : checked.mistakes) {
    QString help = mistake.help;
    for (const TextFix& fix : mistake.fixes)
      help = tr("%1 (Alt+Enter)").arg(fix.label) + (help.isEmpty() ? QString() : QStringLiteral("; ") + help);
    auto* item = new QTreeWidgetItem(
        {tr("⚠ line %1:%2").arg(mistake.line + 1).arg(mistake.begin + 1), mistake.text, help.simplified()});
    item->setData(0, kFromEditorRole, true);
    item->setData(0, kLineRole, mistake.line);
    item->setData(0, kColumnRole, mistake.begin);
    item->setToolTip(1, plainTip(mistake.id));
    item->setToolTip(2, plainTip(help));
    insertTopLevelItem(at++, item);
  }
}

void ProblemsPanel::add(const QString& kind, const QString& text, const QString& help) {
  if (has(text) || topLevelItemCount() >= kMaxLines) return;
  addTopLevelItem(new QTreeWidgetItem({QStringLiteral("⚠ ") + kind, text, help}));
}

void ProblemsPanel::set(const QString& kind, const QString& text, const QString& help) {
  const QString name = QStringLiteral("⚠ ") + kind;
  for (int i = topLevelItemCount(); i-- > 0;) {
    if (topLevelItem(i)->text(0) != name) continue;
    if (topLevelItem(i)->text(1) == text) return;
    delete takeTopLevelItem(i);
  }
  if (!text.isEmpty()) addTopLevelItem(new QTreeWidgetItem({name, text, help}));
}

bool ProblemsPanel::has(const QString& part) const {
  for (int i = 0; i < topLevelItemCount(); ++i)
    if (topLevelItem(i)->text(1).contains(part)) return true;
  return false;
}

FilesPanel::FilesPanel(QWidget* parent) : QTreeWidget(parent) {
  setHeaderLabels({tr("When"), tr("Written"), tr("Answer")});
  setRootIsDecorated(false);
  setAccessibleName(tr("Files written"));
  header()->resizeSection(0, 90);
  header()->resizeSection(1, 520);
}

void FilesPanel::add(const FileWrite& write) {
  if (topLevelItemCount() >= kMaxLines) delete takeTopLevelItem(0);
  addTopLevelItem(new QTreeWidgetItem({QTime::currentTime().toString(QStringLiteral("HH:mm:ss")), write.asCommand(),
                                       write.error.isEmpty() ? tr("✓ taken") : QStringLiteral("⚠ ") + write.error}));
  scrollToBottom();
}

}  // namespace kevt::gui

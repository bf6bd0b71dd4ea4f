// Choosing processes.
//
// Letters search the list, and the first match that can be attached to is selected. A number means the process with
// that pid, even if the digits occur in other names. That process need not be in the list: it may have been started
// since.
#include "gui/app/attach_dialog.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QShortcut>
#include <QTreeView>
#include <QVBoxLayout>
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "gui/model/row_text.h"

namespace kevt::gui {

namespace {

// A glob that means this name alone.
std::string globQuoted(const std::string& name) {
  std::string quoted;
  for (const char c : name) {
    if (std::string_view("*?[\\").contains(c)) quoted += '\\';
    quoted += c;
  }
  return quoted;
}

}  // namespace

AttachDialog::AttachDialog(QWidget* parent)
    : QDialog(parent),
      edit_(new QLineEdit(this)),
      view_(new QTreeView(this)),
      scope_(new QComboBox(this)),
      verdict_(new QLabel(this)),
      attach_(new QPushButton(tr("Attach"), this)) {
  setWindowTitle(tr("Attach to a process"));
  resize(820, 520);
  auto* layout = new QVBoxLayout(this);
  edit_->setPlaceholderText(tr("find by name, user or command line, or type a process number"));
  edit_->setAccessibleName(tr("Find a process"));
  edit_->setClearButtonEnabled(true);
  edit_->installEventFilter(this);
  found_.setSourceModel(&list_);
  view_->setModel(&found_);
  view_->setRootIsDecorated(false);
  view_->setUniformRowHeights(true);
  view_->setAlternatingRowColors(true);
  view_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  view_->setAccessibleName(tr("Processes"));
  view_->setTextElideMode(Qt::ElideRight);
  view_->setSortingEnabled(true);
  view_->header()->setSortIndicator(-1, Qt::AscendingOrder);  // unsorted: the youngest first
  found_.sort(-1);
  static constexpr int kWidths[ProcessList::Columns] = {80, 160, 100, 120, 300};
  for (int column = 0; column < ProcessList::Columns; ++column) view_->header()->resizeSection(column, kWidths[column]);
  scope_->setAccessibleName(tr("What is traced"));
  verdict_->setWordWrap(true);
  verdict_->setTextFormat(Qt::PlainText);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
  auto* refresh = buttons->addButton(tr("Refresh (F5)"), QDialogButtonBox::ActionRole);
  buttons->addButton(attach_, QDialogButtonBox::AcceptRole);
  attach_->setDefault(true);
  layout->addWidget(edit_);
  layout->addWidget(view_, 1);
  layout->addWidget(scope_);
  layout->addWidget(verdict_);
  layout->addWidget(buttons);
  const auto read = [this] {
    QString ignored;
    kept_ = selected(ignored);
    list_.refresh();
  };
  connect(refresh, &QPushButton::clicked, this, read);
  connect(new QShortcut(QKeySequence(Qt::Key_F5), this), &QShortcut::activated, this, read);
  connect(&list_, &ProcessList::refreshed, this, &AttachDialog::takeList);
  connect(edit_, &QLineEdit::textChanged, this, &AttachDialog::find);
  connect(view_->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this] {
    offerScopes();
    judge();
  });
  connect(scope_, &QComboBox::activated, this, &AttachDialog::judge);
  connect(view_, &QTreeView::activated, this, [this] { attach_->click(); });
  connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  list_.refresh();
  offerScopes();
  judge();
}

QString AttachDialog::verdict() const { return verdict_->text(); }

int AttachDialog::typed() const {
  bool is_number = false;
  const int pid = edit_->text().trimmed().toInt(&is_number);
  return is_number && pid > 0 ? pid : 0;
}

QList<int> AttachDialog::selected(QString& refusal) const {
  QList<int> pids;
  for (const QModelIndex& index : view_->selectionModel()->selectedRows()) {
    const ProcessEntry& process = found_.at(index);
    pids.append(process.pid);
    if (refusal.isEmpty()) refusal = process.refusal;
  }
  return pids;
}

QList<int> AttachDialog::chosen() const {
  QString refusal;
  QList<int> pids = selected(refusal);
  if (!refusal.isEmpty()) return {};
  if (pids.isEmpty() && typed()) pids.append(typed());
  return pids;
}

proc::ProcessChoice AttachDialog::choice() const {
  if (!view_->selectionModel()->hasSelection()) return {};
  const auto row = static_cast<std::size_t>(std::max(scope_->currentIndex(), 0));
  return row < scopes_.size() ? scopes_[row] : proc::ProcessChoice();
}

// Rows for what the selected processes have in common with others. A choice that was made stays while it is offered.
void AttachDialog::offerScopes() {
  const QString before = scope_->currentText();
  std::set<std::string> comms, cgroups, containers;
  for (const QModelIndex& index : view_->selectionModel()->selectedRows()) {
    const ProcessEntry& process = found_.at(index);
    comms.insert(globQuoted(process.comm));
    if (!process.cgroup.empty()) cgroups.insert(process.cgroup);
    if (!process.container.isEmpty()) containers.insert(process.container.toStdString());
  }
  scope_->clear();
  scopes_.clear();
  const auto offer = [this](const QString& text, proc::ProcessChoice choice) {
    scope_->addItem(text);
    scopes_.push_back(std::move(choice));
  };
  const auto words = [](const std::set<std::string>& of) {
    QStringList texts;
    for (const std::string& one : of) texts.append(QString::fromStdString(one));
    return texts.join(QStringLiteral(", "));
  };
  const auto list = [](const std::set<std::string>& of) { return std::vector<std::string>(of.begin(), of.end()); };
  offer(tr("Trace the selected processes"), {});
  if (!comms.empty())
    offer(tr("Trace all called %1, also those that come later").arg(words(comms)), {.comms = list(comms)});
  if (!containers.empty())
    offer(tr("Trace all in container %1, also those that come later").arg(words(containers)),
          {.containers = list(containers)});
  if (!cgroups.empty())
    offer(tr("Trace all in control group %1, also those that come later").arg(words(cgroups)),
          {.cgroups = list(cgroups)});
  scope_->setCurrentIndex(std::max(scope_->findText(before), 0));
  scope_->setEnabled(scope_->count() > 1);
}

void AttachDialog::takeList() {
  const QString scope = scope_->currentText();
  const bool has_containers = [this] {
    for (int row = 0; row < list_.rowCount(); ++row)
      if (!list_.at(row).container.isEmpty()) return true;
    return false;
  }();
  view_->setColumnHidden(ProcessList::Container, !has_containers);
  find();
  QItemSelection selection;
  for (const int pid : kept_)
    if (const QModelIndex index = found_.ofPid(pid); index.isValid()) selection.select(index, index);
  if (!selection.isEmpty())
    view_->selectionModel()->select(selection, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
  kept_.clear();
  offerScopes();  // a model that was reset has told nobody what is selected
  scope_->setCurrentIndex(std::max(scope_->findText(scope), 0));
  judge();
}

void AttachDialog::find() {
  found_.find(edit_->text());
  QModelIndex best = typed() ? found_.ofPid(typed()) : QModelIndex();
  if (!typed() && !edit_->text().trimmed().isEmpty()) best = found_.index(0, 0);
  if (best.isValid())
    view_->setCurrentIndex(best);
  else
    view_->selectionModel()->clear();
  judge();
}

void AttachDialog::judge() {
  QString refusal;
  const QList<int> pids = selected(refusal);
  attach_->setEnabled(!chosen().isEmpty());
  if (!refusal.isEmpty()) return verdict_->setText(QStringLiteral("⚠ ") + refusal);
  if (pids.isEmpty() && typed())
    return verdict_->setText(tr("process %1 is not in the list; it is tried").arg(typed()));
  if (!pids.isEmpty() && !choice().empty())
    return verdict_->setText(
        tr("kevtrace looks ten times a second for such processes: what one does before is not traced"));
  if (pids.size() == 1)
    return verdict_->setText(
        tr("process %1 is traced where it is, and goes on when the window is closed").arg(pids[0]));
  if (pids.size() > 1) return verdict_->setText(tr("%1 processes are traced together").arg(pids.size()));
  verdict_->setText(list_.isBusy() ? tr("reading …")
                                   : tr("%1 processes; those that may be attached to come first")
                                         .arg(grouped(static_cast<std::uint64_t>(list_.rowCount()))));
}

// While one types, the arrow keys move in the list.
bool AttachDialog::eventFilter(QObject* watched, QEvent* event) {
  if (watched != edit_ || event->type() != QEvent::KeyPress) return QDialog::eventFilter(watched, event);
  const int key = static_cast<QKeyEvent*>(event)->key();
  const int step = key == Qt::Key_Down ? 1 : key == Qt::Key_Up ? -1 : 0;
  if (step == 0) return QDialog::eventFilter(watched, event);
  const int row = view_->currentIndex().isValid() ? view_->currentIndex().row() + step : 0;
  if (row >= 0 && row < found_.rowCount()) view_->setCurrentIndex(found_.index(row, 0));
  return true;
}

}  // namespace kevt::gui

// The files behind the window. Folders are listed when they are unfolded, by the service's thread.
//
// Files that wait or consume records are not read here. Nor is the top `trace`, since the window has consumed its
// records for the timeline. An instance's `trace` is read, since nobody consumes its records.
#include "gui/app/tree_panel.h"

#include <QCheckBox>
#include <QFontDatabase>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QSplitter>
#include <QTimer>
#include <QTreeWidget>
#include <QUndoStack>
#include <QVBoxLayout>

#include "gui/app/write_command.h"

namespace kevt::gui {

namespace {

constexpr int kPathRole = Qt::UserRole, kFolderRole = Qt::UserRole + 1, kListedRole = Qt::UserRole + 2;
constexpr qsizetype kMostShown = 1 << 20;

constexpr QLatin1String kInstances("instances");

bool isStream(const QString& path) {
  const QString name = path.section(QLatin1Char('/'), -1);
  const bool is_of_instance = path.startsWith(kInstances + QLatin1Char('/'));
  return name.startsWith(QLatin1String("trace_pipe")) || name == QLatin1String("snapshot_raw") ||
         (name == QLatin1String("trace") && !is_of_instance);
}

// Whether the text that a file reads can be written back to it.
bool canBeRestored(const QString& path) {
  const QString name = path.section(QLatin1Char('/'), -1);
  return !isStream(path) && name != QLatin1String("trace") && name != QLatin1String("snapshot");
}

}  // namespace

TreePanel::TreePanel(TracingService& service, QUndoStack& undo, QWidget* parent)
    : QWidget(parent),
      service_(service),
      undo_(undo),
      tree_(new QTreeWidget(this)),
      name_(new QLabel(this)),
      text_(new QPlainTextEdit(this)),
      line_(new QLineEdit(this)),
      adds_(new QCheckBox(tr("append (>>)"), this)),
      watches_(new QCheckBox(tr("watch"), this)),
      timer_(new QTimer(this)) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(4, 4, 4, 4);
  auto* splitter = new QSplitter(Qt::Horizontal, this);
  layout->addWidget(splitter, 1);
  tree_->setHeaderHidden(true);
  tree_->setAccessibleName(tr("Files of the tracing directory"));
  splitter->addWidget(tree_);
  auto* right = new QWidget(splitter);
  auto* column = new QVBoxLayout(right);
  column->setContentsMargins(0, 0, 0, 0);
  name_->setTextFormat(Qt::PlainText);
  text_->setReadOnly(true);
  text_->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  text_->setLineWrapMode(QPlainTextEdit::NoWrap);
  text_->setAccessibleName(tr("What the file reads"));
  text_->setPlaceholderText(tr("a file of the tracing directory; open one with a target or --tracefs"));
  name_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  line_->setAccessibleName(tr("Line to write to the file"));
  auto* bar = new QHBoxLayout;
  bar->addWidget(line_, 1);
  bar->addWidget(adds_);
  bar->addWidget(watches_);
  column->addWidget(name_);
  column->addWidget(text_, 1);
  column->addLayout(bar);
  splitter->addWidget(right);
  splitter->setStretchFactor(0, 1);
  splitter->setStretchFactor(1, 2);
  timer_->setInterval(1000);
  connect(tree_, &QTreeWidget::itemExpanded, this, [this](QTreeWidgetItem* item) {
    if (!item->data(0, kListedRole).toBool()) fill(item, item->data(0, kPathRole).toString());
  });
  connect(tree_, &QTreeWidget::currentItemChanged, this, [this](QTreeWidgetItem* item) {
    if (!item) return;
    const QString path = item->data(0, kPathRole).toString();
    if (path == kInstances || !item->data(0, kFolderRole).toBool()) showFile(path);
  });
  connect(line_, &QLineEdit::returnPressed, this, &TreePanel::write);
  connect(watches_, &QCheckBox::toggled, this, [this](bool on) { on ? timer_->start() : timer_->stop(); });
  connect(timer_, &QTimer::timeout, this, &TreePanel::readFile);
}

QString TreePanel::text() const { return text_->toPlainText(); }

void TreePanel::open() {
  tree_->clear();
  text_->clear();
  path_.clear();
  name_->clear();
  fill(tree_->invisibleRootItem(), {});
}

void TreePanel::fill(QTreeWidgetItem* parent, const QString& path) {
  parent->setData(0, kListedRole, true);
  service_.list(path, [this, path](bool is_there, const std::vector<tree::DirectoryEntry>& entries) {
    // The item may have been deleted meanwhile, so it is found by its path.
    QTreeWidgetItem* folder = tree_->invisibleRootItem();
    for (const QString& name : path.split(QLatin1Char('/'), Qt::SkipEmptyParts)) {
      QTreeWidgetItem* next = nullptr;
      for (int i = 0; i < folder->childCount() && !next; ++i)
        if (folder->child(i)->text(0) == name) next = folder->child(i);
      if (!next) return;
      folder = next;
    }
    if (!is_there || folder->childCount() > 0) return;
    std::vector<const tree::DirectoryEntry*> sorted;
    for (const tree::DirectoryEntry& entry : entries) sorted.push_back(&entry);
    std::ranges::sort(sorted, {}, [](const auto* e) { return std::pair(!e->is_directory, e->name); });
    for (const tree::DirectoryEntry* entry : sorted) {
      const QString name = QString::fromStdString(entry->name);
      auto* item = new QTreeWidgetItem(folder, {name});
      item->setData(0, kPathRole, path.isEmpty() ? name : path + QLatin1Char('/') + name);
      item->setData(0, kFolderRole, entry->is_directory);
      if (entry->is_directory) item->setChildIndicatorPolicy(QTreeWidgetItem::ShowIndicator);
    }
  });
}

void TreePanel::showFile(const QString& path) {
  path_ = path;
  name_->setText(service_.directory() + QLatin1Char('/') + path);
  readFile();
}

void TreePanel::readFile() {
  line_->setPlaceholderText(path_ == kInstances ? tr("a name for a new instance, Enter")
                                                : tr("a line to write to the file, Enter"));
  if (path_.isEmpty()) return;
  if (path_ == kInstances)
    return text_->setPlainText(tr("an instance has a buffer, switches, filters and triggers of its own"));
  if (isStream(path_)) return text_->setPlainText(tr("its records are in the timeline and the table"));
  service_.read(path_, [this, path = path_](bool, const QString& text) {
    if (path != path_) return;
    const QString shown = text.size() > kMostShown ? text.left(kMostShown) + QStringLiteral("\n…") : text;
    if (text_->toPlainText() != shown) text_->setPlainText(shown);
  });
}

void TreePanel::makeInstance() {
  using Folder = FileWrite::Folder;
  const QString name = line_->text().trimmed();
  if (name.isEmpty()) return;
  const QString path = kInstances + QLatin1Char('/') + name;
  // The folder is listed anew.
  const auto list = [this](const std::vector<FileWrite>&) {
    const auto found = tree_->findItems(kInstances, Qt::MatchExactly);
    if (found.isEmpty()) return;
    qDeleteAll(found[0]->takeChildren());
    fill(found[0], kInstances);
  };
  // Cannot be undone: the instance may have existed before, and removing it would lose its records.
  service_.write({{path, {}, false, {}, Folder::Make}}, list);
  line_->clear();
}

void TreePanel::write() {
  if (path_.isEmpty() || !service_.isRunning()) return;
  if (path_ == kInstances) return makeInstance();
  // Undo writes the old text again, for files where a write replaces the text.
  std::vector<FileWrite> back;
  if (!adds_->isChecked() && canBeRestored(path_)) back.push_back({path_, text_->toPlainText().trimmed(), false, {}});
  undo_.push(new WriteCommand(service_, {{path_, line_->text(), adds_->isChecked(), {}}}, back,
                              tr("write %1").arg(path_), [this](const std::vector<FileWrite>&) { readFile(); }));
  line_->clear();
}

}  // namespace kevt::gui

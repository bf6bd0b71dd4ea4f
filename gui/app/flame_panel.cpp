// A worker folds the records of the range; what is shown of them (turned, compared, searched) is made here. Nothing is
// folded while nobody sees it.
#include "gui/app/flame_panel.h"

#include <QCheckBox>
#include <QComboBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMessageBox>
#include <QScrollArea>
#include <QToolButton>
#include <QVBoxLayout>

#include "gui/model/trace_document.h"
#include "gui/view/flame_view.h"
#include "gui/view/timeline_view.h"
#include "tracefs-compat/fleet/fleet_reader.h"
#include "tracefs-compat/record/analysis/analysis.h"
#include "tracefs-compat/record/formats/flame_graph.h"
#include "tracefs-compat/record/output_file.h"
#include "tracefs-compat/record/print/trace_line.h"

namespace kevt::gui {

namespace {

constexpr int kMostWeights = 200;  // fields to choose from

// Which records are folded: those that the filter leaves, and their stacks. Rows are asked in their order.
class KeptStacks {
 public:
  KeptStacks(const record::StoreView& view, const record::RowSubset* kept) : view_(view), kept_(kept) {
    for (const auto& event : view.names().events) is_stack_.push_back(record::is_stack(*event));
    of_task_.resize(view.names().tasks.size());
  }

  bool keeps(record::Row row) {
    if (!kept_) return true;
    const bool is_kept = kept_->contains(row);
    const std::uint32_t task = view_.task(row);
    if (is_stack_[view_.event(row)]) return is_kept || of_task_[task];
    of_task_[task] = is_kept;
    return is_kept;
  }

 private:
  const record::StoreView& view_;
  const record::RowSubset* kept_;
  std::vector<bool> is_stack_;  // by event
  std::vector<bool> of_task_;   // whether the task's newest record is kept
};

bool is_number(const record::Field& field) {
  return field.role == record::PlaceRole::None && field.kind == record::FieldKind::Number && field.items() == 1;
}

}  // namespace

FlamePanel::FlamePanel(TraceDocument& document, TimelineView& timeline, QWidget* parent)
    : QWidget(parent),
      document_(document),
      weight_(new QComboBox(this)),
      bottom_up_(new QCheckBox(tr("Bottom-up"), this)),
      compare_(new QToolButton(this)),
      search_(new QLineEdit(this)),
      head_(new QLabel(this)),
      graph_(new FlameView(this)),
      watch_(new RangeWatch(document, timeline, *this, [this] { return busy_ || making_; })),
      jobs_(this, 2) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(4, 4, 4, 4);
  auto* bar = new QHBoxLayout;
  auto* save = new QToolButton(this);
  save->setText(tr("Save…"));
  save->setToolTip(tr("as SVG, folded lines, JSON, or the call tree as text"));
  compare_->setText(tr("Compare"));
  compare_->setCheckable(true);
  compare_->setToolTip(
      tr("keep this graph: what is selected next is shown beside it, heavier in red, lighter in blue; "
         "or choose another recording"));
  compare_->setPopupMode(QToolButton::MenuButtonPopup);
  auto* compares = new QMenu(compare_);
  connect(compares->addAction(tr("With another recording…")), &QAction::triggered, this, &FlamePanel::askOther);
  compare_->setMenu(compares);
  weight_->setAccessibleName(tr("Weight"));
  weight_->setToolTip(tr("what a box is as wide as"));
  weight_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  bottom_up_->setToolTip(tr("callees with their callers inside"));
  search_->setPlaceholderText(tr("find a function"));
  search_->setClearButtonEnabled(true);
  search_->setAccessibleName(tr("Find in the flame graph"));
  head_->setTextFormat(Qt::PlainText);
  for (QWidget* widget : std::initializer_list<QWidget*>{weight_, bottom_up_, compare_, save}) bar->addWidget(widget);
  bar->addWidget(search_, 1);
  bar->addWidget(head_, 1);
  layout->addLayout(bar);
  auto* scroll = new QScrollArea(this);
  scroll->setWidgetResizable(true);
  scroll->setWidget(graph_);
  layout->addWidget(scroll, 1);
  fillWeights();
  connect(watch_, &RangeWatch::due, this, &FlamePanel::start);
  connect(&document_, &TraceDocument::reset, this, [this] {
    known_events_ = 0;
    now_.reset();
    graph_->setTree(nullptr);
    compare_->setChecked(false);
  });
  connect(weight_, &QComboBox::activated, watch_, &RangeWatch::lookAgain);
  connect(weight_, &QComboBox::activated, this, &FlamePanel::readOther);
  connect(bottom_up_, &QCheckBox::toggled, this, &FlamePanel::showTree);
  connect(compare_, &QToolButton::toggled, this, [this](bool on) {
    if (on)
      before_ = now_;
    else
      compareWithNothing();
    showTree();
  });
  connect(search_, &QLineEdit::textChanged, this, [this](const QString& text) {
    graph_->setSearch(text);
    showHead();
  });
  connect(save, &QToolButton::clicked, this, &FlamePanel::askSave);
  connect(graph_, &FlameView::currentChanged, this, &FlamePanel::showHead);
}

FlamePanel::~FlamePanel() {
  if (busy_) *busy_ = true;
  if (making_) *making_ = true;
  if (reading_) *reading_ = true;
}

bool FlamePanel::isBusy() const { return isVisible() && (busy_ || making_ || reading_ || watch_->isWaiting()); }

void FlamePanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (is_stale_) watch_->lookAgain();
}

void FlamePanel::setKept(std::shared_ptr<const record::RowSubset> kept) { watch_->setKept(std::move(kept)); }

// Names of fields in the order of their events; the choice stays.
void FlamePanel::fillWeights() {
  const auto& events = document_.view().names().events;
  if (weight_->count() > 0 && events.size() == known_events_) return;
  known_events_ = events.size();
  const QString chosen = weight_->currentData().toString();
  weight_->clear();
  weight_->addItem(tr("what is there"), QString());
  weight_->addItem(tr("hits"), QStringLiteral("hits"));
  weight_->addItem(tr("time in calls"), QStringLiteral("time"));
  for (const auto& event : events)
    for (const record::Field& field : event->fields)
      if (is_number(field) && weight_->count() < kMostWeights) {
        const QString name = QString::fromStdString(event->name + "." + field.name);
        weight_->addItem(name, name);
      }
  weight_->setCurrentIndex(std::max(0, weight_->findData(chosen)));
}

void FlamePanel::start() {
  is_stale_ = true;
  if (!isVisible() || document_.state() == TraceDocument::State::Loading) return;
  is_stale_ = false;
  if (busy_) *busy_ = true;
  fillWeights();
  const record::StoreView view = document_.view();
  busy_ = jobs_.start(
      [view, wanted = watch_->wanted(), kept = watch_->kept(), metadata = document_.metadata(),
       weight = weight_->currentData().toString()](const std::atomic<bool>& cancelled) {
        const auto& range = wanted.range;
        record::FoldedPaths paths(*metadata, record::parse_fold_request(weight.toStdString()));
        if (view.empty()) return Folded{paths.folded(), RangeWatch::Extent::Whole, weight};
        const record::Row first = range ? view.lower_bound(range->first) : 0;
        const record::Row last = range ? view.lower_bound(range->second + 1) : view.rows();
        KeptStacks stacks(view, kept.get());
        for (record::Row row = first; row < last && (row % 1024 != 0 || !cancelled); ++row)
          if (stacks.keeps(row)) paths.add(view.typed(row));
        return Folded{paths.folded(), wanted.extent, weight};
      },
      [this](Folded folded) {
        busy_.reset();
        now_ = std::make_shared<const Folded>(std::move(folded));
        showTree();
      });
}

void FlamePanel::compareWithNothing() {
  if (reading_) *reading_ = true;
  reading_.reset();
  before_.reset();
  other_.clear();
  const QSignalBlocker blocker(compare_);
  compare_->setChecked(false);
}

void FlamePanel::compareWith(const QString& path) {
  compareWithNothing();
  other_ = path;
  const QSignalBlocker blocker(compare_);
  compare_->setChecked(true);
  readOther();
}

// Anew when another weight is chosen.
void FlamePanel::readOther() {
  if (other_.isEmpty()) return;
  before_.reset();
  if (reading_) *reading_ = true;
  reading_ = jobs_.start(
      [path = other_.toStdString(),
       weight = weight_->currentData().toString()](const std::atomic<bool>& cancelled) -> Result<Other> {
        const auto reader = KEVT_TRY(fleet::open_recording(path));
        const record::FoldRequest request = record::parse_fold_request(weight.toStdString());
        if (request.by == record::FoldRequest::By::Value && !record::is_known(request.value, reader->metadata()))
          return std::unexpected(
              Error(path + ": no event of the recording has a field `" + weight.toStdString() + "`"));
        record::FoldedPaths paths(reader->metadata(), request);
        record::TypedRecord record;
        for (std::uint64_t i = 0; (i % 1024 != 0 || !cancelled) && reader->next(record); ++i) paths.add(record);
        const auto& problems = reader->problems();
        return Other{{paths.folded(), RangeWatch::Extent::Whole, weight},
                     problems.empty() ? "" : path + ": " + problems.front()};
      },
      [this](Result<Other> other) {
        reading_.reset();
        const std::string problem = other ? other->problem : other.error().message();
        if (!problem.empty()) Q_EMIT notWhole(QString::fromStdString(problem));
        if (other)
          before_ = std::make_shared<const Folded>(std::move(other->folded));
        else
          compareWithNothing();
        showTree();
      });
}

// In a worker, too: a tree may have a million nodes.
void FlamePanel::showTree() {
  if (!now_) return;
  if (!other_.isEmpty() && before_ && before_->weight != now_->weight) return;  // now_ is made anew, too
  const bool compares_others = before_ && before_->paths.counts != now_->paths.counts && !now_->paths.weights.empty() &&
                               !before_->paths.weights.empty();
  if (compares_others) {  // a number of stacks with nanoseconds
    if (!other_.isEmpty())
      Q_EMIT notWhole(
          tr("%1 weighs %2, this one %3: choose a weight that both have")
              .arg(other_, QString::fromStdString(before_->paths.counts), QString::fromStdString(now_->paths.counts)));
    compareWithNothing();
  }
  if (making_) *making_ = true;
  making_ = jobs_.start(
      [now = now_, before = before_, is_turned = bottom_up_->isChecked()](const std::atomic<bool>&) {
        const auto paths_of = [&](const Folded& folded) {
          return is_turned ? record::reversed_paths(folded.paths.weights) : folded.paths.weights;
        };
        const record::PathWeights paths = paths_of(*now);
        const auto others = before ? std::optional(paths_of(*before)) : std::nullopt;
        return std::make_shared<const record::CallTree>(
            record::CallTree::of(paths, now->paths.counts, others ? &*others : nullptr));
      },
      [this](std::shared_ptr<const record::CallTree> tree) {
        making_.reset();
        graph_->setTree(std::move(tree));
        showHead();
      });
}

QString FlamePanel::head() const {
  if (graph_->current()) return graph_->textOf(*graph_->current());
  const record::CallTree* tree = graph_->tree();
  if (!tree || !now_) return {};
  const QString extent = now_->extent == RangeWatch::Extent::Whole   ? tr("whole trace")
                         : now_->extent == RangeWatch::Extent::Range ? tr("range")
                                                                     : tr("in sight");
  QString text = tr("%1: %2 %3")
                     .arg(extent)
                     .arg(tree->nodes().front().weight)
                     .arg(QString::fromStdString(std::string(tree->counts())));
  if (tree->compares() && other_.isEmpty())
    text += tr(", %1 before").arg(tree->nodes().front().before);
  else if (tree->compares())
    text += tr(", %1 in %2").arg(tree->nodes().front().before).arg(QFileInfo(other_).fileName());
  if (!search_->text().isEmpty()) text += tr("; found %1 %").arg(100 * graph_->foundPart(), 0, 'f', 1);
  return text;
}

// A long name of a function or a file does not widen the panel.
void FlamePanel::showHead() {
  constexpr int kMostPixels = 260;
  const QString text = head();
  head_->setText(head_->fontMetrics().elidedText(text, Qt::ElideMiddle, kMostPixels));
  head_->setToolTip(text);
}

Result<void> FlamePanel::save(const QString& path) const {
  const record::CallTree* tree = graph_->tree();
  if (!tree) return std::unexpected(Error("there is no flame graph yet"));
  std::string text;
  if (path.endsWith(QLatin1String(".svg"))) {
    text = record::flame_graph_svg(*tree);
  } else if (path.endsWith(QLatin1String(".json"))) {
    text = tree->json();
  } else if (path.endsWith(QLatin1String(".folded"))) {
    const auto paths = bottom_up_->isChecked() ? record::reversed_paths(now_->paths.weights) : now_->paths.weights;
    text = record::folded_lines(paths, Controls::Raw);
  } else {
    text = tree->text(0, Controls::Raw);
  }
  auto file = KEVT_TRY(record::OutputFile::create(path.toStdString()));
  file.append(text);
  return file.flush();
}

void FlamePanel::askSave() {
  const QString path = QFileDialog::getSaveFileName(
      this, tr("Save the flame graph"), {}, tr("SVG (*.svg);;Folded lines (*.folded);;JSON (*.json);;Text (*.txt)"));
  if (path.isEmpty()) return;
  if (const auto done = save(path); !done)
    QMessageBox::warning(this, tr("kevtrace"), QString::fromStdString(done.error().message()));
}

void FlamePanel::askOther() {
  const QString path = QFileDialog::getOpenFileName(this, tr("Compare the flame graph with another recording"), {},
                                                    tr("Recordings (*.dat);;All files (*)"));
  if (!path.isEmpty()) compareWith(path);
}

}  // namespace kevt::gui

// FlamePanel: the flame graph of the selected range, or of the whole trace, of what the filter leaves; by hits, time or
// a field; beside another one that was kept, or beside another recording's.
#pragma once

#include <QWidget>
#include <memory>

#include "common/error.h"
#include "gui/app/range_watch.h"
#include "gui/model/job.h"
#include "tracefs-compat/record/analysis/folded_paths.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QToolButton;

namespace kevt::gui {

class FlameView;
class TimelineView;
class TraceDocument;

class FlamePanel : public QWidget {
  Q_OBJECT

 public:
  FlamePanel(TraceDocument& document, TimelineView& timeline, QWidget* parent = nullptr);
  ~FlamePanel() override;
  FlameView& graph() { return *graph_; }
  QComboBox& weight() { return *weight_; }
  QCheckBox& bottomUp() { return *bottom_up_; }
  QLineEdit& search() { return *search_; }
  QToolButton& compare() { return *compare_; }
  QString head() const;
  bool isBusy() const;
  // What the filter leaves is shown; nullptr: everything is.
  void setKept(std::shared_ptr<const record::RowSubset> kept);
  // Beside the whole of another recording, which is read to its end: a file, or an address of a fleet (fleet_reader.h).
  void compareWith(const QString& path);
  // As the file's ending says: .svg, .folded, .json, else the tree as text.
  Result<void> save(const QString& path) const;

 Q_SIGNALS:
  // Why another recording is not beside this one, or not all of it.
  void notWhole(const QString& why);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  struct Folded {
    record::FoldedPaths::Folded paths;
    RangeWatch::Extent extent = RangeWatch::Extent::Whole;
    QString weight;  // that was chosen
  };
  struct Other {
    Folded folded;
    std::string problem;  // why it is not all of the recording; or empty
  };
  void start();
  void showTree();
  void showHead();
  void fillWeights();
  void readOther();
  void compareWithNothing();
  void askSave();
  void askOther();

  TraceDocument& document_;
  QComboBox* weight_;
  QCheckBox* bottom_up_;
  QToolButton* compare_;
  QLineEdit* search_;
  QLabel* head_;
  FlameView* graph_;
  RangeWatch* watch_;
  std::shared_ptr<const Folded> now_, before_;  // nullptr: nothing yet; nothing to compare with
  QString other_;                               // the recording that `before_` is of; empty: it is of this one
  std::size_t known_events_ = 0;                // whose fields are among the weights
  bool is_stale_ = true;
  Cancelled busy_, making_, reading_;  // folding, making the tree, folding the other recording
  JobQueue jobs_;
};

}  // namespace kevt::gui

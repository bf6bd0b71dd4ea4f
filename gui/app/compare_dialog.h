// CompareDialog: which parts of which recordings are compared, and where the page about them is written.
#pragma once

#include <QDialog>
#include <QStringList>
#include <utility>
#include <vector>

class QComboBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QPushButton;

namespace kevt::gui {

// What there is to choose from.
struct CompareOffer {
  QString now;                  // the open recording
  QString before = {};          // the earlier one, which is open, too, if `are_beside` is set, and cannot be changed
  bool are_beside = false;      // then they have one range, in the times of the timeline
  QStringList recordings = {};  // that were opened lately
  QStringList events = {};
  QString selected = {};                                 // FROM,TO; empty: nothing is selected
  std::vector<std::pair<QString, QString>> ranges = {};  // others: a name, and FROM,TO
  QString folder = {};                                   // of the page
};

struct CompareChoice {
  QString before;
  QString before_range, range;  // FROM,TO (record/analysis/query.h); empty: all
  QString align_on;             // an event; empty: none
  QString page;
};

class CompareDialog : public QDialog {
  Q_OBJECT

 public:
  explicit CompareDialog(const CompareOffer& offer, QWidget* parent = nullptr);

  QComboBox& before() { return *before_; }
  QComboBox& beforeRange() { return *before_range_; }
  QComboBox& range() { return *range_; }
  QComboBox& align() { return *align_; }
  QLineEdit& page() { return *page_; }
  QPushButton& compareButton() { return *compare_; }
  // What is wrong, or what is to be known.
  QString verdict() const;
  CompareChoice choice() const;
  // What came of it: an error, or nothing, which closes the dialog. Meanwhile nothing can be changed.
  void takeResult(const QString& error);

 Q_SIGNALS:
  void compareWanted(const kevt::gui::CompareChoice& choice);

 private:
  void addRange(QFormLayout& form, const QString& label, QComboBox* box);
  QString mistake() const;
  void judge();

  CompareOffer offer_;
  QWidget* fields_;
  QComboBox *before_, *before_range_, *range_, *align_;
  QLineEdit* page_;
  QLabel* verdict_;
  QPushButton* compare_;
};

}  // namespace kevt::gui

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
  QString before = {};          // the earlier one; where `are_beside` is set it is open, too, and cannot be changed
  bool are_beside = false;      // then they have one range, in the times of the timeline
  QStringList recordings = {};  // that were opened lately
  QStringList events = {};
  std::vector<std::pair<QString, QString>> ranges = {};  // a name and FROM,TO; the first one is chosen
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
  QString verdict() const;
  CompareChoice choice() const;
  // What came of it: an error, or nothing, which closes the dialog.
  void takeResult(const QString& error);

 Q_SIGNALS:
  void compareWanted(const kevt::gui::CompareChoice& choice);

 private:
  void addRange(QFormLayout& form, const QString& label, QComboBox* box);
  QString mistake() const;
  void judge();

  CompareOffer offer_;
  QComboBox *before_, *before_range_, *range_, *align_;
  QLineEdit* page_;
  QLabel* verdict_;
  QPushButton* compare_;
};

}  // namespace kevt::gui

// FilterBar: one line in the kernel's filter language for table, timeline and measurements; shows the mistake, or how
// many records are kept.
#pragma once

#include <QWidget>

class QLabel;
class QLineEdit;

namespace kevt::gui {

class EventRows;

class FilterBar : public QWidget {
  Q_OBJECT

 public:
  explicit FilterBar(EventRows& rows, QWidget* parent = nullptr);
  QString text() const;
  void setText(const QString& text);  // and applies it
  QLineEdit& edit() { return *edit_; }
  QString verdict() const;

 private:
  void apply();
  void showCounts();
  static QString scope();

  EventRows& rows_;
  QLineEdit* edit_;
  QLabel* verdict_;
  bool is_forgotten_ = false;  // the line is not applied to the new trace yet
};

}  // namespace kevt::gui

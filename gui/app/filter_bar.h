// FilterBar: one line in the kernel's filter language above the table, with its mistake and what it kept.
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

  EventRows& rows_;
  QLineEdit* edit_;
  QLabel* verdict_;
};

}  // namespace kevt::gui

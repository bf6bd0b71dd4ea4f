// SearchBar: finds a text in the records' lines; shows "n of m", steps forwards and backwards, marks the hits.
#pragma once

#include <QWidget>

#include "gui/model/record_search.h"

class QCheckBox;
class QLabel;
class QLineEdit;

namespace kevt::gui {

class SearchBar : public QWidget {
  Q_OBJECT

 public:
  SearchBar(TraceDocument& document, EventRows& rows, QWidget* parent = nullptr);
  QLineEdit& edit() { return *edit_; }
  RecordSearch& search() { return search_; }
  QString verdict() const;
  void open();                       // shows the bar and takes the focus
  void step(int direction);          // to the next (1) or previous (-1) hit
  void setCurrent(record::Row row);  // where the next step begins

 Q_SIGNALS:
  void rowWanted(kevt::record::Row row);
  void closed();

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void start();
  void showCounts();

  RecordSearch search_;
  QLineEdit* edit_;
  QCheckBox* case_;
  QCheckBox* regex_;
  QLabel* verdict_;
  QString error_;
  record::Row current_ = record::kNoRow;
};

}  // namespace kevt::gui

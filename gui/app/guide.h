// Guide: three steps for somebody who sees the window for the first time, on a live demo. Each step says what to do,
// does it when asked, and is over once it is done, in whichever way.
#pragma once

#include <QStringList>
#include <QTimer>
#include <QToolBar>

class QLabel;
class QPushButton;

namespace kevt::gui {

class MainWindow;

class Guide : public QToolBar {
  Q_OBJECT

 public:
  explicit Guide(MainWindow& window);

  enum class Step : std::uint8_t { Start, Probe, Look, Done };
  Step step() const { return step_; }
  QString text() const;
  QPushButton& button() { return *button_; }  // does the step
  void begin();                               // shows the first step that is not done

  static QStringList demo();  // a program that every system has: it opens a file five times a second

 private:
  void look();
  void show(Step step);
  void act();
  bool isWritten() const;

  MainWindow& window_;
  Step step_ = Step::Start;
  QLabel* text_;
  QPushButton* button_;
  QTimer looks_;
};

}  // namespace kevt::gui

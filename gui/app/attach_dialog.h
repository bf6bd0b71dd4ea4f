// AttachDialog: chooses the processes to trace, by a few letters or by pid.
#pragma once

#include <QDialog>
#include <QList>
#include <vector>

#include "common/process_choice.h"
#include "gui/model/process_list.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QTreeView;

namespace kevt::gui {

class AttachDialog : public QDialog {
  Q_OBJECT

 public:
  explicit AttachDialog(QWidget* parent = nullptr);
  // The selected processes, or the typed pid; empty if one of them cannot be attached to.
  QList<int> chosen() const;
  // What is to be traced instead of those: all processes of a name, container or control group, also those that come
  // later; empty: those that are selected.
  proc::ProcessChoice choice() const;
  QComboBox& scope() { return *scope_; }
  QLineEdit& edit() { return *edit_; }
  QTreeView& view() { return *view_; }
  ProcessList& processes() { return list_; }
  QPushButton& attachButton() { return *attach_; }
  QString verdict() const;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void find();
  void judge();
  void takeList();
  void offerScopes();
  QList<int> selected(QString& refusal) const;
  int typed() const;  // 0: no pid

  ProcessList list_;
  FoundProcesses found_;
  QLineEdit* edit_;
  QTreeView* view_;
  QComboBox* scope_;
  std::vector<proc::ProcessChoice> scopes_;  // of the rows of scope_
  QLabel* verdict_;
  QPushButton* attach_;
  QList<int> kept_;  // selected before the list was read again
};

}  // namespace kevt::gui

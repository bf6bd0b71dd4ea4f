// LatencyDialog: two events and a key make an event that says how long it took from one to the other. The files that
// are written are shown before.
#pragma once

#include <QDialog>
#include <QStringList>
#include <array>

#include "gui/model/latency_event.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;

namespace kevt::gui {

class TracingService;

class LatencyDialog : public QDialog {
  Q_OBJECT

 public:
  // `events`: SYSTEM:NAME of those to choose from; `first`: that is chosen for the beginning.
  LatencyDialog(TracingService& service, const QStringList& events, const QString& first, QWidget* parent = nullptr);

  enum Side : std::uint8_t { Begin, End };
  QComboBox& event(Side side) { return *sides_[side].event; }
  QComboBox& key(Side side) { return *sides_[side].key; }
  QLineEdit& name() { return *name_; }
  QComboBox& unit() { return *unit_; }
  QLineEdit& kept() { return *kept_; }
  QLineEdit& countedBy() { return *counted_by_; }
  QCheckBox& recorded() { return *recorded_; }
  QPushButton& applyButton() { return *apply_; }
  QString filesText() const;
  QString verdict() const;
  LatencyEvent latency() const;
  // What came of the writes: an error, or nothing, which closes the dialog.
  void takeResult(const QString& error);

 Q_SIGNALS:
  void applyWanted(const kevt::gui::LatencyEvent& latency);

 private:
  struct Chosen {
    QComboBox* event;
    QComboBox* key;
    QString asked;  // SYSTEM:NAME whose format is, or was, read
    std::shared_ptr<const record::EventFormat> format;
  };
  void readFormat(Side side);
  void offerKeys();
  void judge();

  TracingService& service_;
  std::array<Chosen, 2> sides_;
  QLineEdit* name_;
  bool is_named_ = false;  // by the user
  QComboBox* unit_;
  QLineEdit *kept_, *counted_by_;
  bool is_counted_by_changed_ = false;  // by the user
  QCheckBox* recorded_;
  QPlainTextEdit* files_;
  QLabel* verdict_;
  QPushButton* apply_;
};

}  // namespace kevt::gui

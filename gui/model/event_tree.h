// EventTree: systems and their events, with switches, hits and rates.
#pragma once

#include <QAbstractItemModel>
#include <QElapsedTimer>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "gui/model/live_state.h"
#include "tracefs-compat/record/store/store.h"

namespace kevt::gui {

class EventTree : public QAbstractItemModel {
  Q_OBJECT

 public:
  enum Column { Name, Hits, Missed, Rate, Last, Filter, Trigger, Source, Columns };
  enum Role { RatesRole = Qt::UserRole, EventRole };

  explicit EventTree(QObject* parent = nullptr);
  void take(const LiveState& state);
  // Shows a recording's events with their counts; they cannot be switched.
  void takeRecording(const record::StoreView& view, const record::Metadata& metadata);
  void takeLast(const record::StoreView& view);   // the last time of each event
  void setOwned(const std::set<QString>& owned);  // GROUP/EVENT of events that this program made
  void clear();

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& child) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;
  // Dragged events are text: "SYSTEM/NAME", one per line.
  static constexpr char kMimeType[] = "application/x-kevtrace-event";
  QStringList mimeTypes() const override { return {QString::fromLatin1(kMimeType)}; }
  QMimeData* mimeData(const QModelIndexList& indexes) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

  // nullptr: the index is of a system, or invalid.
  const LiveEvent* eventAt(const QModelIndex& index) const;
  QModelIndex find(const QString& system, const QString& name) const;
  std::span<const LiveEvent> eventsOf(const QString& system) const;
  // "SYSTEM:NAME" of all events, dynamic ones first.
  QStringList names() const;
  std::uint64_t missed() const;

 Q_SIGNALS:
  // Asks to write the `enable` file of an event, or of a system if `name` is empty.
  void enableWanted(const QString& system, const QString& name, bool on);

 private:
  struct System {
    QString name;
    std::size_t first = 0, count = 0;  // of events_
  };
  QVariant systemData(const System& system, int column, int role) const;
  QVariant eventData(std::size_t event, int column, int role) const;
  bool hasSameNames(const LiveState& state) const;
  void noteRates(const LiveState& state);
  void show(const LiveState& state);
  static LiveState arranged(const LiveState& state);
  QString sourceOf(const LiveEvent& event) const;

  std::vector<LiveEvent> events_;
  std::vector<System> systems_;
  std::map<QString, std::vector<double>> rates_;  // by SYSTEM/NAME, oldest first, hits per second
  std::map<QString, std::uint64_t> last_hits_;
  std::map<QString, std::uint64_t> last_ns_;
  std::set<QString> owned_;
  bool is_live_ = true;
  QElapsedTimer since_last_;
};

}  // namespace kevt::gui

// TriggerWatch: finds out when triggers fired, as far as the directory's files and the records tell.
#pragma once

#include <QObject>
#include <QString>
#include <map>
#include <vector>

#include "gui/model/job.h"
#include "gui/model/live_state.h"
#include "tracefs-compat/record/store/store.h"

namespace kevt::gui {

class TriggerWatch : public QObject {
  Q_OBJECT

 public:
  explicit TriggerWatch(QObject* parent = nullptr);
  ~TriggerWatch() override;

  struct Firing {
    std::uint64_t ns = 0;
    QString text;  // "snapshot of open"
  };
  // Takes the present state; new records are searched in a worker.
  void take(const LiveState& state, const record::StoreView& view);
  void clear();  // another trace
  // In the order of time; the first kMost.
  const std::vector<Firing>& firings() const { return firings_; }
  bool isBusy() const { return busy_ != nullptr; }

  static constexpr std::size_t kMost = 1000;

 Q_SIGNALS:
  void firingsChanged();

 private:
  struct Watched {
    QString event, kind, filter;
    std::uint64_t left = 0;  // how often it may still fire; ~0: any number of times
    record::Row from = 0;    // records before this one were searched
  };
  void takeSwitch(const LiveState& state, const record::StoreView& view);
  void learn(const LiveState& state, const record::StoreView& view);
  void look(const record::StoreView& view);
  void add(std::vector<Firing> fresh);

  std::map<QString, Watched> watched_;  // by event, kind and filter
  std::vector<Firing> firings_;
  bool was_tracing_ = false, has_state_ = false;
  Cancelled busy_;
  JobQueue jobs_;
};

}  // namespace kevt::gui

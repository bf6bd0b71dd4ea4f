// ProcessList: the processes of this machine; those that can be attached to come first.
#pragma once

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>
#include <QString>
#include <atomic>
#include <string>
#include <vector>

#include "gui/model/job.h"

namespace kevt::gui {

struct ProcessEntry {
  int pid = 0;
  QString name, user, command;
  QString container;         // its id or name; empty: it is in none that is known
  std::string comm, cgroup;  // as the kernel has them, for proc::ProcessChoice
  QString refusal;           // why it cannot be attached to; empty: it probably can
  std::uint64_t started = 0;
};

// Reads /proc. Processes that can be attached to come first, the youngest at the top.
std::vector<ProcessEntry> readProcesses(const std::atomic<bool>& cancelled);

class ProcessList : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { Pid, Name, User, Container, Command, Columns };

  explicit ProcessList(QObject* parent = nullptr);
  ~ProcessList() override;
  void refresh();  // in a worker
  bool isBusy() const { return busy_ != nullptr; }
  void show(std::vector<ProcessEntry> processes);
  const ProcessEntry& at(int row) const { return processes_[static_cast<std::size_t>(row)]; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;

 Q_SIGNALS:
  void refreshed();

 private:
  std::vector<ProcessEntry> processes_;
  Cancelled busy_;
  JobQueue jobs_;
};

// Filters a ProcessList: every word must occur in pid, name, user, container or command line. In any sort order,
// processes that can be attached to come first.
class FoundProcesses : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  using QSortFilterProxyModel::QSortFilterProxyModel;
  void find(const QString& text);
  const ProcessEntry& at(const QModelIndex& index) const;
  QModelIndex ofPid(int pid) const;  // invalid: not shown

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;
  bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;

 private:
  const ProcessList& list() const { return *static_cast<const ProcessList*>(sourceModel()); }
  QStringList words_;
};

}  // namespace kevt::gui

// Finds the processes and which of them can be traced.
//
// No process is touched: the reasons against tracing one are read from /proc, and told in the words that kevtrace uses
// after a refusal. Processes choose their names and command lines, so unprintable characters are replaced.
#include "gui/model/process_list.h"

#include <linux/capability.h>
#include <pwd.h>
#include <unistd.h>

#include <QDir>
#include <QFile>
#include <algorithm>
#include <map>

#include "common/proc.h"
#include "common/process_choice.h"
#include "runtime-user/runtime/inproc/process/attach_refusal.h"

namespace kevt::gui {
namespace {

constexpr qint64 kMostOfACommand = 4096;

QByteArray proc_file(int pid, const char* name) {
  QFile file(QStringLiteral("/proc/%1/%2").arg(pid).arg(QLatin1String(name)));
  return file.open(QIODevice::ReadOnly) ? file.read(kMostOfACommand) : QByteArray();
}

QString printable(const QByteArray& bytes) {
  QString text = QString::fromUtf8(bytes.trimmed());
  for (QChar& c : text)
    if (!c.isPrint() && !c.isSurrogate()) c = c == u'\0' ? u' ' : u'·';
  return text.trimmed();
}

QString user_name(uid_t uid) {
  passwd entry = {};
  passwd* found = nullptr;
  std::vector<char> room(16384);
  if (::getpwuid_r(uid, &entry, room.data(), room.size(), &found) != 0 || !found) return QString::number(uid);
  return QString::fromLocal8Bit(entry.pw_name);
}

// The start time, word 22 of /proc/PID/stat; the name before may contain blanks and parentheses.
std::uint64_t start_of(const QByteArray& stat) {
  constexpr int kWord = 19;  // behind the name
  return stat.mid(stat.lastIndexOf(')') + 2).split(' ').value(kWord).toULongLong();
}

// Its control group (cgroup v2): the line `0::PATH`; empty: it has none, or it is the root.
std::string cgroup_of(int pid) {
  for (const QByteArray& line : proc_file(pid, "cgroup").split('\n'))
    if (line.startsWith("0::/") && line.size() > 4) return line.mid(3).toStdString();
  return {};
}

// The rights of a tracer that this program starts.
struct Allowance {
  Allowance() {
    QFile file(QStringLiteral("/proc/sys/kernel/yama/ptrace_scope"));
    if (file.open(QIODevice::ReadOnly)) scope = file.readAll().trimmed().toInt();
    may_all = proc::status_signals(::getpid(), "CapEff") >> CAP_SYS_PTRACE & 1;
  }
  bool refuses(int pid, uid_t uid) const {
    if (proc::status_number(pid, "TracerPid") != 0 || scope >= 3) return true;
    return !may_all && (uid != ::geteuid() || scope != 0);
  }
  bool may_all = false;
  int scope = 0;
};

QString refusal_of(int pid, uid_t uid, const Allowance& allowance) {
  // check_attachable() takes the caller's parent for kevtrace's supervisor; the window has no supervisor.
  if (pid != ::getppid())
    if (const auto there = inproc::check_attachable(pid); !there)
      return QString::fromStdString(there.error().message());
  if (!allowance.refuses(pid, uid)) return {};
  return QString::fromStdString(inproc::attach_refusal(pid, EPERM).message());
}

}  // namespace

std::vector<ProcessEntry> readProcesses(const std::atomic<bool>& cancelled) {
  const Allowance allowance;
  std::map<uid_t, QString> users;
  std::vector<ProcessEntry> out;
  for (const QString& name : QDir(QStringLiteral("/proc")).entryList(QDir::Dirs)) {
    if (cancelled) return {};
    bool is_number = false;
    const int pid = name.toInt(&is_number);
    const QByteArray stat = is_number ? proc_file(pid, "stat") : QByteArray();
    if (stat.isEmpty()) continue;
    const auto uid = static_cast<uid_t>(proc::status_number(pid, "Uid"));
    auto user = users.find(uid);
    if (user == users.end()) user = users.emplace(uid, user_name(uid)).first;
    ProcessEntry entry{.pid = pid,
                       .name = printable(proc_file(pid, "comm")),
                       .user = user->second,
                       .command = printable(proc_file(pid, "cmdline")),
                       .container = printable(QByteArray::fromStdString(proc::container_of(pid))),
                       .comm = proc::comm(pid),
                       .cgroup = cgroup_of(pid),
                       .refusal = refusal_of(pid, uid, allowance),
                       .started = start_of(stat)};
    if (entry.command.isEmpty()) entry.command = QLatin1Char('[') + entry.name + QLatin1Char(']');
    out.push_back(std::move(entry));
  }
  std::ranges::sort(out, [](const ProcessEntry& a, const ProcessEntry& b) {
    if (a.refusal.isEmpty() != b.refusal.isEmpty()) return a.refusal.isEmpty();
    return std::pair(a.started, a.pid) > std::pair(b.started, b.pid);
  });
  return out;
}

ProcessList::ProcessList(QObject* parent) : QAbstractTableModel(parent), jobs_(this, 1) {}

ProcessList::~ProcessList() {
  if (busy_) *busy_ = true;
}

void ProcessList::refresh() {
  if (busy_) return;
  busy_ = jobs_.start([](const std::atomic<bool>& cancelled) { return readProcesses(cancelled); },
                      [this](std::vector<ProcessEntry> processes) {
                        busy_.reset();
                        show(std::move(processes));
                        Q_EMIT refreshed();
                      });
}

void ProcessList::show(std::vector<ProcessEntry> processes) {
  beginResetModel();
  processes_ = std::move(processes);
  endResetModel();
}

int ProcessList::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(processes_.size());
}

int ProcessList::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : Columns; }

QVariant ProcessList::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const ProcessEntry& process = at(index.row());
  if (role == Qt::TextAlignmentRole && index.column() == Pid) return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  if (role != Qt::DisplayRole) return {};
  switch (index.column()) {
    case Pid:
      return process.pid;
    case Name:
      return process.name;
    case User:
      return process.user;
    case Container:
      return process.container;
    case Command:
      return process.command;
  }
  return {};
}

QVariant ProcessList::headerData(int section, Qt::Orientation orientation, int role) const {
  static const char* const kNames[] = {"PID", "Name", "User", "Container", "Command line"};
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole || section < 0 || section >= Columns) return {};
  return tr(kNames[section]);
}

// A process that cannot be attached to can be selected, to see why.
Qt::ItemFlags ProcessList::flags(const QModelIndex& index) const {
  return index.isValid() ? Qt::ItemIsEnabled | Qt::ItemIsSelectable : Qt::NoItemFlags;
}

void FoundProcesses::find(const QString& text) {
  words_ = text.simplified().split(QLatin1Char(' '), Qt::SkipEmptyParts);
  invalidateFilter();
}

const ProcessEntry& FoundProcesses::at(const QModelIndex& index) const { return list().at(mapToSource(index).row()); }

QModelIndex FoundProcesses::ofPid(int pid) const {
  for (int row = 0; row < list().rowCount(); ++row)
    if (list().at(row).pid == pid) return mapFromSource(list().index(row, 0));
  return {};
}

bool FoundProcesses::filterAcceptsRow(int row, const QModelIndex&) const {
  const ProcessEntry& process = list().at(row);
  const QString pid = QString::number(process.pid);
  return std::ranges::all_of(words_, [&](const QString& word) {
    return pid.contains(word) || process.name.contains(word, Qt::CaseInsensitive) ||
           process.user.contains(word, Qt::CaseInsensitive) || process.container.contains(word, Qt::CaseInsensitive) ||
           process.command.contains(word, Qt::CaseInsensitive);
  });
}

bool FoundProcesses::lessThan(const QModelIndex& left, const QModelIndex& right) const {
  const bool is_left_free = list().at(left.row()).refusal.isEmpty();
  const bool is_right_free = list().at(right.row()).refusal.isEmpty();
  if (is_left_free != is_right_free) return is_left_free == (sortOrder() == Qt::AscendingOrder);
  return QSortFilterProxyModel::lessThan(left, right);
}

}  // namespace kevt::gui

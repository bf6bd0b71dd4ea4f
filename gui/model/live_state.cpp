// Reading a tracing directory's state: a handful of files, and two for each event that matters.
//
// A kernel has 1500 events or more, so the enabled ones are read from one file, set_event, and hits from the profiles.
#include "gui/model/live_state.h"

#include <QStringList>
#include <algorithm>
#include <map>
#include <set>

#include "gui/model/apply_plan.h"

namespace kevt::gui {
namespace {

constexpr std::size_t kMaxEvents = 20'000;

QString state_text(tree::TracingDir& directory, const std::string& path) {
  auto text = directory.read(path);
  return text ? QString::fromStdString(*text) : QString();
}

struct Profile {
  std::uint64_t hits = 0, missed = 0;
};

// "  NAME   HITS  MISSED" of kprobe_profile, "  PATH NAME HITS" of uprobe_profile.
void read_profile(const QString& text, std::map<QString, Profile>& out, bool has_path) {
  for (const QString& line : text.split(QLatin1Char('\n'), Qt::SkipEmptyParts)) {
    const QStringList words = line.simplified().split(QLatin1Char(' '));
    const int name = has_path ? 1 : 0;
    if (words.size() < name + 2) continue;
    out[words[name]] = {words[name + 1].toULongLong(), words.value(name + 2).toULongLong()};
  }
}

void read_lost(tree::TracingDir& directory, LiveState& state) {
  auto cpus = directory.list("per_cpu");
  if (!cpus) return;
  QStringList where;
  for (const tree::DirectoryEntry& cpu : *cpus) {
    const QString stats = state_text(directory, "per_cpu/" + cpu.name + "/stats");
    std::uint64_t lost = 0;
    for (const QString& line : stats.split(QLatin1Char('\n')))
      if (line.startsWith(QLatin1String("overrun:")) || line.startsWith(QLatin1String("dropped events:")))
        lost += line.section(QLatin1Char(':'), 1).trimmed().toULongLong();
    state.lost += lost;
    if (lost) where.append(QStringLiteral("%1: %2").arg(QString::fromStdString(cpu.name)).arg(lost));
  }
  state.lost_where = where.join(QStringLiteral(", "));
}

// Maps "GROUP/EVENT" to its line of dynamic_events; the first one if there are several.
std::map<QString, QString> definitions_of(const QString& text) {
  std::map<QString, QString> out;
  for (const QString& line : text.split(QLatin1Char('\n'), Qt::SkipEmptyParts))
    out.emplace(nameOfListing(line), line.trimmed());
  return out;
}

QString filter_of(tree::TracingDir& directory, const std::string& event) {
  const QString text = state_text(directory, event + "/filter").trimmed();
  return text == QLatin1String("none") ? QString() : text;
}

QString triggers_of(tree::TracingDir& directory, const std::string& event) {
  QStringList lines;
  for (const QString& line : state_text(directory, event + "/trigger").split(QLatin1Char('\n'), Qt::SkipEmptyParts))
    if (!line.startsWith(QLatin1Char('#'))) lines.append(line);
  return lines.join(QLatin1Char('\n'));
}

}  // namespace

QString lastMistake(const QString& error_log) {
  return error_log.section(QStringLiteral("error:"), -1).section(QLatin1Char('\n'), 0, 0).trimmed();
}

std::string definitionsFile(tree::TracingDir& directory) {
  return directory.read("dynamic_events") ? "dynamic_events" : "kprobe_events";
}

Result<LiveState> readLiveState(tree::TracingDir& directory) {
  LiveState state;
  auto systems = directory.list("events");
  if (!systems) return std::unexpected(systems.error());
  state.definitions = state_text(directory, definitionsFile(directory));
  state.error_log = state_text(directory, "error_log");
  state.is_tracing = state_text(directory, "tracing_on").trimmed() == QLatin1String("1");
  state.clock = state_text(directory, "trace_clock").section(QLatin1Char('['), 1).section(QLatin1Char(']'), 0, 0);
  read_lost(directory, state);
  state.buffer_kb = state_text(directory, "buffer_size_kb").trimmed().section(QLatin1Char(' '), 0, 0).toULongLong();
  state.overwrites = state_text(directory, "options/overwrite").trimmed() == QLatin1String("1");
  const std::map<QString, QString> definitions = definitions_of(state.definitions);
  std::map<QString, Profile> profiles;
  read_profile(state_text(directory, "kprobe_profile"), profiles, false);
  read_profile(state_text(directory, "uprobe_profile"), profiles, true);
  std::set<QString> enabled;
  for (const QString& line : state_text(directory, "set_event").split(QLatin1Char('\n'), Qt::SkipEmptyParts))
    enabled.insert(line.trimmed());
  for (const tree::DirectoryEntry& system : *systems) {
    if (!system.is_directory) continue;
    auto events = directory.list("events/" + system.name);
    if (!events) continue;
    for (const tree::DirectoryEntry& event : *events) {
      if (!event.is_directory || state.events.size() >= kMaxEvents) continue;
      LiveEvent live{.system = QString::fromStdString(system.name), .name = QString::fromStdString(event.name)};
      live.is_enabled = enabled.contains(live.system + QLatin1Char(':') + live.name);
      if (const auto profile = profiles.find(live.name); profile != profiles.end()) {
        live.has_profile = true;
        live.hits = profile->second.hits;
        live.missed = profile->second.missed;
      }
      if (const auto found = definitions.find(live.system + QLatin1Char('/') + live.name); found != definitions.end())
        live.definition = found->second;
      if (live.has_profile || live.is_enabled) {
        const std::string path = "events/" + system.name + "/" + event.name;
        live.filter = filter_of(directory, path);
        live.trigger = triggers_of(directory, path);
      }
      state.events.push_back(std::move(live));
    }
  }
  std::ranges::sort(state.events, {}, [](const LiveEvent& e) { return std::pair(e.system, e.name); });
  return state;
}

}  // namespace kevt::gui

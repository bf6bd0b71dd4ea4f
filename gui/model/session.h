// Session: what a window shows, as a .kevs file (JSON). Reading the file restores the window.
#pragma once

#include <QByteArray>
#include <QMap>
#include <QString>
#include <QStringList>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "common/error.h"

namespace kevt::gui {

struct SessionMarker {
  std::uint64_t ns = 0;
  QString name, note;
};

struct Session {
  QString trace;        // a recording
  QString trace_hash;   // fileHash() of it; empty: not known
  QStringList command;  // a target
  QString directory;    // the tracing directory that was followed; may still exist
  int pid = 0;          // the traced process; 0: the kernel
  QString probes;       // the editor's text
  QStringList owned;    // GROUP/EVENT of events that Apply made
  QString table_filter;
  QStringList hidden_lanes, collapsed_groups, lane_order, pinned_lanes, hidden_columns;
  std::vector<std::pair<QString, QString>> plotted_fields;
  QStringList latencies, heats;        // events whose durations are plotted, mapped
  int time_format = 0, colour_by = 0;  // numbers of TimeFormat and ColourBy
  QString colour_field, mouse;         // mouse: "kernelshark", or empty
  bool has_patterns = false;
  std::vector<SessionMarker> markers;
  std::optional<std::pair<double, double>> window_ns;               // relative to the first record
  std::optional<std::pair<std::uint64_t, std::uint64_t>> range_ns;  // absolute
  std::optional<std::uint64_t> selected_row;
  QString theme;                           // light, dark; empty: the system's
  QString workspace;                       // the current one
  QMap<QString, QByteArray> arrangements;  // of each workspace, as Workspaces::arrangements() has them
};

// A relative path of the trace is relative to the file's folder.
Result<Session> loadSession(const QString& path);
Result<void> saveSession(const Session& session, const QString& path);
// A hash of the file's size and its first and last MiB, to recognize a recording. Empty: it cannot be read.
QString fileHash(const QString& path);
QByteArray toJson(const Session& session);
Result<Session> fromJson(const QByteArray& json);

}  // namespace kevt::gui

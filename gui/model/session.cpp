// .kevs files. Unknown members and wrong values are ignored, so an older program reads of a newer file what it knows.
// Times in ns are stored as text, since JSON's numbers are exact only up to 2^53.
#include "gui/model/session.h"

#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>

namespace kevt::gui {
namespace {

constexpr qint64 kMaxBytes = 16 << 20;

QJsonArray arrayOf(const QStringList& texts) { return QJsonArray::fromStringList(texts); }

QStringList textsOf(const QJsonValue& value) {
  QStringList out;
  for (const QJsonValue& one : value.toArray()) out.append(one.toString());
  return out;
}

QString numberText(std::uint64_t number) { return QString::number(number); }
std::uint64_t numberOf(const QJsonValue& value) { return value.toString().toULongLong(); }

}  // namespace

QString fileHash(const QString& path) {
  constexpr qint64 kPiece = 1 << 20;
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) return {};
  QCryptographicHash hash(QCryptographicHash::Sha256);
  hash.addData(QByteArray::number(file.size()));
  hash.addData(file.read(kPiece));
  if (file.size() > kPiece && file.seek(std::max(kPiece, file.size() - kPiece))) hash.addData(file.read(kPiece));
  return QString::fromLatin1(hash.result().toHex());
}

QByteArray toJson(const Session& s) {
  QJsonObject o{{QStringLiteral("kevs"), 1}};
  o[QStringLiteral("trace")] = s.trace;
  o[QStringLiteral("trace_hash")] = s.trace_hash;
  o[QStringLiteral("latencies")] = arrayOf(s.latencies);
  o[QStringLiteral("heats")] = arrayOf(s.heats);
  o[QStringLiteral("time_format")] = s.time_format;
  o[QStringLiteral("colour_by")] = s.colour_by;
  o[QStringLiteral("colour_field")] = s.colour_field;
  o[QStringLiteral("patterns")] = s.has_patterns;
  o[QStringLiteral("mouse")] = s.mouse;
  o[QStringLiteral("command")] = arrayOf(s.command);
  o[QStringLiteral("probes")] = s.probes;
  o[QStringLiteral("owned")] = arrayOf(s.owned);
  o[QStringLiteral("filter")] = s.table_filter;
  o[QStringLiteral("hidden_lanes")] = arrayOf(s.hidden_lanes);
  o[QStringLiteral("collapsed_groups")] = arrayOf(s.collapsed_groups);
  o[QStringLiteral("lane_order")] = arrayOf(s.lane_order);
  o[QStringLiteral("pinned_lanes")] = arrayOf(s.pinned_lanes);
  o[QStringLiteral("hidden_columns")] = arrayOf(s.hidden_columns);
  o[QStringLiteral("directory")] = s.directory;
  o[QStringLiteral("pid")] = s.pid;
  QJsonArray fields;
  for (const auto& [event, field] : s.plotted_fields)
    fields.append(QJsonObject{{QStringLiteral("event"), event}, {QStringLiteral("field"), field}});
  o[QStringLiteral("fields")] = fields;
  QJsonArray markers;
  for (const SessionMarker& m : s.markers)
    markers.append(QJsonObject{
        {QStringLiteral("ns"), numberText(m.ns)}, {QStringLiteral("name"), m.name}, {QStringLiteral("note"), m.note}});
  o[QStringLiteral("markers")] = markers;
  if (s.window_ns) o[QStringLiteral("window_ns")] = QJsonArray{s.window_ns->first, s.window_ns->second};
  if (s.range_ns)
    o[QStringLiteral("range_ns")] = QJsonArray{numberText(s.range_ns->first), numberText(s.range_ns->second)};
  if (s.selected_row) o[QStringLiteral("selected_row")] = numberText(*s.selected_row);
  o[QStringLiteral("theme")] = s.theme;
  o[QStringLiteral("workspace")] = s.workspace;
  QJsonObject arrangements;
  for (auto one = s.arrangements.begin(); one != s.arrangements.end(); ++one)
    arrangements[one.key()] = QString::fromLatin1(one.value().toBase64());
  o[QStringLiteral("arrangements")] = arrangements;
  return QJsonDocument(o).toJson();
}

Result<Session> fromJson(const QByteArray& json) {
  QJsonParseError error;
  const QJsonDocument document = QJsonDocument::fromJson(json, &error);
  if (!document.isObject() || !document.object().contains(QStringLiteral("kevs"))) {
    const QString why = error.error == QJsonParseError::NoError
                            ? QStringLiteral("no member `kevs`")
                            : error.errorString() + QStringLiteral(" at byte %1").arg(error.offset);
    return std::unexpected(Error("no session file: " + why.toStdString()));
  }
  const QJsonObject o = document.object();
  Session s;
  s.trace = o[QStringLiteral("trace")].toString();
  s.trace_hash = o[QStringLiteral("trace_hash")].toString();
  s.latencies = textsOf(o[QStringLiteral("latencies")]);
  s.heats = textsOf(o[QStringLiteral("heats")]);
  s.time_format = o[QStringLiteral("time_format")].toInt();
  s.colour_by = o[QStringLiteral("colour_by")].toInt();
  s.colour_field = o[QStringLiteral("colour_field")].toString();
  s.has_patterns = o[QStringLiteral("patterns")].toBool();
  s.mouse = o[QStringLiteral("mouse")].toString();
  s.command = textsOf(o[QStringLiteral("command")]);
  s.probes = o[QStringLiteral("probes")].toString();
  s.owned = textsOf(o[QStringLiteral("owned")]);
  s.table_filter = o[QStringLiteral("filter")].toString();
  s.hidden_lanes = textsOf(o[QStringLiteral("hidden_lanes")]);
  s.collapsed_groups = textsOf(o[QStringLiteral("collapsed_groups")]);
  s.lane_order = textsOf(o[QStringLiteral("lane_order")]);
  s.pinned_lanes = textsOf(o[QStringLiteral("pinned_lanes")]);
  s.hidden_columns = textsOf(o[QStringLiteral("hidden_columns")]);
  s.directory = o[QStringLiteral("directory")].toString();
  s.pid = o[QStringLiteral("pid")].toInt();
  for (const QJsonValue& f : o[QStringLiteral("fields")].toArray())
    s.plotted_fields.emplace_back(f[QStringLiteral("event")].toString(), f[QStringLiteral("field")].toString());
  for (const QJsonValue& m : o[QStringLiteral("markers")].toArray())
    s.markers.push_back({numberOf(m[QStringLiteral("ns")]), m[QStringLiteral("name")].toString(),
                         m[QStringLiteral("note")].toString()});
  if (const QJsonArray w = o[QStringLiteral("window_ns")].toArray(); w.size() == 2)
    s.window_ns = {w[0].toDouble(), w[1].toDouble()};
  if (const QJsonArray r = o[QStringLiteral("range_ns")].toArray(); r.size() == 2)
    s.range_ns = {numberOf(r[0]), numberOf(r[1])};
  if (o.contains(QStringLiteral("selected_row"))) s.selected_row = numberOf(o[QStringLiteral("selected_row")]);
  s.theme = o[QStringLiteral("theme")].toString();
  s.workspace = o[QStringLiteral("workspace")].toString();
  const QJsonObject arrangements = o[QStringLiteral("arrangements")].toObject();
  for (auto one = arrangements.begin(); one != arrangements.end(); ++one)
    s.arrangements[one.key()] = QByteArray::fromBase64(one.value().toString().toLatin1());
  return s;
}

Result<Session> loadSession(const QString& path) {
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly))
    return std::unexpected(Error(path.toStdString() + ": " + file.errorString().toStdString()));
  if (file.size() > kMaxBytes) return std::unexpected(Error(path.toStdString() + ": larger than a session can be"));
  auto session = fromJson(file.readAll());
  if (!session) return std::unexpected(std::move(session.error()).while_doing("reading " + path.toStdString()));
  if (!session->trace.isEmpty() && QFileInfo(session->trace).isRelative())
    session->trace = QFileInfo(path).dir().filePath(session->trace);
  return session;
}

Result<void> saveSession(const Session& session, const QString& path) {
  QSaveFile file(path);
  const QByteArray json = toJson(session);
  const bool is_open = file.open(QIODevice::WriteOnly);
  file.setPermissions(QFileDevice::ReadOwner | QFileDevice::WriteOwner);  // it may hold a command with its arguments
  if (!is_open || file.write(json) != json.size() || !file.commit())
    return std::unexpected(Error(path.toStdString() + ": " + file.errorString().toStdString()));
  return {};
}

}  // namespace kevt::gui

// Bundles.
//
//   kevtrace-bundle 1 SESSION-BYTES RECORDING-BYTES\n     the session's JSON     the recording
//
// Both lengths must match the file exactly, so a truncated bundle is refused.
#include "gui/model/session_bundle.h"

#include <QFile>
#include <QFileInfo>
#include <QSaveFile>

#include "common/error.h"
#include "tracefs-compat/record/output_file.h"

namespace kevt::gui {
namespace {

constexpr char kMagic[] = "kevtrace-bundle 1 ";
constexpr qint64 kMaxSession = 16 << 20;
constexpr qint64 kMaxHead = 80;
constexpr qint64 kCopied = 1 << 20;

std::unexpected<Error> fails(const QString& path, const QString& why) {
  return std::unexpected(Error((path + QStringLiteral(": ") + why).toStdString()));
}

// Copies the rest of `from`.
Result<void> copyRest(QFile& from, record::OutputFile& to) {
  while (!from.atEnd()) {
    const QByteArray piece = from.read(kCopied);
    if (piece.isEmpty()) return fails(from.fileName(), from.errorString());
    to.append(std::string_view(piece.constData(), static_cast<std::size_t>(piece.size())));
    KEVT_TRY(to.flush());
  }
  return to.flush();
}

bool copyRest(QFile& from, QSaveFile& to) {
  while (!from.atEnd()) {
    const QByteArray piece = from.read(kCopied);
    if (piece.isEmpty() || to.write(piece) != piece.size()) return false;
  }
  return true;
}

}  // namespace

Result<void> writeBundle(const Session& session, const QString& recording, const QString& path) {
  QFile from(recording);
  if (!from.open(QIODevice::ReadOnly)) return fails(recording, from.errorString());
  Session s = session;
  s.trace = QStringLiteral("recording.dat");
  s.trace_hash = fileHash(recording);
  s.directory.clear();  // it exists only here
  s.pid = 0;
  const QByteArray json = toJson(s);
  auto file = KEVT_TRY(record::OutputFile::create(path.toStdString()));
  const QByteArray head = kMagic + QByteArray::number(json.size()) + ' ' + QByteArray::number(from.size()) + '\n';
  file.append((head + json).toStdString());
  return copyRest(from, file);
}

Result<Session> readBundle(const QString& path, const QString& folder) {
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) return fails(path, file.errorString());
  const QByteArray head = file.readLine(kMaxHead);
  const QList<QByteArray> words = head.trimmed().split(' ');
  bool has_session = false, has_recording = false;
  const qint64 session_bytes = words.value(2).toLongLong(&has_session);
  const qint64 recording_bytes = words.value(3).toLongLong(&has_recording);
  if (!head.startsWith(kMagic) || !head.endsWith('\n') || words.size() != 4 || !has_session || !has_recording)
    return fails(path, QStringLiteral("no bundle of a session"));
  if (session_bytes < 0 || session_bytes > kMaxSession || recording_bytes < 0 ||
      recording_bytes != file.size() - head.size() - session_bytes)
    return fails(path, QStringLiteral("it was cut, or is damaged"));
  auto session = fromJson(file.read(session_bytes));
  if (!session) return std::unexpected(std::move(session.error()).while_doing("reading " + path.toStdString()));
  QSaveFile recording(folder + QStringLiteral("/recording.dat"));
  if (!recording.open(QIODevice::WriteOnly) || !copyRest(file, recording) || !recording.commit())
    return fails(folder, recording.errorString());
  session->trace = recording.fileName();
  session->directory.clear();
  session->pid = 0;
  session->command.clear();
  return session;
}

}  // namespace kevt::gui

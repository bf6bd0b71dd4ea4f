// Times, written and read. Fractions are kept as digits: a double loses nanoseconds of seconds since 1970.
#include "gui/model/time_text.h"

#include <QDateTime>
#include <QRegularExpression>

#include "gui/model/row_text.h"

namespace kevt::gui {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// Converts the digits behind a dot to nanoseconds.
std::uint64_t fraction(const QString& digits) { return digits.leftJustified(9, QLatin1Char('0'), true).toULongLong(); }

std::optional<std::uint64_t> seconds(const QString& whole, const QString& digits) {
  bool is_number = false;
  const std::uint64_t number = whole.isEmpty() ? 0 : whole.toULongLong(&is_number);
  if ((!whole.isEmpty() && !is_number) || number > ~0ull / kSecond - 1) return std::nullopt;
  return number * kSecond + fraction(digits);
}

std::uint64_t wallOf(std::uint64_t ns, std::int64_t offset) { return ns + static_cast<std::uint64_t>(offset); }

}  // namespace

QString timeText(std::uint64_t ns, TimeFormat format, const TimeOrigin& origin) {
  if (format == TimeFormat::Relative) {
    const bool is_before = ns < origin.first_ns;
    return (is_before ? QStringLiteral("−") : QStringLiteral("+")) +
           absoluteTime(is_before ? origin.first_ns - ns : ns - origin.first_ns);
  }
  if (format == TimeFormat::Trace || !origin.wall_offset_ns) return absoluteTime(ns);
  const std::uint64_t wall = wallOf(ns, *origin.wall_offset_ns);
  const QDateTime time = QDateTime::fromSecsSinceEpoch(static_cast<qint64>(wall / kSecond));
  return time.toString(QStringLiteral("yyyy-MM-dd HH:mm:ss.")) +
         QString::number(wall % kSecond).rightJustified(9, QLatin1Char('0'));
}

std::optional<std::uint64_t> parseTime(const QString& text, const TimeOrigin& origin) {
  static const QRegularExpression kSeconds(QStringLiteral("^(\\+?)(\\d*)(?:\\.(\\d+))?$"));
  static const QRegularExpression kWall(
      QStringLiteral("^(?:(\\d{4}-\\d\\d-\\d\\d)[ T])?(\\d{1,2}:\\d\\d(?::\\d\\d)?)(?:\\.(\\d+))?$"));
  const QString typed = text.trimmed();
  if (const auto match = kSeconds.match(typed); match.hasMatch() && match.capturedLength(2) + match.capturedLength(3)) {
    const auto ns = seconds(match.captured(2), match.captured(3));
    if (!ns || match.capturedLength(1) == 0) return ns;
    return *ns > ~0ull - origin.first_ns ? std::nullopt : std::optional(origin.first_ns + *ns);
  }
  const auto match = kWall.match(typed);
  if (!match.hasMatch() || !origin.wall_offset_ns) return std::nullopt;
  const std::uint64_t first = wallOf(origin.first_ns, *origin.wall_offset_ns);
  QDateTime day = QDateTime::fromSecsSinceEpoch(static_cast<qint64>(first / kSecond));
  if (match.capturedLength(1)) day.setDate(QDate::fromString(match.captured(1), Qt::ISODate));
  const QString clock = match.captured(2).size() < 5 || match.captured(2).indexOf(QLatin1Char(':')) == 1
                            ? QLatin1Char('0') + match.captured(2)
                            : match.captured(2);
  day.setTime(QTime::fromString(clock, Qt::ISODate));
  if (!day.isValid() || day.toSecsSinceEpoch() < 0) return std::nullopt;
  const std::uint64_t wall = static_cast<std::uint64_t>(day.toSecsSinceEpoch()) * kSecond + fraction(match.captured(3));
  const auto ns = static_cast<__int128>(wall) - *origin.wall_offset_ns;
  return ns < 0 || ns > static_cast<__int128>(~0ull) ? std::nullopt : std::optional(static_cast<std::uint64_t>(ns));
}

}  // namespace kevt::gui

// Times as they are shown and typed: the trace's own, relative to the first record, or of the wall clock.
#pragma once

#include <QString>
#include <cstdint>
#include <optional>

namespace kevt::gui {

enum class TimeFormat { Trace, Relative, Wall };

// What is needed to convert a trace time.
struct TimeOrigin {
  std::uint64_t first_ns = 0;                  // of the first record
  std::optional<std::int64_t> wall_offset_ns;  // time + this = nanoseconds since 1970; nullopt: not known
};

// "5070.441498123", "+0.000012345", "2026-11-22 12:00:01.441498123" (local time). Wall without an offset is shown as
// Trace.
QString timeText(std::uint64_t ns, TimeFormat format, const TimeOrigin& origin);

// Parses a typed time: seconds of the trace, "+0.5" after the first record, or "12:00:01.44" of the wall clock, with or
// without a date before. nullopt: none of these, or the wall clock is not known.
std::optional<std::uint64_t> parseTime(const QString& text, const TimeOrigin& origin);

}  // namespace kevt::gui

// Texts of records for people: times, values, what follows the time stamp of a trace line.
#pragma once

#include <QString>
#include <cstdint>
#include <memory>
#include <optional>

#include "tracefs-compat/record/print/trace_line.h"
#include "tracefs-compat/record/recording.h"
#include "tracefs-compat/record/store/store.h"

namespace kevt::gui {

// "5070.441498123"
QString absoluteTime(std::uint64_t ns);
// "12.3 µs", "1.204 s": as many digits as one reads at a glance.
QString duration(double ns);
// "12 431", with thin spaces.
QString grouped(std::uint64_t number);
QString compactNumber(double number);  // "3.4 M"

// A value as typed text; numbers are hexadecimal where the event's print fmt shows them so.
QString fieldText(const record::EventFormat& event, const record::Field& field, std::span<const std::uint8_t> bytes,
                  const record::Metadata& metadata);
std::optional<double> fieldNumber(const record::Field& field, std::span<const std::uint8_t> bytes);

// Details of records, as `trace` prints them. Not thread safe: one for each thread.
class RowText {
 public:
  explicit RowText(std::shared_ptr<const record::Metadata> metadata)
      : metadata_(std::move(metadata)), lines_(*metadata_) {}
  const record::Metadata& metadata() const { return *metadata_; }
  QString details(const record::TypedRecord& record);
  QString line(const record::TypedRecord& record);  // the whole trace line, without its newline

 private:
  std::shared_ptr<const record::Metadata> metadata_;
  record::TraceLines lines_;
  std::string text_;
};

}  // namespace kevt::gui

// Texts of records for people: times, values, what follows the time stamp of a trace line.
#pragma once

#include <QString>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "tracefs-compat/record/print/trace_line.h"
#include "tracefs-compat/record/recording.h"
#include "tracefs-compat/record/store/store.h"

namespace kevt::gui {

// "5070.441498123"
QString absoluteTime(std::uint64_t ns);
// "12.3 µs", "1.204 s": few digits, to be read at a glance.
QString duration(double ns);
// "12 431", with thin spaces.
QString grouped(std::uint64_t number);
QString compactNumber(double number);  // "3.4 M"

// Of a task without its number: "python3", "web1: python3".
QString taskText(const record::StoreTask& task);
// Whether the event prints the field as a hexadecimal number, by the text of its print fmt: asked for every cell, where
// record::number_style(), which compiles that text, would be too slow.
bool isHex(const record::EventFormat& event, const record::Field& field);
// A field's value as text; numbers are hexadecimal if the event's print fmt prints them so.
QString fieldText(const record::EventFormat& event, const record::Field& field, const record::TypedRecord& record,
                  const record::Metadata& metadata);
std::optional<double> fieldNumber(const record::Field& field, std::span<const std::uint8_t> bytes);

// Details of records, as `kevtrace report` prints them: the kernel's own events in the words of libtraceevent's
// plugins. Not thread safe: use one object per thread.
class RowText {
 public:
  explicit RowText(std::shared_ptr<const record::Metadata> metadata);
  // Sets newer metadata of the same trace.
  void setMetadata(std::shared_ptr<const record::Metadata> metadata);
  // To be called before details or lines of these records are asked for in this order: libtraceevent's texts cost much
  // less when made together.
  void askAhead(std::span<const record::TypedRecord> records) { lines_.ask_ahead(records); }
  // Whether the event's records are told by its print fmt, not by libtraceevent or field by field.
  bool isByPrintFormat(const record::EventFormat& event) { return lines_.own_format(event).has_value(); }
  QString details(const record::TypedRecord& record);
  QString line(const record::TypedRecord& record);  // the whole trace line, without its newline
  // Why libtraceevent's plugins are not used; returned once.
  std::optional<std::string> takeProblem() { return lines_.take_problem(); }

 private:
  std::shared_ptr<const record::Metadata> metadata_;
  record::TraceLines lines_;
  std::string text_;
};

}  // namespace kevt::gui

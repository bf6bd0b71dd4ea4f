// Columns: chosen parts of records, with tabs between them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracefs-compat/record/print/print_format.h"
#include "tracefs-compat/record/print/trace_line.h"

namespace kevt::record {

class Columns {
 public:
  // `lines` prints times and texts; it outlives the columns.
  Columns(std::vector<std::string> names, TraceLines& lines, Controls controls)
      : names_(std::move(names)), lines_(lines), controls_(controls) {}
  // A name that is neither a column of all records nor a field of any event.
  static std::optional<std::string> unknown(const std::vector<std::string>& names, const Metadata& metadata);

  bool empty() const { return names_.empty(); }
  // Appends one line; what an event does not have stays empty.
  void append(const TypedRecord& record, std::string& out);

 private:
  void append_cell(const TypedRecord& record, const std::string& name, std::string& out);
  void append_field(const TypedRecord& record, const Field& field, std::string& out);

  std::vector<std::string> names_;
  TraceLines& lines_;
  Controls controls_;
  std::unordered_map<const Field*, NumberStyle> styles_;
};

// Text for a table, whose lines and columns stay what they are: control characters as `\ooo` where they must be
// escaped, else as '?'.
std::string table_text(std::string_view text, Controls controls);

// A field's value as text: numbers plain, texts as they are, several with commas, "(fault)" where it is absent.
void append_value(const Field& field, std::span<const std::uint8_t> record, std::string& out);

}  // namespace kevt::record

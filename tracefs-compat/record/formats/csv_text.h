// Cells of CSV (RFC 4180), appended.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/controls.h"

namespace kevt::record {

enum class CellKind : std::uint8_t { Number, Text };

// Spreadsheets run a cell that begins with = + - @, a tab or a line end as a formula: such a text gets a ' in front, as
// OWASP advises. Numbers stay what they are. Quoted where it must be.
void append_csv_cell(std::string_view text, CellKind kind, Controls controls, std::string& out);

}  // namespace kevt::record

// JSON strings and numbers, appended.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tracefs-compat/record/event_format.h"

namespace kevt::record {

// With its quotes. What is no UTF-8 becomes U+FFFD; false: there was some.
bool append_json_string(std::string_view text, std::string& out);
// A field's value: number, string, null for what could not be read, an array for several; bytes as a string of hex.
void append_json_value(const Field& field, std::span<const std::uint8_t> record, std::string& out);

}  // namespace kevt::record

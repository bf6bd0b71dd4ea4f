// RecordBuilder: a record's bytes, made from the values of its fields, as the event's format says.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tracefs-compat/record/event_format.h"

namespace kevt::record {

// What does not fit (an offset behind the record's end, more than 65,535 bytes) is left out: the format may be hostile.
class RecordBuilder {
 public:
  // `out` gets the record; its fixed part is zeros at first.
  RecordBuilder(const EventFormat& event, std::vector<std::uint8_t>& out);

  // The fields that all events have (`common_type` …).
  void store_common(std::uint8_t flags, std::uint8_t preempt_count, std::int32_t pid);
  // Of a number: two's complement, or the bits of a float, in its lowest bytes.
  void store_number(const Field& field, std::uint64_t value, std::uint32_t item = 0);
  void store_text(const Field& field, std::string_view text);  // of char[N]
  // A dynamic text with its NUL, or dynamic bytes; empty: it could not be read.
  void store_dynamic(const Field& field, std::string_view data, std::uint32_t item = 0);
  // The last field is an array that ends early, and the record with it.
  void end_at(const Field& field, std::size_t items);

 private:
  void store(std::uint64_t offset, std::uint64_t value, std::uint32_t bytes);

  const EventFormat& event_;
  std::vector<std::uint8_t>& out_;
};

}  // namespace kevt::record

// EventFormat: what an event's `format` file says: its name, its id, its fields, how it is printed.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"

namespace kevt::record {

enum class FieldKind : std::uint8_t {
  Number,          // 1 to 8 bytes
  Numbers,         // several of `item_bytes`
  Text,            // char[N] in the record itself, ended by a NUL or its size
  DynamicText,     // a data_loc word: offset | length << 16
  DynamicTexts,    // several such words
  DynamicBytes,    // a data_loc word of anything but characters
  DynamicNumbers,  // a data_loc word of numbers of `item_bytes`: a list of a probe
};

// Addresses that are printed as symbols.
enum class PlaceRole : std::uint8_t { None, Place, Function, ReturnedTo };

struct Field {
  std::string name;
  std::string type;  // as written: "u32", "__data_loc char[]"
  std::uint32_t offset = 0;
  std::uint32_t size = 0;        // bytes in the fixed part
  std::uint32_t item_bytes = 0;  // of one item: 1, 2, 4 or 8 for numbers
  bool is_signed = false;
  bool is_float = false;     // numbers of 4 or 8 bytes: `f32`, `f64`, `float`, `double`
  bool is_hex = false;       // bytes that `print fmt` shows as one text: `id=%02x%02x…`
  bool is_relative = false;  // __rel_loc: the offset counts from behind the word
  FieldKind kind = FieldKind::Number;
  PlaceRole role = PlaceRole::None;

  // How many there are at most in the fixed part: numbers, or data_loc words.
  std::uint32_t items() const {
    if (kind == FieldKind::DynamicNumbers) return 1;
    return item_bytes ? size / item_bytes : 0;
  }
  // Whether a record has several values of it, and shows them as a list.
  bool is_list() const {
    return kind == FieldKind::Numbers || kind == FieldKind::DynamicTexts || kind == FieldKind::DynamicNumbers;
  }
  bool is_text() const {
    return kind == FieldKind::Text || kind == FieldKind::DynamicText || kind == FieldKind::DynamicTexts;
  }
};

struct EventFormat {
  std::string system;
  std::string name;
  std::uint32_t id = 0;
  std::vector<Field> common;  // common_type …
  std::vector<Field> fields;  // the event's own, in record order
  std::string print_fmt;      // what follows "print fmt: "
  std::string text;           // the whole file
  std::uint32_t steps = 0;    // what printing a record costs, about, beside what its own bytes do
  std::uint32_t located = 0;  // words in a record that say where dynamic data are

  const Field* find(std::string_view field) const;
  std::uint32_t fixed_size() const;  // bytes before dynamic data
};

// Reads a `format` file; it may be hostile.
Result<EventFormat> parse_format(std::string_view system, std::string_view text);

// The events of a recording. Pointers stay valid while it lives.
class EventFormats {
 public:
  EventFormats() = default;
  // Events of a copy lie elsewhere.
  EventFormats(const EventFormats& other) { *this = other; }
  EventFormats& operator=(const EventFormats& other);
  EventFormats(EventFormats&&) = default;
  EventFormats& operator=(EventFormats&&) = default;
  ~EventFormats() = default;

  // The event; an id that is there already keeps its first owner.
  const EventFormat& add(EventFormat format);
  const EventFormat* by_id(std::uint32_t id) const { return id < by_id_.size() ? by_id_[id] : nullptr; }
  // "NAME", "SYSTEM:NAME" or "SYSTEM/NAME"; globs are the caller's.
  const EventFormat* by_name(std::string_view name) const;
  const std::deque<EventFormat>& all() const { return all_; }

 private:
  std::deque<EventFormat> all_;
  std::vector<const EventFormat*> by_id_;  // ids have 16 bits
};

// What a field holds in a record, which may be hostile: reads stay inside, what is not there is Absent.
struct Value {
  enum class Kind : std::uint8_t { Absent, Unsigned, Signed, Float, Text } kind = Kind::Absent;
  std::uint64_t number = 0;  // two's complement when Signed; when Float its bits (model/floating.h)
  std::string_view text;     // without its NUL; lives as long as the record's bytes

  std::uint8_t bytes = 8;  // of a Float
  bool is_hex = false;     // Text: these are bytes that are shown in hexadecimal

  bool is_integer() const { return kind == Kind::Unsigned || kind == Kind::Signed; }
  bool is_number() const { return is_integer() || kind == Kind::Float; }
};
// Of a number.
double as_double(const Value& value);
// Appends "3", "-3", "2.5"; a text as it is; what is not there as "(fault)".
void append_plain(const Value& value, std::string& out);
Value value_of(const Field& field, std::span<const std::uint8_t> record, std::uint32_t item = 0);
// How many values of the field the record has: of lists what is there, otherwise 1.
std::uint32_t items_of(const Field& field, std::span<const std::uint8_t> record);
// Whether its dynamic data, which may lie over each other, are more than a record of this size can have.
bool has_too_much_text(const EventFormat& event, std::span<const std::uint8_t> record);
// The bytes of the field, of dynamic data those behind the fixed part; empty where they are not in the record.
std::span<const std::uint8_t> dynamic_bytes(const Field& field, std::span<const std::uint8_t> record);

}  // namespace kevt::record

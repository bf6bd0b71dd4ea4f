// PrintFormat: the `print fmt` of an event, read once and run for every record.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tracefs-compat/record/event_format.h"
#include "tracefs-compat/record/symbols.h"

namespace kevt::record {

enum class NodeKind : std::uint8_t {
  Constant,    // number
  Field,       // field, item 0 or that of child 0
  Text,        // text
  FieldText,   // field, item 0 or that of child 0: a string of the record
  Negate,      // child 0
  Invert,      // child 0
  Not,         // child 0
  Binary,      // op, children 0 and 1
  Choose,      // children 0 ? 1 : 2
  Cast,        // child 0, `bytes`, `is_signed`
  Flags,       // child 0, text: what stands between them, names
  Name,        // child 0, names
  Hex,         // field's bytes, child 0: how many; text: what stands between them
  Array,       // field's items
  DataLength,  // field: bytes of its dynamic data
};

enum class BinaryOp : std::uint8_t {
  Add,
  Subtract,
  Multiply,
  Divide,
  Remainder,
  ShiftLeft,
  ShiftRight,
  And,
  Or,
  Xor,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Equal,
  NotEqual,
  LogicalAnd,
  LogicalOr,
};

struct NamedNumber {
  std::uint64_t number = 0;
  std::string name;
};

struct PrintNode {
  NodeKind kind = NodeKind::Constant;
  BinaryOp op = BinaryOp::Add;
  bool is_signed = false;
  bool is_wide_unsigned = false;       // 64 bits without a sign: so is what is computed with it
  std::uint8_t bytes = 8;              // of a Cast; of a Constant: 4 or 8, and is_signed, as C types it
  std::uint32_t child[3] = {0, 0, 0};  // into the program's nodes; 0: none
  std::uint64_t number = 0;
  const Field* field = nullptr;
  std::string text;
  std::vector<NamedNumber> names;  // Name: sorted by number; Flags: in their order
};

// One conversion and the text in front of it.
struct PrintPiece {
  std::string before;
  char conversion = 0;  // d u x X o c s S (symbol with offset) y (symbol) p f (a field); 0: only text
  bool left = false, zero = false, prefix = false, plus = false;
  bool quoted = false;  // its quotes are printed with it: an absent string has none
  std::uint16_t width = 0;
  std::int16_t precision = -1;
  std::uint8_t bytes = 4;
  std::uint32_t node = 0;
};

// How a probe's addresses are printed: as symbols, or plain, as uprobes do.
enum class PlaceStyle : std::uint8_t { Symbols, Addresses };

// Appends a probe's address as it is printed.
void append_place(const Symbols& symbols, std::uint64_t address, PlaceRole role, PlaceStyle style, std::string& out);

// How the event's print fmt prints a field's numbers.
enum class NumberStyle : std::uint8_t { Decimal, Hex, Symbol };
NumberStyle number_style(const EventFormat& event, std::string_view field);
// A field's value as text, as append_value() (columns.h), its numbers in that style. Appends; of
// numbers whose texts are longer than 64 KiB the rest is left out.
void append_shown(const Field& field, NumberStyle style, const Symbols& symbols, std::span<const std::uint8_t> record,
                  std::string& out);

class PrintFormat {
 public:
  // nullopt: it uses something that is not understood. `event` must outlive the result.
  static std::optional<PrintFormat> compile(const EventFormat& event);

  // Appends. `record` may be hostile: of what is longer than 64 KiB the rest is left out.
  void print(std::span<const std::uint8_t> record, const Symbols& symbols, PlaceStyle style, std::string& out) const;
  NumberStyle style_of(std::string_view field) const;

  // What print() puts together: of each piece its text, and behind it what one conversion prints. Appends.
  std::span<const PrintPiece> pieces() const { return pieces_; }
  void print_piece(const PrintPiece& piece, std::span<const std::uint8_t> record, const Symbols& symbols,
                   PlaceStyle style, std::string& out) const;
  // The probe's address, or the string of the record, that is all the piece prints; nullptr: something else.
  const Field* place_of(const PrintPiece& piece) const;
  const Field* string_of(const PrintPiece& piece) const;
  const Field* number_of(const PrintPiece& piece) const;  // of an integer

  // Nodes, names and pieces: what it takes in memory.
  std::size_t parts() const;

 private:
  friend class PrintParser;
  std::vector<PrintNode> nodes_;  // 0 is unused
  std::vector<PrintPiece> pieces_;
};

// What is printed of an event whose print fmt is not understood: " a=1 b=\"x\"". Appends.
void print_fields(const EventFormat& event, std::span<const std::uint8_t> record, std::string& out);

}  // namespace kevt::record

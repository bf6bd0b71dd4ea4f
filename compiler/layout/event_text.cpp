// Records as text: what follows the time stamp of a trace line.
//
//   opened: (openat64+0x0/0xf0 [libc.so.6]) path="/etc/passwd" fd=3
//
// Problem: records come from rings that other programs share, so lengths and offsets may be anything.
// Idea: every read goes through RecordView, which answers "not there" instead of reading; what is not
// there prints as the kernel prints a fault, or as 0.
// Kprobe-style places print symbols, uprobe-style ones addresses; a return probe shows where it returned to and
// the function it left. Mirrors print_kprobe_event(), print_uprobe_event(), print_eprobe_event(), the
// PRINT_TYPE_FUNCs and print_synth_event() of kernel/trace (6.1). Not here: the line's front (line_text.cpp).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "compiler/layout/field_type.h"
#include "compiler/layout/layout.h"
#include "compiler/layout/synthetic_layout.h"
#include "compiler/model/floating.h"

namespace kevt::layout {
namespace {

constexpr std::string_view kFault = "(fault)";

// Bounds-checked reading of one record.
class RecordView {
 public:
  explicit RecordView(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  // 0 where the record is too short. `size` is 1 to 8.
  std::uint64_t number(std::uint32_t offset, std::uint32_t size) const {
    std::uint64_t value = 0;
    if (size <= sizeof value && offset <= bytes_.size() && size <= bytes_.size() - offset) {
      std::memcpy(&value, bytes_.data() + offset, size);
    }
    return value;
  }

  // Up to `size` bytes at `offset`, ending before a NUL; nullopt when not all of them are in the record.
  std::optional<std::string_view> text(std::uint32_t offset, std::uint32_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) return std::nullopt;
    const std::string_view all(reinterpret_cast<const char*>(bytes_.data()) + offset, size);
    return all.substr(0, all.find('\0'));
  }

  // What the data_loc word at `offset` points to.
  std::optional<std::string_view> located_text(std::uint32_t offset) const {
    const auto word = static_cast<std::uint32_t>(number(offset, model::kDataLocBytes));
    if (word >> 16 == 0) return std::nullopt;
    return text(word & 0xffff, word >> 16);
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

std::int64_t sign_extended(std::uint64_t value, std::uint32_t bytes) {
  const unsigned shift = 64 - 8 * std::clamp(bytes, 1u, 8u);
  return static_cast<std::int64_t>(value << shift) >> shift;
}

enum class SymbolOffset : std::uint8_t { Shown, Hidden };

// nullopt: nothing known covers the address.
std::optional<std::string> symbol_text(const target::TargetEnv& env, std::uint64_t address, SymbolOffset offset) {
  const auto symbol = env.symbolize(address);
  if (!symbol) return std::nullopt;
  std::string text = symbol->name;
  if (offset == SymbolOffset::Shown) text += fmt::format("+0x{:x}/0x{:x}", address - symbol->address, symbol->size);
  if (!symbol->module.empty()) text += fmt::format(" [{}]", symbol->module);
  return text;
}

std::string place_text(const target::TargetEnv& env, std::uint64_t address, SymbolOffset offset, PlaceStyle style) {
  if (address == 0) return "0";
  if (style.offsets) offset = SymbolOffset::Shown;
  auto named = symbol_text(env, address, offset);
  if (!named) named = env.place_name(address);
  std::string text = named.value_or(fmt::format("0x{:08x}", address));
  if (style.addresses) text += fmt::format(" <{:016x}>", address);
  return text;
}

template <class Number>
void append_number(std::string& out, Number value, int base) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value, base);
  out.append(digits, static_cast<std::size_t>(end - digits));
}

void append_hex(std::string& out, std::uint64_t value) {
  out += "0x";
  append_number(out, value, 16);
}

void append_quoted(std::string& out, const std::optional<std::string_view>& text) {
  if (!text) {
    out += kFault;
    return;
  }
  out += '"';
  out += *text;
  out += '"';
}

// As __print_symbolic() does: a value without a name is its 64 bits.
void append_name(std::string& out, std::int64_t value, const model::EnumNames& names) {
  const auto known = std::ranges::find(names, value, &model::EnumName::value);
  if (known == names.end()) return append_hex(out, static_cast<std::uint64_t>(value));
  out += known->name;
}

// One item of an argument at `offset`.
void append_item(std::string& out, const model::TypeSpec& type, const RecordView& record, std::uint32_t offset,
                 const target::TargetEnv& env) {
  const std::uint64_t value = record.number(offset, type.bytes);
  switch (type.kind) {
    case model::TypeKind::Unsigned:
    case model::TypeKind::BigEndian:
    case model::TypeKind::Bitfield:
      return append_number(out, value, 10);
    case model::TypeKind::Enum:
      if (type.names) return append_name(out, sign_extended(value, type.bytes), *type.names);
      [[fallthrough]];
    case model::TypeKind::Signed:
      return append_number(out, sign_extended(value, type.bytes), 10);
    case model::TypeKind::Hex:
      return append_hex(out, value);
    case model::TypeKind::HexBytes:
      out += "0123456789abcdef"[value >> 4 & 15];
      out += "0123456789abcdef"[value & 15];
      return;
    case model::TypeKind::Octal:
      out += '0';
      return append_number(out, value, 8);
    case model::TypeKind::Float:
      return model::append_float(value, type.bytes, out);
    case model::TypeKind::Char:
      out += fmt::format("'{}'", static_cast<char>(value));
      return;
    case model::TypeKind::Symbol:
      if (const auto symbol = symbol_text(env, value, SymbolOffset::Shown))
        out += *symbol;
      else
        append_hex(out, value);
      return;
    case model::TypeKind::String:
    case model::TypeKind::UserString:
    case model::TypeKind::SymbolString:
      return append_quoted(out, record.located_text(offset));
  }
}

void append_argument(std::string& out, const model::RecordField& field, const RecordView& record,
                     const target::TargetEnv& env) {
  if (field.type.array_count == 0) return append_item(out, field.type, record, field.offset, env);
  const auto word = static_cast<std::uint32_t>(record.number(field.offset, model::kDataLocBytes));
  const std::uint32_t first = field.type.is_counted ? word & 0xffff : field.offset;
  const std::uint32_t items = field.type.is_counted ? (word >> 16) / field.type.bytes : field.type.array_count;
  const bool is_list = field.type.kind != model::TypeKind::HexBytes;
  if (is_list) out += '{';
  for (std::uint32_t i = 0; i < items; ++i) {
    if (is_list && i != 0) out += ',';
    append_item(out, field.type, record, first + i * field.type.bytes, env);
  }
  if (is_list) out += '}';
}

std::uint64_t address_of(const model::RecordLayout& layout, const RecordView& record, model::FieldRole role) {
  const auto field = std::ranges::find(layout.fields, role, &model::RecordField::role);
  return field == layout.fields.end() ? 0 : record.number(field->offset, field->size);
}

std::string location_text(const model::Definition& definition, const model::RecordLayout& layout,
                          const RecordView& record, const target::TargetEnv& env, PlaceStyle style) {
  if (const auto* event = std::get_if<model::EventPlace>(&definition.place)) {
    return fmt::format("{}.{}", event->system, event->event);
  }
  const bool raw = definition.kind == model::EventKind::Uprobe;
  if (definition.probe_kind == model::ProbeKind::Entry) {
    const std::uint64_t address = address_of(layout, record, model::FieldRole::ProbeIp);
    return raw ? fmt::format("0x{:x}", address) : place_text(env, address, SymbolOffset::Shown, style);
  }
  const std::uint64_t returned_to = address_of(layout, record, model::FieldRole::ProbeRetIp);
  const std::uint64_t function = address_of(layout, record, model::FieldRole::ProbeFunc);
  if (raw) return fmt::format("0x{:x} <- 0x{:x}", returned_to, function);
  return fmt::format("{} <- {}", place_text(env, returned_to, SymbolOffset::Shown, style),
                     place_text(env, function, SymbolOffset::Hidden, style));
}

// Small numbers of synthetic events are printed without their sign, as the kernel does.
std::string synthetic_number(const model::SyntheticField& field, std::uint64_t value) {
  if (field.type == "gfp_t") return fmt::format("{:x}", value);
  const std::uint32_t bytes = synthetic_size(field);
  const bool with_sign = is_synthetic_signed(field) && bytes >= 4;
  return with_sign ? std::to_string(sign_extended(value, bytes)) : std::to_string(value);
}

std::string stack_text(const RecordView& record, std::uint32_t offset, const target::TargetEnv& env) {
  const auto word = static_cast<std::uint32_t>(record.number(offset, model::kDataLocBytes));
  std::string text = "STACK:\n";
  for (std::uint32_t at = 0; at + 8 <= word >> 16; at += 8) {
    const std::uint64_t address = record.number((word & 0xffff) + at, 8);
    if (address == 0) break;
    const auto symbol = symbol_text(env, address, SymbolOffset::Shown);
    text += fmt::format("=> {}\n", symbol.value_or(fmt::format("0x{:x}", address)));
  }
  return text;
}

std::string synthetic_text(const model::Definition& definition, const model::RecordLayout& layout,
                           const RecordView& record, const target::TargetEnv& env) {
  std::string text = definition.event + ": ";
  for (const model::RecordField& slot : layout.fields) {
    const model::SyntheticField& field = definition.fields[slot.arg_index];
    const bool last = slot.arg_index + 1 == definition.fields.size();
    text += field.name + "=";
    if (is_synthetic_stack(field)) {
      text += stack_text(record, slot.offset, env);
      continue;
    }
    if (is_synthetic_dynamic(field)) {
      text += record.located_text(slot.offset).value_or(kFault);
    } else if (is_synthetic_text(field)) {
      text += record.text(slot.offset, synthetic_slot(field)).value_or(kFault);
    } else {
      text += synthetic_number(field, record.number(slot.offset, slot.size));
    }
    if (!last) text += " ";
  }
  return text;
}

}  // namespace

std::string place_text(const model::Definition& definition, const model::RecordLayout& layout,
                       std::span<const std::uint8_t> record, const target::TargetEnv& env, PlaceStyle style) {
  return location_text(definition, layout, RecordView(record), env, style);
}

void append_arguments(std::string& out, const model::RecordLayout& layout, std::span<const std::uint8_t> record,
                      const target::TargetEnv& env) {
  const RecordView view(record);
  for (const model::RecordField& field : layout.fields) {
    if (field.role != model::FieldRole::Argument) continue;
    out += ' ';
    out += field.name;
    out += '=';
    append_argument(out, field, view, env);
  }
}

std::string event_text(const model::Definition& definition, const model::RecordLayout& layout,
                       std::span<const std::uint8_t> record, const target::TargetEnv& env, PlaceStyle style) {
  if (definition.kind == model::EventKind::Synthetic)
    return synthetic_text(definition, layout, RecordView(record), env);
  std::string text = fmt::format("{}: ({})", definition.event, place_text(definition, layout, record, env, style));
  append_arguments(text, layout, record, env);
  return text;
}

}  // namespace kevt::layout

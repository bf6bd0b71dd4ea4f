// `format` files, of kevtrace's events and of any kernel's.
//
//   name: opened / ID: 20000 / format: / one `field:TYPE NAME[…]; offset:8; size:8; signed:0;` a line / print fmt: …
//
// Problem: the text comes out of files that anybody made. Idea: a line is read or refused; offsets and sizes are
// limited to what a record can have, and every read of a record is checked against its length, whatever the format
// says. Mirrors f_show() of kernel/trace/trace_events.c and libtraceevent's idea of which types are text. Not here:
// what `print fmt` means (print_format.cpp).
#include "tracefs-compat/record/event_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "common/hexadecimal.h"
#include "compiler/model/floating.h"

namespace kevt::record {
namespace {

constexpr std::uint32_t kMaxOffset = 1 << 16;
constexpr std::size_t kMaxFields = 1024;
constexpr std::uint32_t kMaxFieldBytes = 2 << 16;  // of all fields: a record has fewer
constexpr std::uint32_t kStepsOfRecord = 64, kTextPerStep = 16, kManyTexts = 256 << 10;
constexpr std::uint32_t kWordBytes = 4;

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::optional<std::uint32_t> number(std::string_view text, std::uint32_t limit) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > limit) return std::nullopt;
  return value;
}

// "offset:8" of a line's parts, which end with ';'.
std::optional<std::uint32_t> part(std::string_view line, std::string_view key) {
  const auto at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + key.size());
  return number(trimmed(line.substr(0, line.find(';'))), kMaxOffset);
}

// Of a floating point number; 0: the type is none.
std::uint32_t float_bytes(std::string_view type) {
  return type == "f64" || type == "double" ? 8 : type == "f32" || type == "float" ? 4 : 0;
}

// Bytes of one number of that type; 0: not known.
std::uint32_t type_bytes(std::string_view type) {
  for (std::string_view word : {"unsigned ", "signed ", "const ", "__"})
    if (type.starts_with(word)) return type_bytes(trimmed(type.substr(word.size())));
  if (type.find('*') != std::string_view::npos) return 8;
  if (const std::uint32_t bytes = float_bytes(type)) return bytes;
  const auto digits = type.find_first_of("0123456789");
  if (digits != std::string_view::npos && std::string_view("usxobUSlei").find(type[0]) != std::string_view::npos) {
    std::uint32_t bits = 0;
    std::from_chars(type.data() + digits, type.data() + type.size(), bits);
    if (bits == 8 || bits == 16 || bits == 32 || bits == 64) return bits / 8;
  }
  if (type.starts_with("char") || type.starts_with("bool")) return 1;
  if (type.starts_with("short")) return 2;
  if (type.starts_with("int") || type == "unsigned" || type.starts_with("pid_t")) return 4;
  if (type.starts_with("long") || type.starts_with("size_t")) return 8;
  return 0;
}

bool is_character(std::string_view type) {
  type = trimmed(type.substr(0, type.find('[')));
  return type == "char" || type == "unsigned char" || type == "const char";
}

struct Declaration {
  std::string_view type, name;
  std::string_view count;  // between brackets behind the name
  bool is_array = false;
};

std::optional<Declaration> split(std::string_view text) {
  Declaration made;
  text = trimmed(text);
  const bool located = text.starts_with("__data_loc") || text.starts_with("__rel_loc");
  if (!located && text.ends_with(']')) {
    const auto open = text.rfind('[');
    if (open == std::string_view::npos) return std::nullopt;
    made.count = text.substr(open + 1, text.size() - open - 2);
    made.is_array = true;
    text = trimmed(text.substr(0, open));
  }
  const auto at = text.find_last_of(" \t*]");
  if (at == std::string_view::npos || at + 1 >= text.size()) return std::nullopt;
  made.type = trimmed(text.substr(0, at + 1));
  made.name = text.substr(at + 1);
  return made;
}

void set_kind(Field& field, const Declaration& from) {
  const bool relative = from.type.starts_with("__rel_loc");
  if (relative || from.type.starts_with("__data_loc")) {
    const std::string_view inner = trimmed(from.type.substr(relative ? 9 : 10));
    field.is_relative = relative;
    field.item_bytes = kWordBytes;
    const bool several = field.size > kWordBytes;
    field.kind = !is_character(inner) ? FieldKind::DynamicBytes
                 : several            ? FieldKind::DynamicTexts
                                      : FieldKind::DynamicText;
    return;
  }
  if (from.is_array && is_character(from.type) && !field.is_signed && from.type != "char") {
    field.kind = FieldKind::Numbers;
    field.item_bytes = 1;
    return;
  }
  if (from.is_array && is_character(from.type)) {
    field.kind = FieldKind::Text;
    field.item_bytes = field.size;
    return;
  }
  field.item_bytes = field.size;
  if (from.is_array || field.size > 8) {
    const auto count = number(from.count, kMaxOffset);
    field.item_bytes = type_bytes(from.type);
    if (field.item_bytes == 0 && count && *count) field.item_bytes = field.size / *count;
    field.kind = FieldKind::Numbers;
  }
  const bool usable = field.item_bytes == 1 || field.item_bytes == 2 || field.item_bytes == 4 || field.item_bytes == 8;
  if (!usable || field.size % field.item_bytes != 0) field.kind = FieldKind::Numbers, field.item_bytes = 1;
  field.is_float = float_bytes(from.type) != 0 && float_bytes(from.type) == field.item_bytes;
}

// The names before `=%02x%02x`, as `print fmt` has them.
std::set<std::string_view> names_in_hex(std::string_view print_fmt) {
  constexpr std::string_view kBytes = "=%02x%02x";
  std::set<std::string_view> names;
  for (std::size_t at = print_fmt.find(kBytes); at != std::string_view::npos; at = print_fmt.find(kBytes, at + 1)) {
    constexpr std::size_t kLongestName = 256;
    const std::size_t begin = at - std::min(at, kLongestName);
    const std::string_view before = print_fmt.substr(begin, at - begin);
    names.insert(before.substr(before.find_last_of(" \"") + 1));
  }
  return names;
}

// The lists of a print fmt as probes have it, by their names, and the bytes of an item:
// `__print_array(__get_dynamic_array(v), __get_dynamic_array_len(v) / 4, 4)`. Kernels write their arrays in other ways.
std::map<std::string_view, std::uint32_t> counted_lists(std::string_view print_fmt) {
  constexpr std::string_view kList = "__print_array(__get_dynamic_array(", kBytes = "), __get_dynamic_array_len(";
  std::map<std::string_view, std::uint32_t> lists;
  for (std::size_t at = print_fmt.find(kList); at != std::string_view::npos; at = print_fmt.find(kList, at + 1)) {
    std::string_view rest = print_fmt.substr(at + kList.size());
    const std::string_view name = rest.substr(0, rest.substr(0, 256).find(')'));
    rest.remove_prefix(name.size());
    if (!rest.starts_with(kBytes)) continue;
    rest.remove_prefix(kBytes.size());
    if (!rest.starts_with(name)) continue;
    rest.remove_prefix(name.size());
    for (const std::uint32_t bytes : {1u, 2u, 4u, 8u})
      if (rest.starts_with(fmt::format(") / {0}, {0})", bytes))) lists.emplace(name, bytes);
  }
  return lists;
}

// `__data_loc s32[] v` that is such a list of items of its own size.
void set_counted(Field& field, const std::map<std::string_view, std::uint32_t>& lists) {
  if (field.kind != FieldKind::DynamicBytes || field.is_relative) return;
  const auto list = lists.find(field.name);
  const auto item = trimmed(std::string_view(field.type).substr(std::string_view("__data_loc").size()));
  const std::uint32_t bytes = type_bytes(item.substr(0, item.find('[')));
  if (list == lists.end() || list->second != bytes) return;
  field.kind = FieldKind::DynamicNumbers;
  field.item_bytes = bytes;
  field.is_float = float_bytes(item.substr(0, item.find('['))) == bytes;
}

PlaceRole role_of(std::string_view name) {
  if (name == "__probe_ip") return PlaceRole::Place;
  if (name == "__probe_func") return PlaceRole::Function;
  if (name == "__probe_ret_ip") return PlaceRole::ReturnedTo;
  return PlaceRole::None;
}

Result<Field> parse_field(std::string_view line) {
  const auto bad = [&](std::string_view why) {
    return std::unexpected(Error(fmt::format("a format file's field line {}: `{}`", why, line.substr(0, 80))));
  };
  const std::string_view text = line.substr(line.find(':') + 1);
  const auto end = text.find(';');
  if (end == std::string_view::npos) return bad("has no `;`");
  const auto made = split(text.substr(0, end));
  const auto offset = part(text, "offset:"), size = part(text, "size:");
  if (!made) return bad("names no field");
  if (!offset || !size) return bad("has no usable offset and size");
  Field field{.name = std::string(made->name), .type = std::string(made->type), .offset = *offset, .size = *size};
  field.is_signed = part(text, "signed:").value_or(0) != 0;
  field.role = role_of(field.name);
  if (made->is_array) field.type += fmt::format("[{}]", made->count);
  set_kind(field, *made);
  return field;
}

std::string_view take_line(std::string_view& text) {
  const auto end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

std::uint64_t load(std::span<const std::uint8_t> record, std::uint64_t offset, std::uint32_t bytes, bool& there) {
  std::uint64_t value = 0;
  there = bytes <= sizeof value && offset <= record.size() && bytes <= record.size() - offset;
  if (!there) return 0;
  const auto copy = [&](std::size_t count) { std::memcpy(&value, record.data() + offset, count); };
  switch (bytes) {  // of a size that the compiler knows it is an instruction
    case 1:
      copy(1);
      break;
    case 2:
      copy(2);
      break;
    case 4:
      copy(4);
      break;
    case 8:
      copy(8);
      break;
    default:
      copy(bytes);
  }
  return value;
}

std::string_view until_nul(std::span<const std::uint8_t> bytes) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return all.substr(0, all.find('\0'));
}

std::span<const std::uint8_t> located(const Field& field, std::span<const std::uint8_t> record, std::uint32_t item) {
  bool there = false;
  const std::uint64_t at = field.offset + std::uint64_t{item} * kWordBytes;
  const std::uint64_t word = load(record, at, kWordBytes, there);
  std::uint64_t offset = word & 0xffff;
  const std::uint64_t length = word >> 16;
  if (field.is_relative) offset += at + kWordBytes;
  if (!there || length == 0 || offset > record.size() || length > record.size() - offset) return {};
  return record.subspan(offset, length);
}

bool is_dynamic(const Field& field) {
  return field.kind == FieldKind::DynamicText || field.kind == FieldKind::DynamicTexts ||
         field.kind == FieldKind::DynamicBytes || field.kind == FieldKind::DynamicNumbers;
}

// A number of `bytes` bytes, as the field has them.
Value number_value(const Field& field, std::uint64_t raw) {
  if (field.is_float)
    return {
        .kind = Value::Kind::Float, .number = raw, .text = {}, .bytes = static_cast<std::uint8_t>(field.item_bytes)};
  const unsigned shift = 64 - 8 * std::clamp(field.item_bytes, 1u, 8u);
  Value value;
  value.kind = field.is_signed ? Value::Kind::Signed : Value::Kind::Unsigned;
  value.number = field.is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(raw << shift) >> shift) : raw;
  return value;
}

}  // namespace

const Field* EventFormat::find(std::string_view field) const {
  for (const std::vector<Field>* set : {&fields, &common})
    if (auto it = std::ranges::find(*set, field, &Field::name); it != set->end()) return &*it;
  return nullptr;
}

std::uint32_t EventFormat::fixed_size() const {
  std::uint32_t end = 8;
  for (const Field& field : fields) end = std::max(end, field.offset + field.size);
  return end;
}

std::uint32_t items_of(const Field& field, std::span<const std::uint8_t> record) {
  switch (field.kind) {
    case FieldKind::Numbers: {  // one at a record's end may be shorter than it could be
      const std::uint64_t behind = record.size() - std::min<std::size_t>(record.size(), field.offset);
      return static_cast<std::uint32_t>(std::min<std::uint64_t>(field.items(), behind / field.item_bytes));
    }
    case FieldKind::DynamicTexts:
      return field.items();
    case FieldKind::DynamicNumbers:
      return static_cast<std::uint32_t>(located(field, record, 0).size() / field.item_bytes);
    case FieldKind::Number:
    case FieldKind::Text:
    case FieldKind::DynamicText:
    case FieldKind::DynamicBytes:
      return 1;
  }
  return 1;
}

bool has_too_much_text(const EventFormat& event, std::span<const std::uint8_t> record) {
  if (event.located * record.size() <= kManyTexts) return false;
  std::uint64_t bytes = 0;
  for (const Field& field : event.fields)
    for (std::uint32_t item = 0; is_dynamic(field) && item < field.items(); ++item)
      bytes += located(field, record, item).size();
  return bytes > 4 * record.size();
}

Result<EventFormat> parse_format(std::string_view system, std::string_view text) {
  EventFormat made;
  made.system = system;
  made.text = text;
  bool has_id = false;
  while (!text.empty()) {
    const std::string_view rest = text;
    const std::string_view line = trimmed(take_line(text));
    if (line.starts_with("name:")) made.name = trimmed(line.substr(5));
    if (line.starts_with("ID:")) {
      const auto id = number(trimmed(line.substr(3)), 0xffff);
      if (!id) return std::unexpected(Error(fmt::format("event `{}` has no id of 16 bits", made.name)));
      made.id = *id;
      has_id = true;
    }
    if (line.starts_with("field")) {
      auto field = parse_field(line);
      if (!field) return std::unexpected(std::move(field.error()).while_doing("reading the format of " + made.name));
      if (made.common.size() + made.fields.size() >= kMaxFields)
        return std::unexpected(Error(fmt::format("event `{}` has more than {} fields", made.name, kMaxFields)));
      const bool is_common = field->name.starts_with("common_");
      (is_common ? made.common : made.fields).push_back(std::move(*field));
    }
    if (line.starts_with("print fmt:")) {  // the rest: it may hold line ends
      made.print_fmt = trimmed(rest.substr(rest.find("print fmt:") + 10));
      while (made.print_fmt.ends_with('\n')) made.print_fmt.pop_back();
      break;
    }
  }
  const auto in_hex = names_in_hex(made.print_fmt);
  for (Field& field : made.fields)
    field.is_hex =
        field.kind == FieldKind::Numbers && field.item_bytes == 1 && field.size > 1 && in_hex.contains(field.name);
  const auto lists = counted_lists(made.print_fmt);
  for (Field& field : made.fields) set_counted(field, lists);
  std::uint32_t bytes = 0;
  made.steps = kStepsOfRecord + static_cast<std::uint32_t>(made.print_fmt.size() / kTextPerStep);
  for (const Field& field : made.fields) {
    bytes += field.size;
    made.steps += field.items();
    if (is_dynamic(field)) made.located += field.items();
  }
  if (bytes > kMaxFieldBytes)
    return std::unexpected(
        Error(fmt::format("event `{}` has fields of {} bytes, more than a record", made.name, bytes)));
  if (made.name.empty() || !has_id) return std::unexpected(Error("a format file without name and ID"));
  return made;
}

EventFormats& EventFormats::operator=(const EventFormats& other) {
  if (this == &other) return *this;
  all_.clear();
  by_id_.clear();
  for (const EventFormat& format : other.all_) add(format);
  return *this;
}

const EventFormat& EventFormats::add(EventFormat format) {
  const std::uint32_t id = format.id & 0xffff;
  all_.push_back(std::move(format));
  if (id >= by_id_.size()) by_id_.resize(id + 1, nullptr);
  if (!by_id_[id]) by_id_[id] = &all_.back();
  return all_.back();
}

const EventFormat* EventFormats::by_name(std::string_view name) const {
  const auto at = name.find_first_of(":/");
  const std::string_view system = at == std::string_view::npos ? "" : name.substr(0, at);
  const std::string_view event = at == std::string_view::npos ? name : name.substr(at + 1);
  for (const EventFormat& one : all_)
    if (one.name == event && (system.empty() || one.system == system)) return &one;
  return nullptr;
}

Value value_of(const Field& field, std::span<const std::uint8_t> record, std::uint32_t item) {
  Value value;
  switch (field.kind) {
    case FieldKind::Number:
    case FieldKind::Numbers: {
      bool there = false;
      const std::uint64_t raw =
          load(record, field.offset + std::uint64_t{item} * field.item_bytes, field.item_bytes, there);
      if (!there || item >= std::max(field.items(), 1u)) return value;
      return number_value(field, raw);
    }
    case FieldKind::DynamicNumbers: {
      bool there = false;
      const std::uint64_t raw =
          load(located(field, record, 0), std::uint64_t{item} * field.item_bytes, field.item_bytes, there);
      return there ? number_value(field, raw) : value;
    }
    case FieldKind::Text:
      if (field.offset > record.size() || field.size > record.size() - field.offset) return value;
      return {Value::Kind::Text, 0, until_nul(record.subspan(field.offset, field.size))};
    case FieldKind::DynamicText:
    case FieldKind::DynamicTexts: {
      const auto bytes = located(field, record, item);
      if (bytes.empty() || item >= std::max(field.items(), 1u)) return value;
      return {Value::Kind::Text, 0, until_nul(bytes)};
    }
    case FieldKind::DynamicBytes:
      return value;
  }
  return value;
}

double as_double(const Value& value) {
  if (value.kind == Value::Kind::Float) return model::float_value(value.number, value.bytes);
  return value.kind == Value::Kind::Signed ? static_cast<double>(static_cast<std::int64_t>(value.number))
                                           : static_cast<double>(value.number);
}

namespace {

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

void append_plain(const Value& value, std::string& out) {
  char digits[24];
  char* end = digits;
  switch (value.kind) {
    case Value::Kind::Absent:
      out += "(fault)";
      return;
    case Value::Kind::Text:
      if (value.is_hex) return append_hexadecimal(bytes_of(value.text), out);
      out += value.text;
      return;
    case Value::Kind::Float:
      return model::append_float(value.number, value.bytes, out);
    case Value::Kind::Unsigned:
      end = std::to_chars(digits, digits + sizeof digits, value.number).ptr;
      break;
    case Value::Kind::Signed:
      end = std::to_chars(digits, digits + sizeof digits, static_cast<std::int64_t>(value.number)).ptr;
      break;
  }
  out.append(digits, end);
}

std::span<const std::uint8_t> dynamic_bytes(const Field& field, std::span<const std::uint8_t> record) {
  switch (field.kind) {
    case FieldKind::DynamicText:
    case FieldKind::DynamicTexts:
    case FieldKind::DynamicBytes:
    case FieldKind::DynamicNumbers:
      return located(field, record, 0);
    case FieldKind::Number:
    case FieldKind::Numbers:
    case FieldKind::Text:
      if (field.offset > record.size() || field.size > record.size() - field.offset) return {};
      return record.subspan(field.offset, field.size);
  }
  return {};
}

}  // namespace kevt::record

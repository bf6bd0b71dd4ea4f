// Only what kevtrace itself writes into print formats is rewritten: `(%lx)`, `(%lx <- %lx)` in front, `%pS` behind.
//
// The argument of the n-th conversion is the n-th argument behind the format string; none of ours holds a ',' of its
// own or a '%%', which is checked: a format of another shape is left as it is.
#include "tracefs-compat/record/print/symbolic_format.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/model/record_view.h"
#include "tracefs-compat/record/print/trace_line.h"

namespace kevt::record {
namespace {

// Fields printed as symbols: the places, and arguments of type symbol.
bool is_symbol_argument(const EventFormat& event, const Field& field) {
  if (field.kind != FieldKind::Number || field.size != 8) return false;
  return event.print_fmt.find(" " + field.name + "=%pS") != std::string::npos;
}

// libtraceevent prints no '%c': characters are named like addresses.
bool is_character_argument(const EventFormat& event, const Field& field) {
  return field.size == 1 && event.print_fmt.find(" " + field.name + "='%c'") != std::string::npos;
}

struct Conversion {
  std::size_t at = 0, length = 0;
};

std::vector<Conversion> conversions(std::string_view format) {
  std::vector<Conversion> found;
  for (std::size_t at = format.find('%'); at != std::string_view::npos; at = format.find('%', at + 1)) {
    std::size_t end = at + 1;
    while (end < format.size() && std::string_view("-+ #0123456789.lLhzqj").find(format[end]) != std::string_view::npos)
      ++end;
    if (end < format.size()) ++end;
    if (format[end - 1] == 'p' && end < format.size() && format[end] == 'S') ++end;
    found.push_back({at, end - at});
    at = end - 1;
  }
  return found;
}

std::vector<std::string> split_arguments(std::string_view text) {
  std::vector<std::string> out;
  while (text.starts_with(", ")) {
    text.remove_prefix(2);
    const auto end = text.find(", ");
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end);
  }
  return out;
}

std::string c_escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

void SymbolicFormats::note(const TypedRecord& record) {
  const std::uint32_t id = record.event->id & 0xffff;
  if (id >= by_id_.size()) by_id_.resize(id + 1);
  Event& event = by_id_[id];
  if (!event.is_known) {
    event.is_known = true;
    for (const Field& field : record.event->fields)
      if (field.role != PlaceRole::None || is_symbol_argument(*record.event, field))
        event.fields.push_back({&field});
      else if (is_character_argument(*record.event, field))
        event.fields.push_back({.field = &field, .is_character = true});
  }
  for (Seen& seen : event.fields) {
    const Field& field = *seen.field;
    const std::uint64_t address = seen.is_character ? value_of(field, record.bytes).number
                                                    : model::number_at(record.bytes, field.offset, field.size);
    if (address == seen.last || seen.too_many) continue;
    seen.last = address;
    seen.addresses.insert(address);
    seen.too_many = seen.addresses.size() > kMaxNames;
  }
}

std::string SymbolicFormats::text(const EventFormat& event, const Metadata& metadata) const {
  const std::uint32_t id = event.id & 0xffff;
  const auto end_quote = event.print_fmt.rfind("\", ");
  if (id >= by_id_.size() || !event.print_fmt.starts_with('"') || end_quote == std::string::npos) return event.text;
  std::string format = event.print_fmt.substr(0, end_quote);
  std::vector<std::string> arguments = split_arguments(std::string_view(event.print_fmt).substr(end_quote + 1));
  const PlaceStyle style = place_style(metadata, event);
  const auto found = conversions(format);
  if (found.size() != arguments.size()) return event.text;
  // As `trace` prints them: where it returned to, then the function.
  if (arguments.size() > 1 && arguments[0] == "REC->__probe_func" && arguments[1] == "REC->__probe_ret_ip")
    std::swap(arguments[0], arguments[1]);
  for (std::size_t i = found.size(); i-- > 0;) {
    const auto seen = std::ranges::find_if(by_id_[id].fields,
                                           [&](const Seen& one) { return arguments[i] == "REC->" + one.field->name; });
    if (seen == by_id_[id].fields.end()) continue;
    if (seen->too_many) {
      format.replace(found[i].at, found[i].length, "%pS");
      arguments[i] = "(void *)" + arguments[i];
      continue;
    }
    std::string names = fmt::format("__print_symbolic({}", arguments[i]);
    for (std::uint64_t address : seen->addresses) {
      std::string name;
      if (seen->is_character)
        name += static_cast<char>(address);
      else if (seen->field->role != PlaceRole::None)
        append_place(metadata.symbols, address, seen->field->role, style, name);
      else
        append_symbol(metadata.symbols, address, SymbolOffset::Shown, name);
      names += fmt::format(", {{ 0x{:x}, \"{}\" }}", address, c_escaped(name));
    }
    format.replace(found[i].at, found[i].length, "%s");
    arguments[i] = names + ")";
  }
  std::string text = event.text.substr(0, event.text.rfind("print fmt:"));
  text += "print fmt: " + format + "\"";
  for (const std::string& argument : arguments) text += ", " + argument;
  return text + "\n";
}

}  // namespace kevt::record

// Only what kevtrace itself writes into print formats is rewritten: `(%lx)`, `(%lx <- %lx)` in front, `%pS` behind.
//
// The argument of the n-th conversion is the n-th argument behind the format string; none of ours holds a ',' of its
// own or a '%%', which is checked: a format of another shape is left as it is.
#include "tracefs-compat/record/print/symbolic_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

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

// The same where arguments have brackets and quotes of their own.
std::vector<std::string> split_nested_arguments(std::string_view text) {
  std::vector<std::string> out;
  int depth = 0;
  bool in_quotes = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') in_quotes = !in_quotes;
    if (!in_quotes && (c == '(' || c == '{')) ++depth;
    if (!in_quotes && (c == ')' || c == '}')) --depth;
    if (!in_quotes && depth == 0 && text.substr(at).starts_with(", ")) {
      out.emplace_back();
      ++at;
      continue;
    }
    if (out.empty()) continue;
    out.back() += c;
    if (in_quotes && c == '\\' && at + 1 < text.size()) out.back() += text[++at];
  }
  return out;
}

// "{ 0x7f01, "open+0x4/0x128 [libc.so.6]" }": the number and its name, of a list that text() has made.
struct FirstName {
  std::uint64_t value = 0;
  std::string_view name;
};
std::optional<FirstName> first_name(std::string_view argument) {
  const auto brace = argument.find(", { 0x");
  if (!argument.starts_with("__print_symbolic(REC->") || brace == std::string_view::npos) return std::nullopt;
  FirstName made;
  const std::string_view rest = argument.substr(brace + 6);
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), made.value, 16);
  const std::string_view name = rest.substr(static_cast<std::size_t>(end - rest.data()));
  if (error != std::errc() || !name.starts_with(", \"")) return std::nullopt;
  made.name = name.substr(3, name.find('"', 3) - 3);
  return made;
}

// The field that an argument of text() names, and what stood for it; nullptr: it was not changed.
struct Renamed {
  const Field* field = nullptr;
  std::string_view conversion;
};
Renamed renamed(const EventFormat& event, std::string_view argument) {
  constexpr std::string_view kCast = "(void *)REC->", kNames = "__print_symbolic(REC->";
  const bool is_cast = argument.starts_with(kCast);
  const auto names = first_name(argument);
  if (!is_cast && !names) return {};
  argument.remove_prefix(is_cast ? kCast.size() : kNames.size());
  const auto field = std::ranges::find(event.fields, argument.substr(0, argument.find(',')), &Field::name);
  if (field == event.fields.end()) return {};
  if (field->role != PlaceRole::None) return {&*field, "%lx"};
  if (is_cast) return {&*field, "%pS"};
  const bool is_character =
      field->size == 1 && names->name.size() == 1 && static_cast<unsigned char>(names->name[0]) == names->value;
  if (is_character) return {&*field, "%c"};
  if (field->size == 8 && names->name.find("+0x") != std::string_view::npos) return {&*field, "%pS"};
  return {};
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

std::string without_names(const EventFormat& event) {
  const auto end_quote = event.print_fmt.find("\", ");
  if (!event.print_fmt.starts_with('"') || end_quote == std::string::npos) return event.text;
  std::string format = event.print_fmt.substr(0, end_quote);
  std::vector<std::string> arguments = split_nested_arguments(std::string_view(event.print_fmt).substr(end_quote + 1));
  const auto found = conversions(format);
  if (found.size() != arguments.size()) return event.text;
  bool is_changed = false;
  for (std::size_t i = found.size(); i-- > 0;) {
    const Renamed was = renamed(event, arguments[i]);
    if (!was.field) continue;
    is_changed = true;
    format.replace(found[i].at, found[i].length, was.conversion);
    arguments[i] = "REC->" + was.field->name;
  }
  if (!is_changed) return event.text;
  if (arguments.size() > 1 && arguments[0] == "REC->__probe_ret_ip" && arguments[1] == "REC->__probe_func")
    std::swap(arguments[0], arguments[1]);
  std::string text = event.text.substr(0, event.text.rfind("print fmt:")) + "print fmt: " + format + "\"";
  for (const std::string& argument : arguments) text += ", " + argument;
  return text + "\n";
}

}  // namespace kevt::record

// What a question looks at of a record: a field of an event, or what every record has.
#include <fmt/format.h>

#include <algorithm>

#include "tracefs-compat/record/analysis/analysis.h"
#include "tracefs-compat/record/print/print_format.h"
#include "tracefs-compat/record/record_filter.h"

namespace kevt::record {
namespace {

NumberStyle style_of(const ValueName& name, const EventFormat& event, ValueStyles& styles) {
  const auto [found, is_new] = styles.try_emplace(&event);
  if (is_new) found->second = number_style(event, name.field);
  return found->second;
}

}  // namespace

bool is_of_all_records(const std::string& field) {
  return field == "pid" || field == "comm" || field == "cpu" || field == "event";
}

ValueName parse_value_name(std::string_view text) {
  const auto dot = text.rfind('.');
  if (dot == std::string_view::npos) return {"", std::string(text)};
  return {std::string(text.substr(0, dot)), std::string(text.substr(dot + 1))};
}

bool is_known(const ValueName& name, const Metadata& metadata) {
  return std::ranges::any_of(metadata.formats.all(), [&](const EventFormat& event) {
    if (!name.event.empty() && !is_named(event, name.event)) return false;
    return is_of_all_records(name.field) || event.find(name.field);
  });
}

std::optional<Value> number_or_text(const ValueName& name, const TypedRecord& record) {
  if (!name.event.empty() && name.event != record.event->name && !is_named(*record.event, name.event))
    return std::nullopt;
  if (const Field* field = record.event->find(name.field)) {
    if (field->kind == FieldKind::DynamicNumbers || field->kind == FieldKind::DynamicBytes) return std::nullopt;
    if (!field->is_hex) return value_of(*field, record.bytes);
    const auto bytes = dynamic_bytes(*field, record.bytes);
    return Value{
        .kind = Value::Kind::Text, .text = {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, .is_hex = true};
  }
  if (name.field == "pid") return Value{Value::Kind::Signed, static_cast<std::uint64_t>(std::int64_t{record.pid}), {}};
  if (name.field == "cpu") return Value{Value::Kind::Unsigned, record.cpu, {}};
  if (name.field == "comm") return Value{Value::Kind::Text, 0, record.comm};
  if (name.field == "event") return Value{Value::Kind::Text, 0, record.event->name};
  return std::nullopt;
}

std::string number_key(const ValueName& name, const EventFormat& event, std::uint64_t number, ValueStyles& styles) {
  return style_of(name, event, styles) == NumberStyle::Hex ? fmt::format("{:#x}", number) : std::to_string(number);
}

std::optional<std::string> key_text(const ValueName& name, const TypedRecord& record, ValueStyles& styles) {
  const auto value = number_or_text(name, record);
  if (!value) return std::nullopt;
  switch (value->kind) {
    case Value::Kind::Absent:
      return "(fault)";
    case Value::Kind::Text:
    case Value::Kind::Float: {
      std::string text;
      append_plain(*value, text);
      return text;
    }
    case Value::Kind::Signed:
      return std::to_string(static_cast<std::int64_t>(value->number));
    case Value::Kind::Unsigned:
      return number_key(name, *record.event, value->number, styles);
  }
  return std::nullopt;
}

}  // namespace kevt::record

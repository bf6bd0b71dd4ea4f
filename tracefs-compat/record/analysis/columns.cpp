// Texts are cut at nothing, but tabs and line ends in them become blanks: a line stays a line.
#include "tracefs-compat/record/analysis/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/hexadecimal.h"

namespace kevt::record {
namespace {

constexpr std::array<std::string_view, 6> kOfAll = {"time", "cpu", "pid", "comm", "event", "text"};

}  // namespace

std::string table_text(std::string_view text, Controls controls) {
  if (controls == Controls::Escaped) return escaped(text);
  std::string out(text);
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20) c = '?';
  return out;
}

void append_value(const Field& field, std::span<const std::uint8_t> record, std::string& out) {
  if (field.kind == FieldKind::DynamicBytes || field.is_hex)
    return append_hexadecimal(dynamic_bytes(field, record), out);
  const std::uint32_t count = items_of(field, record);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i) out += ',';
    append_plain(value_of(field, record, i), out);
  }
}

std::optional<std::string> Columns::unknown(const std::vector<std::string>& names, const Metadata& metadata) {
  for (const std::string& name : names) {
    if (std::ranges::find(kOfAll, name) != kOfAll.end()) continue;
    const bool is_field = std::ranges::any_of(metadata.formats.all(),
                                              [&](const EventFormat& event) { return event.find(name) != nullptr; });
    if (!is_field) return name;
  }
  return std::nullopt;
}

void Columns::append_cell(const TypedRecord& record, const std::string& name, std::string& out) {
  if (name == "time")
    lines_.append_time(record, out);
  else if (name == "cpu")
    fmt::format_to(std::back_inserter(out), "{}", record.cpu);
  else if (name == "pid")
    fmt::format_to(std::back_inserter(out), "{}", record.pid);
  else if (name == "comm")
    out += record.comm;
  else if (name == "event")
    out += record.event->name;
  else if (name == "text")
    lines_.append_event(record, out);
  else if (const Field* field = record.event->find(name))
    append_field(record, *field, out);
}

void Columns::append_field(const TypedRecord& record, const Field& field, std::string& out) {
  const auto [style, is_new] = styles_.try_emplace(&field);
  if (is_new) style->second = number_style(*record.event, field.name);
  append_shown(field, style->second, lines_.metadata().symbols_of(record.thread()), record.bytes, out);
}

void Columns::append(const TypedRecord& record, std::string& out) {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (i) out += '\t';
    const std::size_t begin = out.size();
    append_cell(record, names_[i], out);
    if (names_[i] != "text") escape_from(begin, controls_, out);  // that is
    for (std::size_t at = begin; at < out.size(); ++at)
      if (out[at] == '\t' || out[at] == '\n') out[at] = ' ';
  }
  out += '\n';
}

}  // namespace kevt::record

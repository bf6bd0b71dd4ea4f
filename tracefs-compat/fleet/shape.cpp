#include "tracefs-compat/fleet/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "common/fnv.h"
#include "common/hexadecimal.h"
#include "tracefs-compat/record/record_builder.h"

namespace kevt::fleet {
namespace {

using record::EventFormat;
using record::Field;
using record::FieldKind;

constexpr std::size_t kMostOfTableName = 96;

// The columns of every record, behind host and session.
struct HeadColumn {
  const char* name;
  const char* type;
};
constexpr HeadColumn kHead[] = {
    {"time", "Int64"},  {"cpu", "UInt32"},    {"seq", "UInt64"},  {"instance", "String"},
    {"tid", "Int32"},   {"pid", "Int32"},     {"comm", "String"}, {"container", "String"},
    {"flags", "UInt8"}, {"preempt", "UInt8"}, {"lost", "UInt64"}, {"place", "String"},
};

// Letters, digits and `_` of what a recording calls it.
std::string plain(std::string_view text, std::size_t most) {
  std::string out(text.substr(0, most));
  for (char& c : out)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return out;
}

std::string number_type(const Field& field) {
  if (field.is_float) return fmt::format("Float{}", 8 * field.item_bytes);
  return fmt::format("{}Int{}", field.is_signed ? "" : "U", 8 * field.item_bytes);
}

std::string type_of(const Field& field) {
  if (field.is_hex) return "String";
  switch (field.kind) {
    case FieldKind::Number:
      return number_type(field);
    case FieldKind::Numbers:
    case FieldKind::DynamicNumbers:
      return "Array(" + number_type(field) + ")";
    case FieldKind::Text:
    case FieldKind::DynamicBytes:
      return "String";
    case FieldKind::DynamicText:
      return "Nullable(String)";
    case FieldKind::DynamicTexts:
      return "Array(Nullable(String))";
  }
  return "String";
}

void append_text(const Field& field, std::span<const std::uint8_t> record, std::uint32_t item, RowWriter& row) {
  const record::Value value = record::value_of(field, record, item);
  if (value.kind == record::Value::Kind::Absent) return row.null();
  row.not_null();
  row.text(value.text);
}

void append_field(const Field& field, std::span<const std::uint8_t> record, RowWriter& row) {
  if (field.is_hex) return row.text(hexadecimal(record::dynamic_bytes(field, record)));
  switch (field.kind) {
    case FieldKind::Number:
      return row.bits(record::value_of(field, record).number, field.item_bytes);
    case FieldKind::Numbers:
    case FieldKind::DynamicNumbers: {
      const std::uint32_t items = record::items_of(field, record);
      row.length(items);
      for (std::uint32_t i = 0; i < items; ++i) row.bits(record::value_of(field, record, i).number, field.item_bytes);
      return;
    }
    case FieldKind::Text:
      return row.text(record::value_of(field, record).text);
    case FieldKind::DynamicBytes: {
      const auto bytes = record::dynamic_bytes(field, record);
      return row.text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    case FieldKind::DynamicText:
      return append_text(field, record, 0, row);
    case FieldKind::DynamicTexts:
      row.length(field.items());
      for (std::uint32_t i = 0; i < field.items(); ++i) append_text(field, record, i, row);
      return;
  }
}

// A text with the NUL that it has in a record; one that could not be read is empty there.
std::string read_text(RowReader& rows) {
  if (rows.is_null()) return {};
  return std::string(rows.text()) + '\0';
}

void read_field(const Field& field, RowReader& rows, record::RecordBuilder& out) {
  if (field.is_hex) return out.store_text(field, from_hexadecimal(rows.text()));
  switch (field.kind) {
    case FieldKind::Number:
      return out.store_number(field, rows.bits(field.item_bytes));
    case FieldKind::Numbers: {
      const std::uint64_t items = rows.count();
      for (std::uint64_t i = 0; i < items && rows.good(); ++i) {
        const std::uint64_t value = rows.bits(field.item_bytes);
        if (i < field.items()) out.store_number(field, value, static_cast<std::uint32_t>(i));
      }
      return out.end_at(field, items);
    }
    case FieldKind::DynamicNumbers: {
      std::string bytes;
      for (std::uint64_t left = rows.count(); left > 0 && rows.good(); --left) {
        const std::uint64_t value = rows.bits(field.item_bytes);
        bytes.append(reinterpret_cast<const char*>(&value), field.item_bytes);
      }
      return out.store_dynamic(field, bytes);
    }
    case FieldKind::Text:
      return out.store_text(field, rows.text());
    case FieldKind::DynamicBytes:
      return out.store_dynamic(field, rows.text());
    case FieldKind::DynamicText:
      return out.store_dynamic(field, read_text(rows));
    case FieldKind::DynamicTexts: {
      const std::uint64_t items = rows.count();
      for (std::uint64_t i = 0; i < items && rows.good(); ++i) {
        const std::string value = read_text(rows);
        if (i < field.items()) out.store_dynamic(field, value, static_cast<std::uint32_t>(i));
      }
      return;
    }
  }
}

}  // namespace

// What is no letter or digit is its code, so that two fields have two columns.
std::string column_of(const Field& field) {
  std::string out = "`f_";
  for (const char c : field.name)
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_')
      out += c;
    else
      out += fmt::format("${:02x}", static_cast<unsigned char>(c));
  return out + "`";
}

bool is_table_of_events(std::string_view name) {
  constexpr std::size_t kMost = 200;
  return name.starts_with(kTablesOfEvents) && name.size() < kMost && plain(name, name.size()) == name;
}

std::string table_of(const EventFormat& event) {
  std::string fields = event.system + "/" + event.name;
  for (const Field& one : event.fields)
    fields += fmt::format("\n{} {} {} {} {}{}", one.name, one.type, one.offset, one.size, one.is_signed,
                          one.kind == FieldKind::DynamicNumbers ? " list" : "");
  return fmt::format("{}{}_{:016x}", kTablesOfEvents, plain(event.system + "_" + event.name, kMostOfTableName),
                     fnv1a(fields));
}

// The key tells each record. What was sent twice, whatever happened, is there once after the next merge.
std::string create_table(const EventFormat& event, std::string_view database, Tokens tokens) {
  std::string columns = "host String, session String";
  for (const HeadColumn& one : kHead) columns += fmt::format(", {} {}", one.name, one.type);
  for (const Field& one : event.fields) columns += fmt::format(", {} {}", column_of(one), type_of(one));
  return fmt::format(
      "CREATE TABLE IF NOT EXISTS {}.{} ({}) ENGINE = ReplacingMergeTree() PARTITION BY {} ORDER BY (host, session, "
      "time, "
      "cpu, instance, seq){}",
      database, table_of(event), columns, kDayOfRow,
      tokens == Tokens::Known ? " SETTINGS non_replicated_deduplication_window = 1000" : "");
}

std::string columns_of(const EventFormat& event) {
  std::string out;
  for (const HeadColumn& one : kHead) out += fmt::format("{}{}", out.empty() ? "" : ", ", one.name);
  for (const Field& one : event.fields) out += ", " + column_of(one);
  return out;
}

void append_row(const EventFormat& event, const RowHead& head, std::string_view host, std::string_view session,
                std::span<const std::uint8_t> record, std::vector<std::uint8_t>& out) {
  RowWriter row(out);
  row.text(host);
  row.text(session);
  row.number(head.time_ns);
  row.number(head.cpu);
  row.number(head.seq);
  row.text(head.instance);
  row.number(head.tid);
  row.number(head.pid);
  row.text(head.comm);
  row.text(head.container);
  row.number(head.flags);
  row.number(head.preempt_count);
  row.number(head.lost_before);
  row.text(head.place);
  for (const Field& one : event.fields) append_field(one, record, row);
}

bool read_row(const EventFormat& event, RowReader& rows, RowHead& head, std::vector<std::uint8_t>& record) {
  head.time_ns = rows.number<std::int64_t>();
  head.cpu = rows.number<std::uint32_t>();
  head.seq = rows.number<std::uint64_t>();
  head.instance = rows.text();
  head.tid = rows.number<std::int32_t>();
  head.pid = rows.number<std::int32_t>();
  head.comm = rows.text();
  head.container = rows.text();
  head.flags = rows.number<std::uint8_t>();
  head.preempt_count = rows.number<std::uint8_t>();
  head.lost_before = rows.number<std::uint64_t>();
  head.place = rows.text();
  record::RecordBuilder built(event, record);
  built.store_common(head.flags, head.preempt_count, head.tid);
  for (const Field& one : event.fields) read_field(one, rows, built);
  return rows.good();
}

}  // namespace kevt::fleet

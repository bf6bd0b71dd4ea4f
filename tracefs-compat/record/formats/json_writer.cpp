// {"v":1,"type":"header",…}  {"v":1,"type":"format",…} for every event, {"v":1,"type":"event",…} for every record,
// {"v":1,"type":"histogram",…} for every histogram, and at the end {"v":1,"type":"end",…} with the totals. Addresses of
// probes are numbers among the fields, and symbols as "ip" and "func" beside them, so that a reader needs no other
// file. Texts that are no UTF-8 stand a second time, as hex, in "bytes".
#include "tracefs-compat/record/formats/json_writer.h"

#include <fmt/format.h>

#include "common/hexadecimal.h"
#include "tracefs-compat/record/formats/json_text.h"
#include "tracefs-compat/record/histogram_object.h"
#include "tracefs-compat/record/print/trace_line.h"
#include "tracefs-compat/record/recording_formats.h"

namespace kevt::record {
namespace {

void append_member(std::string_view name, std::string_view text, std::string& out) {
  out += ',';
  append_json_string(name, out);
  out += ':';
  append_json_string(text, out);
}

void append_list(std::string_view name, const std::vector<std::string>& texts, std::string& out) {
  fmt::format_to(std::back_inserter(out), ",\"{}\":[", name);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i) out += ',';
    append_json_string(texts[i], out);
  }
  out += ']';
}

void append_header(const Metadata& metadata, std::string& out) {
  out += R"({"v":1,"type":"header")";
  append_member("clock", metadata.clock, out);
  append_member("host", metadata.host, out);
  append_member("maker", metadata.maker, out);
  fmt::format_to(std::back_inserter(out), ",\"cpus\":{}", metadata.cpus);
  if (!metadata.new_identity.id.empty()) append_member("recording", metadata.new_identity.id, out);
  if (!metadata.new_identity.rest_of.empty()) append_member("rest_of", metadata.new_identity.rest_of, out);
  if (metadata.wall_offset_ns)
    fmt::format_to(std::back_inserter(out), ",\"wall_offset_ns\":{}", *metadata.wall_offset_ns);
  append_list("definitions", metadata.definitions, out);
  append_list("filters", metadata.filters, out);
  if (!metadata.instances.empty()) append_list("instances", metadata.instances, out);
  out += "}\n";
  for (const EventFormat& event : metadata.formats.all()) {
    out += R"({"v":1,"type":"format")";
    append_member("system", event.system, out);
    append_member("event", event.name, out);
    fmt::format_to(std::back_inserter(out), ",\"id\":{}", event.id);
    append_member("format", event.text, out);
    out += "}\n";
  }
}

void append_reading(const HistogramReading& reading, std::string& out) {
  for (const std::string& object : reading.objects)  // of a file it may be anything
    if (is_histogram_object(object)) out += R"({"v":1,"type":"histogram","histogram":)" + object + "}\n";
  out += R"({"v":1,"type":"histogram_text")";
  append_member("text", reading.text, out);
  out += "}\n";
}

// The frames of a stack, innermost first.
void append_json_stack(const TypedRecord& record, const Symbols& symbols, std::string& out) {
  const Field* caller = is_stack(*record.event) ? record.event->find("caller") : nullptr;
  if (!caller) return;
  std::vector<std::string> frames;
  for (std::uint64_t address : stack_of(*caller, record.bytes))
    append_symbol(symbols, address, SymbolOffset::Shown, frames.emplace_back());
  append_list("stack", frames, out);
}

void append_places(const TypedRecord& record, const Symbols& symbols, std::string& out) {
  for (const Field& field : record.event->fields) {
    if (field.role == PlaceRole::None) break;  // they come first
    const std::uint64_t address = value_of(field, record.bytes).number;
    std::string text;
    append_symbol(symbols, address, SymbolOffset::Shown, text);
    append_member(field.role == PlaceRole::Function ? "func" : "ip", text, out);
  }
}

}  // namespace

void append_json_record(const TypedRecord& record, const Metadata& metadata, std::string& out) {
  const Symbols& symbols = metadata.symbols_of(record.thread());
  fmt::format_to(std::back_inserter(out), R"({{"v":1,"type":"event","ts":{},"cpu":{},"pid":{},"comm":)", record.time_ns,
                 record.cpu, record.pid);
  append_json_string(record.comm, out);
  if (const auto process = metadata.process_of.find(record.pid); process != metadata.process_of.end())
    fmt::format_to(std::back_inserter(out), ",\"process\":{}", process->second);
  if (const std::string_view container = metadata.container_of(record.thread()); !container.empty())
    append_member("container", container, out);
  out += ",\"event\":";
  append_json_string(record.event->system + ":" + record.event->name, out);
  if (record.instance) append_member("instance", metadata.instances[record.instance - 1], out);
  if (record.flags() | record.preempt_count())
    fmt::format_to(std::back_inserter(out), ",\"flags\":{},\"preempt\":{}", record.flags(), record.preempt_count());
  if (record.lost_before == ~0ull) out += ",\"lost\":-1";
  if (record.lost_before && record.lost_before != ~0ull)
    fmt::format_to(std::back_inserter(out), ",\"lost\":{}", record.lost_before);
  append_places(record, symbols, out);
  append_json_stack(record, symbols, out);
  out += ",\"fields\":{";
  std::string exact;  // of texts that are no UTF-8
  bool first = true;
  for (const Field& field : record.event->fields) {
    if (!first) out += ',';
    first = false;
    out += '"';
    out += field.name;
    out += "\":";
    append_json_value(field, record.bytes, out);
    if (!field.is_text() || field.kind == FieldKind::DynamicTexts) continue;
    std::string unused;
    const Value value = value_of(field, record.bytes);
    if (append_json_string(value.text, unused)) continue;
    exact += exact.empty() ? ",\"bytes\":{\"" : ",\"";
    exact += field.name + "\":\"";
    append_hexadecimal({reinterpret_cast<const std::uint8_t*>(value.text.data()), value.text.size()}, exact);
    exact += '"';
  }
  out += '}';
  if (!exact.empty()) out += exact + "}";
  out += '}';
}

JsonWriter::JsonWriter(OutputFile file, const Metadata& metadata) : file_(std::move(file)), metadata_(metadata) {
  append_header(metadata, file_.buffer());
}

Result<void> JsonWriter::add(const TypedRecord& record) {
  append_json_record(record, metadata_, file_.buffer());
  file_.buffer() += '\n';
  ++events_;
  return file_.flush_if_long();
}

void JsonWriter::add_histograms(const HistogramReading& reading) { append_reading(reading, file_.buffer()); }

Result<void> JsonWriter::finish() {
  std::string& out = file_.buffer();
  for (const HistogramReading& reading : metadata_.histograms) append_reading(reading, out);
  fmt::format_to(std::back_inserter(out), R"({{"v":1,"type":"end","events":{},"totals":{{)", events_);
  for (std::size_t i = 0; i < metadata_.totals.size(); ++i) {
    const EventTotals& one = metadata_.totals[i];
    if (i) out += ',';
    append_json_string(one.event, out);
    fmt::format_to(std::back_inserter(out),
                   R"(:{{"hits":{},"recorded":{},"filtered":{},"lost":{},"missed":{},"faults":{},"overwritten":{}{}}})",
                   one.attempts, one.recorded, one.filtered, one.lost,
                   one.sees_misses ? std::to_string(one.missed) : "null", one.faults, one.overwritten,
                   one.aggregated ? fmt::format(R"(,"aggregated":{})", one.aggregated) : "");
  }
  out += "}}\n";
  return file_.flush();
}

Result<std::unique_ptr<RecordWriter>> create_json(const std::string& path, const Metadata& metadata) {
  return create_in_file<JsonWriter>(path, metadata);
}

}  // namespace kevt::record

// [ {"ph":"M"} a thread's name, {"ph":"i"} a record with its fields, {"ph":"X"} a call with its length … ]
//
// The format lets the closing bracket go missing, so a recording that was killed is read all the same. Times are
// microseconds with three decimals.
#include "tracefs-compat/record/formats/chrome_writer.h"

#include <fmt/format.h>

#include "tracefs-compat/record/formats/json_text.h"
#include "tracefs-compat/record/recording_formats.h"

namespace kevt::record {
namespace {

constexpr std::size_t kMaxKnown = 1 << 18;  // threads

void append_microseconds(std::uint64_t ns, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{}.{:03}", ns / 1000, ns % 1000);
}

}  // namespace

ChromeWriter::ChromeWriter(OutputFile file, const Metadata& metadata) : file_(std::move(file)), metadata_(metadata) {
  file_.append("[");
}

std::int32_t ChromeWriter::process(std::int32_t pid) const {
  const auto it = metadata_.process_of.find(pid);
  return it == metadata_.process_of.end() ? pid : it->second;
}

void ChromeWriter::begin(std::string_view name, char phase, std::uint64_t time_ns, std::int32_t pid) {
  std::string& out = file_.buffer();
  out += is_first_ ? "\n{\"name\":" : ",\n{\"name\":";
  is_first_ = false;
  append_json_string(name, out);
  fmt::format_to(std::back_inserter(out), ",\"ph\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":", phase, process(pid), pid);
  append_microseconds(time_ns, out);
}

Result<void> ChromeWriter::add(const TypedRecord& record) {
  std::string& out = file_.buffer();
  if (threads_.size() >= kMaxKnown) threads_.clear();  // they are named once more
  std::string& name = threads_[record.pid];
  if (name != record.comm) {
    name = record.comm;
    if (const auto known = metadata_.processes.find(process(record.pid)); known != metadata_.processes.end()) {
      begin("process_name", 'M', record.time_ns, record.pid);
      out += ",\"args\":{\"name\":";
      append_json_string(known->second.name, out);
      out += "}}";
    }
    begin("thread_name", 'M', record.time_ns, record.pid);
    out += ",\"args\":{\"name\":";
    append_json_string(record.comm, out);
    out += "}}";
  }
  begin(record.event->name, 'i', record.time_ns, record.pid);
  fmt::format_to(std::back_inserter(out), ",\"s\":\"t\",\"args\":{{\"cpu\":{}", record.cpu);
  for (const Field& field : record.event->fields) {
    out += ",\"" + field.name + "\":";
    append_json_value(field, record.bytes, out);
  }
  out += "}}";
  if (const auto call = calls_.add(record)) {
    std::string function;
    append_symbol(metadata_.symbols_of(record.thread()), call->function, SymbolOffset::Hidden, function);
    begin(function, 'X', call->begin_ns, record.pid);
    out += ",\"dur\":";
    append_microseconds(call->end_ns - call->begin_ns, out);
    out += '}';
  }
  return file_.flush_if_long();
}

Result<void> ChromeWriter::finish() {
  file_.append("\n]\n");
  return file_.flush();
}

Result<std::unique_ptr<RecordWriter>> create_chrome(const std::string& path, const Metadata& metadata) {
  return create_in_file<ChromeWriter>(path, metadata);
}

}  // namespace kevt::record

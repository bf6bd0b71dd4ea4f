// A line is a front (task, CPU, flags, time), then the event's own text; options change both:
//
//   nocontext-info   no front        raw   "PID CPU TIME type: ID"       hex, bin   the same as digits, as bytes
//
// Mirrors print_trace_line(), print_raw_fmt(), print_hex_fmt(), print_bin_fmt(), print_func_help_header_irq() of
// kernel/trace/trace.c and trace_print_print(), trace_raw_data() of trace_output.c (6.1). Events of probes have no raw
// form of their own in the kernel either: it prints their type.
#include "runtime-user/engine/text/trace_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "compiler/layout/layout.h"
#include "compiler/model/record_view.h"
#include "runtime-user/engine/records/record_ids.h"

namespace kevt::engine {

namespace {

// Most significant byte first, two digits each, then a blank.
template <class T>
std::string hex_field(T value) {
  std::string text;
  for (int byte = static_cast<int>(sizeof value) - 1; byte >= 0; --byte)
    text += fmt::format("{:02x}", static_cast<std::uint64_t>(value) >> (8 * byte) & 0xff);
  return text + ' ';
}

template <class T>
void append_bytes(T value, std::string& out) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string marker_text(std::span<const std::uint8_t> record) {
  constexpr std::size_t kText = model::kCommonBytes + 8;
  if (record.size() <= kText) return fmt::format("{}: \n", kMarkerFunction);
  const char* text = reinterpret_cast<const char*>(record.data()) + kText;
  return fmt::format("{}: {}", kMarkerFunction, std::string_view(text, strnlen(text, record.size() - kText)));
}

std::string raw_data_text(std::span<const std::uint8_t> record) {
  std::uint32_t id = 0;
  if (record.size() >= model::kCommonBytes + 4) std::memcpy(&id, record.data() + model::kCommonBytes, 4);
  std::string text = fmt::format("# {:x} buf:", id);
  for (std::size_t i = model::kCommonBytes + 4; i < record.size(); ++i) text += fmt::format(" {:02x}", record[i]);
  return text + '\n';
}

constexpr std::string_view kPlainBanner =
    "#           TASK-PID    {} CPU#     TIMESTAMP  FUNCTION\n"
    "#              | |      {}   |         |         |\n";

}  // namespace

std::string TraceText::header(const Instance& instance, const TraceBuffer& buffer, std::optional<std::uint32_t> only) {
  std::string text = "# tracer: nop\n#\n";
  if (!instance.options.has(TraceOption::ContextInfo)) return text;
  const BufferStats stats = buffer.stats(only);
  text += fmt::format("# entries-in-buffer/entries-written: {}/{}   #P:{}\n#\n", stats.entries, stats.written(),
                      buffer.cpus());
  const bool tgid = instance.options.has(TraceOption::RecordTgid);
  if (!instance.options.has(TraceOption::IrqInfo))
    return text + fmt::format(kPlainBanner, tgid ? "   TGID   " : "", tgid ? "     |    " : "");
  const std::string pad(tgid ? 12 : 2, ' ');
  for (const std::string_view line :
       {"  _-----=> irqs-off/BH-disabled\n", " / _----=> need-resched\n", "| / _---=> hardirq/softirq\n",
        "|| / _--=> preempt-depth\n", "||| / _-=> migrate-disable\n", "|||| /     delay\n"})
    text += fmt::format("#                            {}{}", pad, line);
  const std::string_view name = std::string_view("     TGID   ").substr(0, pad.size());
  const std::string_view bar = std::string_view("       |    ").substr(0, pad.size());
  text += fmt::format("#           TASK-PID  {} CPU#  |||||  TIMESTAMP  FUNCTION\n", name);
  text += fmt::format("#              | |    {}   |   |||||     |         |\n", bar);
  return text;
}

const target::TargetEnv& TraceText::symbols(const Instance& instance, const MergedEntry& entry) {
  if (forgotten_ != tracing_.tasks().forgotten_targets()) {
    forgotten_ = tracing_.tasks().forgotten_targets();
    text_.forget();
  }
  return text_.symbols(
      tracing_.tasks().env_of(model::pid_of(entry.entry.record), instance.mono_ns(entry.entry.time_ns)));
}

void TraceText::append_context(const Instance& instance, const MergedEntry& entry, std::string& out) const {
  const auto record = entry.entry.record;
  layout::LineContext context;
  context.pid = model::pid_of(record);
  const SavedTask* task = tracing_.tasks().saved().find(context.pid);
  context.comm = task && !task->comm.empty() ? std::string_view(task->comm) : std::string_view("<...>");
  if (context.pid == 0) context.comm = "<idle>";
  context.cpu = entry.cpu;
  context.timestamp_ns = entry.entry.time_ns;
  context.flags = record.size() < model::kCommonBytes ? 0 : record[2];
  context.preempt_count = record.size() < model::kCommonBytes ? 0 : record[3];
  context.shows_flags = instance.options.has(TraceOption::IrqInfo);
  if (instance.options.has(TraceOption::RecordTgid)) context.tgid = task ? task->tgid : 0;
  if (instance.clock == TraceClock::Counter) context.unit = layout::TimeUnit::Count;
  layout::append_line_prefix(out, context);
}

void TraceText::append_event(const Instance& instance, const MergedEntry& entry, std::string& out) {
  const auto record = entry.entry.record;
  const std::uint32_t type = model::type_of(record);
  if (type == kPrintId) {
    out += marker_text(record);
    return;
  }
  if (type == kRawDataId) {
    out += raw_data_text(record);
    return;
  }
  if (type == kStackId) {
    append_stack(instance, entry, out);
    return;
  }
  if (type == kUserStackId) {
    append_user_stack(instance, entry, out);
    return;
  }
  const target::TargetEnv& env = symbols(instance, entry);
  const TracedEvent* event = tracing_.events().find(type);
  if (!event) {
    out += fmt::format("Unknown type {}\n", type);
    return;
  }
  const layout::PlaceStyle style{.offsets = instance.options.has(TraceOption::SymOffset),
                                 .addresses = instance.options.has(TraceOption::SymAddr)};
  text_.append(*event, record, env, style, out);
}

void TraceText::append_stack(const Instance& instance, const MergedEntry& entry, std::string& out) {
  out += "<stack trace>\n";
  const std::span<const std::uint8_t> record = entry.entry.record;
  const target::TargetEnv& env = symbols(instance, entry);
  for (std::size_t at = model::kCommonBytes + 8; at + 8 <= record.size(); at += 8) {
    std::uint64_t address = 0;
    std::memcpy(&address, record.data() + at, sizeof address);
    const auto symbol = env.symbolize(address);
    out += " => ";
    if (!symbol) {
      out += fmt::format("0x{:x}", address);
    } else {
      out += symbol->name;
      if (instance.options.has(TraceOption::SymOffset))
        out += fmt::format("+0x{:x}/0x{:x}", address - symbol->address, symbol->size);
      if (!symbol->module.empty()) out += " [" + symbol->module + "]";
    }
    if (instance.options.has(TraceOption::SymAddr)) out += fmt::format(" <{:016x}>", address);
    out += '\n';
  }
}

// The kernel does not know a program's symbols: it prints the address alone, or with sym-userobj the file. Here the
// symbol stands before the address, or the file and the offset in the file.
void TraceText::append_user_stack(const Instance& instance, const MergedEntry& entry, std::string& out) {
  constexpr std::size_t kCallersAt = 16;
  out += "<user stack trace>\n";
  const std::span<const std::uint8_t> record = entry.entry.record;
  const target::TargetEnv& env = symbols(instance, entry);
  for (std::size_t at = kCallersAt; at + 8 <= record.size(); at += 8) {
    std::uint64_t address = 0;
    std::memcpy(&address, record.data() + at, sizeof address);
    if (!address) break;
    out += " => ";
    bool shows_address = true;
    if (instance.options.has(TraceOption::SymUserobj)) {
      const TracedTarget* target =
          tracing_.tasks().target_of(model::pid_of(record), instance.mono_ns(entry.entry.time_ns));
      if (const auto file = target ? target->file_at(address) : std::nullopt) {
        out += fmt::format("{}[+0x{:x}]", file->path, address - file->start);
        shows_address = instance.options.has(TraceOption::SymAddr);
      }
    } else if (const auto symbol = env.symbolize(address)) {
      out += fmt::format("{}+0x{:x}/0x{:x}", symbol->name, address - symbol->address, symbol->size);
      if (!symbol->module.empty()) out += " [" + symbol->module + "]";
    } else if (const auto file = env.place_name(address)) {
      out += *file;
    }
    if (shows_address) out += fmt::format(" <{:016x}>", address);
    out += '\n';
  }
}

void TraceText::append_line(const Instance& instance, const MergedEntry& entry, std::string& out) {
  const TraceOptions& options = instance.options;
  const bool shows_context = options.has(TraceOption::ContextInfo);
  const std::int32_t pid = model::pid_of(entry.entry.record);
  const std::uint32_t type = model::type_of(entry.entry.record);
  if (options.has(TraceOption::PrintkMsgOnly) && type == kPrintId) {
    out += marker_text(entry.entry.record).substr(kMarkerFunction.size() + 2);
    return;
  }
  if (options.has(TraceOption::Bin)) {
    if (!shows_context) return;
    append_bytes(pid, out);
    append_bytes(static_cast<std::int32_t>(entry.cpu), out);
    append_bytes(entry.entry.time_ns, out);
    return;
  }
  if (options.has(TraceOption::Hex)) {
    if (shows_context) out += hex_field(pid) + hex_field(entry.cpu) + hex_field(entry.entry.time_ns);
    out += fmt::format("type: {}\n\n", type);
    return;
  }
  if (options.has(TraceOption::Raw)) {
    if (shows_context) out += fmt::format("{} {} {} ", pid, entry.cpu, entry.entry.time_ns);
    out += fmt::format("type: {}\n", type);
    return;
  }
  if (shows_context) append_context(instance, entry, out);
  append_event(instance, entry, out);
}

void TraceText::append(const Instance& instance, const MergedEntry& entry, std::string& out) {
  if (entry.entry.lost_before) out += fmt::format("CPU:{} [LOST {} EVENTS]\n", entry.cpu, entry.entry.lost_before);
  append_line(instance, entry, out);
}

}  // namespace kevt::engine

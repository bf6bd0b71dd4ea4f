// Trace lines, many of them: print formats are compiled once an event, and the front of a line is put together by hand,
// since a report prints millions of lines. layout::line_prefix (compiler/layout/line_text.cpp) says what it looks like,
// and a test compares both.
#include "tracefs-compat/record/print/trace_line.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "compiler/layout/layout.h"

namespace kevt::record {
namespace {

constexpr std::uint64_t kMillion = 1'000'000;
// Of records whose texts are missing.
constexpr std::size_t kMostMissingBytes = 1 << 20, kMostMissing = 8192;
constexpr std::size_t kMaxPrintParts = 1 << 20;  // of all events

// Right-aligned in `width`, filled with `fill`.
void append_padded(std::uint64_t value, unsigned width, char fill, std::string& out) {
  char digits[24];
  char* at = digits + sizeof digits;
  const char* const end = at;
  do {
    *--at = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value);
  const auto length = static_cast<unsigned>(end - at);
  if (length < width) out.append(width - length, fill);
  out.append(at, length);
}

// 7 columns, to the left, with its sign.
void append_pid(std::int32_t pid, std::string& out) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, pid).ptr;
  const auto length = static_cast<unsigned>(end - digits);
  out.append(digits, length);
  if (length < 7) out.append(7 - length, ' ');
}

void append_lost(const TypedRecord& record, std::string& out) {
  if (record.lost_before == 0) return;
  if (record.lost_before == ~0ull)
    fmt::format_to(std::back_inserter(out), "CPU:{} [LOST EVENTS]\n", record.cpu);
  else
    fmt::format_to(std::back_inserter(out), "CPU:{} [LOST {} EVENTS]\n", record.cpu, record.lost_before);
}

// In front of a line, as trace-cmd has it: only where there is more than the top one.
void append_instance(const TypedRecord& record, const Metadata& metadata, std::size_t width, Controls controls,
                     std::string& out) {
  if (metadata.instances.empty()) return;
  const std::string_view name = record.instance ? metadata.instances[record.instance - 1] : std::string_view();
  if (name.size() < width) out.append(width - name.size(), ' ');
  const std::size_t begin = out.size();
  out += name;
  escape_from(begin, controls, out);
  out += record.instance ? ": " : "  ";
}

// The five characters of flags; almost always the same.
void append_flags(std::uint8_t flags, std::uint8_t preempt_count, std::string& out) {
  if ((flags | preempt_count) == 0) {
    out += ".....";
    return;
  }
  const std::string whole = layout::line_prefix({.flags = flags, .preempt_count = preempt_count});
  const auto at = whole.find("] ");
  out.append(whole, at + 2, 5);
}

void append_wall(std::uint64_t ns, std::string& out) {
  const auto seconds = static_cast<time_t>(ns / 1'000'000'000);
  tm parts = {};
  localtime_r(&seconds, &parts);
  fmt::format_to(std::back_inserter(out), "{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:06}", parts.tm_year + 1900,
                 parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, ns % 1'000'000'000 / 1000);
}

// ":GROUP/EVENT" of a definition whose probe is on a file; "" of others.
std::string_view name_on_file(std::string_view definition) {
  const auto blank = definition.find(' ');
  if (blank == std::string_view::npos || !definition.substr(blank + 1).starts_with('/')) return {};
  const std::string_view word = definition.substr(0, blank);
  const auto colon = word.rfind(':');
  return colon == std::string_view::npos ? std::string_view() : word.substr(colon);
}

}  // namespace

bool is_stack(const EventFormat& event) {
  return event.system == "ftrace" && (event.name == "kernel_stack" || event.name == "user_stack");
}

std::vector<std::uint64_t> stack_of(const Field& caller, std::span<const std::uint8_t> record) {
  std::vector<std::uint64_t> out;
  for (std::size_t at = caller.offset; at + 8 <= record.size(); at += 8) {
    std::uint64_t address;
    std::memcpy(&address, record.data() + at, sizeof address);
    if (address == 0 || address == ~0ull) break;
    out.push_back(address);
  }
  return out;
}

PlaceStyle place_style(const Metadata& metadata, const EventFormat& event) {
  const std::string name = ":" + event.system + "/" + event.name;
  for (const std::string& line : metadata.definitions)
    if (name_on_file(line) == name) return PlaceStyle::Addresses;
  return PlaceStyle::Symbols;
}

// There may be as many events as definitions: these are looked through once.
PlaceStyle TraceLines::places_of(const EventFormat& event) {
  for (; noted_ < metadata_->definitions.size(); ++noted_)
    if (const std::string_view name = name_on_file(metadata_->definitions[noted_]); !name.empty())
      on_files_.emplace(name);
  return on_files_.contains(":" + event.system + "/" + event.name) ? PlaceStyle::Addresses : PlaceStyle::Symbols;
}

std::string_view Metadata::comm_of(std::int32_t pid) const {
  if (pid == 0) return "<idle>";
  const auto it = comms.find(pid);
  return it == comms.end() ? std::string_view("<...>") : std::string_view(it->second);
}

const Metadata& Metadata::origin_of(std::uint64_t thread) const {
  const std::uint64_t instance = thread >> 32;
  return instance == 0 || instance > origins.size() ? *this : *origins[instance - 1];
}

const Symbols& Metadata::symbols_of(std::uint64_t thread) const {
  const Metadata& of = origin_of(thread);
  if (of.processes.empty()) return of.symbols;
  const auto process = of.process_of.find(static_cast<std::int32_t>(thread));
  if (process == of.process_of.end()) return of.symbols;
  const auto it = of.processes.find(process->second);
  return it == of.processes.end() || it->second.symbols.empty() ? of.symbols : it->second.symbols;
}

std::string_view Metadata::container_of(std::uint64_t thread) const {
  const Metadata& of = origin_of(thread);
  const auto pid = static_cast<std::int32_t>(thread);
  const auto process = of.process_of.find(pid);
  const auto it = of.processes.find(process == of.process_of.end() ? pid : process->second);
  return it == of.processes.end() ? std::string_view() : std::string_view(it->second.container);
}

bool Metadata::has_containers() const {
  const auto has_any = [](const Metadata& one) {
    return std::ranges::any_of(one.processes, [](const auto& process) { return !process.second.container.empty(); });
  };
  return has_any(*this) || std::ranges::any_of(origins, [&](const auto& one) { return has_any(*one); });
}

const TraceLines::Printed& TraceLines::printed(const EventFormat& event) {
  const std::uint32_t id = event.id & 0xffff;
  if (id >= by_id_.size()) by_id_.resize(id + 1);
  Printed& made = by_id_[id];
  if (made.event != &event) {
    auto print = PrintFormat::compile(event);
    made = {&event, print ? std::make_shared<const PrintFormat>(*std::move(print)) : nullptr, places_of(event)};
    if (made.print && made.print->parts() > kMaxPrintParts - print_parts_) made.print.reset();
    if (made.print) print_parts_ += made.print->parts();
    made.by = choose(made);
  }
  return made;
}

// "<stack trace>" and one symbol a line.
void TraceLines::append_stack(const Field& caller, const TypedRecord& record, std::string& out) const {
  const Symbols& symbols = metadata_->symbols_of(record.thread());
  out += record.event->name == "user_stack" ? "<user stack trace>" : "<stack trace>";
  for (std::uint64_t address : stack_of(caller, record.bytes)) {
    out += "\n => ";
    const std::size_t begin = out.size();
    append_symbol(symbols, address, SymbolOffset::Hidden, out);
    escape_from(begin, style_.controls, out);
  }
}

// Whose print fmt is understood is printed by us, in less time; what a plugin tells in other words,
// and what only libtraceevent understands, by it. Probes are ours: their print fmt is all there is.
TraceLines::By TraceLines::choose(const Printed& how) {
  const By ours = how.print ? By::PrintFormat : By::Fields;
  const bool is_probe =
      std::ranges::any_of(how.event->fields, [](const Field& field) { return field.role != PlaceRole::None; });
  if (style_.words == Words::OwnPrintFormat || is_probe || is_stack(*how.event)) return ours;
  switch (wording_.can(*how.event)) {
    case EventWording::Can::PrintInWords:
      return By::Wording;
    case EventWording::Can::Print:
      return how.print ? By::PrintFormat : By::Wording;
    case EventWording::Can::Nothing:
      return ours;
  }
  return ours;
}

void TraceLines::clean_from(std::size_t begin, std::string& out) const {
  if (style_.is_one_line) std::replace(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), '\n', ' ');
  escape_from(begin, style_.controls, out);
}

void TraceLines::append_ours(const Printed& how, const TypedRecord& record, std::string& out) const {
  if (how.print)
    how.print->print(record.bytes, metadata_->symbols_of(record.thread()), how.places, out);
  else
    print_fields(*record.event, record.bytes, out);
}

void TraceLines::append_event(const TypedRecord& record, std::string& out) {
  const Printed& how = printed(*record.event);
  const Field* stack = is_stack(*record.event) ? record.event->find("caller") : nullptr;
  if (stack) return append_stack(*stack, record, out);
  const std::size_t begin = out.size();
  out += record.event->name;
  out += how.by == By::Fields ? ":" : ": ";
  if (how.by == By::Wording) {
    clean_from(begin, out);
    if (!ahead_.empty() && ahead_.back().bytes == record.bytes.data()) {
      append_worded(how, record, ahead_.back().text, out);
      return ahead_.pop_back();
    }
    wording_.queue(record);
    if (!style_.is_completed_later) return append_worded(how, record, wording_.take().front(), out);
    missing_.push_back({out.size(), record, {record.bytes.begin(), record.bytes.end()}});
    missing_bytes_ += record.bytes.size();
    if (missing_bytes_ > kMostMissingBytes || missing_.size() > kMostMissing) complete(out);
    return;
  }
  append_ours(how, record, out);
  clean_from(begin, out);
}

void TraceLines::append_worded(const Printed& how, const TypedRecord& record, const std::optional<std::string>& words,
                               std::string& out) const {
  const std::size_t begin = out.size();
  if (words)
    out += *words;
  else
    append_ours(how, record, out);
  if (!words && !how.print && out.size() > begin) out.erase(begin, 1);  // a blank is there already
  clean_from(begin, out);
}

void TraceLines::complete(std::string& out) {
  if (missing_.empty()) return;
  const auto texts = wording_.take();
  std::string whole;
  std::size_t at = 0;
  for (std::size_t i = 0; i < missing_.size(); ++i) {
    Missing& one = missing_[i];
    whole.append(out, at, one.at - at);
    at = one.at;
    one.record.bytes = one.bytes;
    append_worded(printed(*one.record.event), one.record, texts[i], whole);
  }
  whole.append(out, at);
  out = std::move(whole);
  missing_.clear();
  missing_bytes_ = 0;
}

void TraceLines::ask_ahead(std::span<const TypedRecord> records) {
  ahead_.clear();
  for (const TypedRecord& record : records) {
    if (printed(*record.event).by != By::Wording) continue;
    wording_.queue(record);
    ahead_.push_back({record.bytes.data(), std::nullopt});
  }
  std::vector<std::optional<std::string>> texts = wording_.take();
  for (std::size_t i = 0; i < ahead_.size(); ++i) ahead_[i].text = std::move(texts[i]);
  std::ranges::reverse(ahead_);
}

void TraceLines::set_metadata(const Metadata& metadata) {
  metadata_ = &metadata;
  wording_.set_metadata(metadata);
  ahead_.clear();
  on_files_.clear();
  noted_ = 0;
}

void TraceLines::append_time(const TypedRecord& record, std::string& out) {
  std::uint64_t shown = record.time_ns;
  if (!first_ns_) first_ns_ = record.time_ns;
  const std::uint64_t before = last_ns_.value_or(record.time_ns);
  last_ns_ = record.time_ns;
  switch (style_.times) {
    case TimeStyle::Absolute:
      break;
    case TimeStyle::Relative:
      shown -= std::min(shown, *first_ns_);
      break;
    case TimeStyle::Delta:
      shown -= std::min(shown, before);
      break;
    case TimeStyle::Wall:
      if (metadata_->wall_offset_ns)
        return append_wall(shown + static_cast<std::uint64_t>(*metadata_->wall_offset_ns), out);
      break;
  }
  const std::uint64_t microseconds = (shown + 500) / 1000;
  append_padded(microseconds / kMillion, 5, ' ', out);
  out += '.';
  append_padded(microseconds % kMillion, 6, '0', out);
}

// Of the longest name; of hostile ones no more than a line has room for.
std::size_t TraceLines::instance_width() {
  constexpr std::size_t kWidest = 64;
  const auto& names = metadata_->instances;
  for (; known_instances_ < names.size(); ++known_instances_)
    instance_width_ = std::max(instance_width_, std::min(names[known_instances_].size(), kWidest));
  return instance_width_;
}

void TraceLines::append_front(Front part, const TypedRecord& record, std::string& out) {
  switch (part) {
    case Front::Task: {
      append_instance(record, *metadata_, instance_width(), style_.controls, out);
      if (record.comm.size() < 16) out.append(16 - record.comm.size(), ' ');
      const std::size_t begin = out.size();
      out += record.comm;
      escape_from(begin, style_.controls, out);
      out += '-';
      return append_pid(record.pid, out);
    }
    case Front::Cpu:
      out += " [";
      append_padded(record.cpu, 3, '0', out);
      out += "] ";
      return;
    case Front::Flags:
      return append_flags(record.flags(), record.preempt_count(), out);
    case Front::Time:
      out += ' ';
      return append_time(record, out);
  }
}

std::optional<TraceLines::OwnFormat> TraceLines::own_format(const EventFormat& event) {
  const Printed& how = printed(event);
  if (how.by != By::PrintFormat || !how.print || is_stack(event) || style_.controls != Controls::Raw ||
      style_.times != TimeStyle::Absolute)
    return std::nullopt;
  return OwnFormat{how.print, how.places};
}

void TraceLines::append(const TypedRecord& record, std::string& out) {
  append_lost(record, out);
  for (const Front part : {Front::Task, Front::Cpu, Front::Flags, Front::Time}) append_front(part, record, out);
  out += ": ";
  append_event(record, out);
  out += '\n';
}

std::string trace_header(std::uint64_t entries, std::uint64_t written, std::uint32_t cpus) {
  return fmt::format(
      "# tracer: nop\n#\n# entries-in-buffer/entries-written: {}/{}   #P:{}\n#\n"
      "#                                _-----=> irqs-off/BH-disabled\n"
      "#                               / _----=> need-resched\n"
      "#                              | / _---=> hardirq/softirq\n"
      "#                              || / _--=> preempt-depth\n"
      "#                              ||| / _-=> migrate-disable\n"
      "#                              |||| /     delay\n"
      "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
      "#              | |         |   |||||     |         |\n",
      entries, written, cpus);
}

}  // namespace kevt::record

// One word and its value a line:
//
//   kevtrace 1
//   recording 3f2a5b6c7d8e9f0011223344556677aa               its identity
//   rest-of 0011223344556677aa3f2a5b6c7d8e9f                 where it goes on with another one
//   writer-lock 1                                            while it is made: who writes it holds a lock on the file
//   wall-offset 1700000000000000000
//   boot 5d1f0f0e-2c7b-4f0a-9d7e-3b1f7c1d9a42                kernel/random/boot_id
//   definition p:kprobes/opened libc:open64 path=+0(%di):string
//   totals kprobes/opened 12 11 1 0 0 0 0 0
//   histogram {"event":"kprobes:opened",…} / histogram-text # kprobes:opened\n…   each reading ends with its text
//   symbol 7f0012345678 128 open [libc.so.6]
//   process 4711 python3 / thread 4712 4711 / mapping 4711 400000 450000 /usr/bin/python3.11
//   process-container 4711 3f2a5b6c7d8e                       where it is in one
//   process-symbol 4711 7f0012345678 128 open [libc.so.6]     where several processes were traced
#include "tracefs-compat/record/metadata_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "tracefs-compat/record/histogram_object.h"

namespace kevt::record {
namespace {

constexpr std::size_t kMaxComm = 64, kMaxContainer = 64, kMaxBoot = 64;

std::string_view take_until(std::string_view& text, char end) {
  const auto at = text.find(end);
  const std::string_view found = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return found;
}

template <class Number>
bool take_number(std::string_view& text, Number& value, int base = 10) {
  const std::string_view word = take_until(text, ' ');
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
  return error == std::errc() && end == word.data() + word.size() && !word.empty();
}

void read_totals(std::string_view line, Metadata& metadata) {
  EventTotals totals;
  totals.event = take_until(line, ' ');
  for (std::uint64_t* one :
       {&totals.attempts, &totals.recorded, &totals.filtered, &totals.lost, &totals.missed, &totals.faults}) {
    if (one == &totals.missed && line.starts_with("? ")) {
      totals.sees_misses = false;
      line.remove_prefix(2);
      continue;
    }
    if (!take_number(line, *one)) return;
  }
  if (take_number(line, totals.overwritten)) take_number(line, totals.aggregated);  // older recordings end before them
  metadata.totals.push_back(std::move(totals));
}

void read_symbol(std::string_view line, Symbols& symbols) {
  Symbol symbol;
  if (!take_number(line, symbol.address, 16) || !take_number(line, symbol.size, 16)) return;
  if (line.ends_with(']')) {
    if (const auto at = line.rfind(" ["); at != std::string_view::npos) {
      symbol.module = line.substr(at + 2, line.size() - at - 3);
      line = line.substr(0, at);
    }
  }
  symbol.name = line;
  symbols.add(std::move(symbol));
}

// "PID …" of a process that was named before.
void read_process(std::string_view word, std::string_view line, Metadata& metadata) {
  std::int32_t pid = 0, thread = 0;
  if (word == "thread" && !take_number(line, thread)) return;
  if (!take_number(line, pid)) return;
  if (word == "thread") {
    metadata.process_of.insert_or_assign(thread, pid);
    return;
  }
  if (word == "process") {
    metadata.processes[pid].name = line.substr(0, kMaxComm);
    return;
  }
  const auto process = metadata.processes.find(pid);
  if (process == metadata.processes.end()) return;
  if (word == "process-container") {
    process->second.container = line.substr(0, kMaxContainer);
    return;
  }
  if (word == "process-symbol") return read_symbol(line, process->second.symbols);
  Process::Mapping mapping;
  if (!take_number(line, mapping.begin, 16) || !take_number(line, mapping.end, 16)) return;
  mapping.path = line;
  process->second.mappings.push_back(std::move(mapping));
}

// One line of it.
std::string in_one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '\n') out += '\\';
    out += c == '\n' ? 'n' : c;
  }
  return out;
}

std::string in_its_lines(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool escapes = line[i] == '\\' && i + 1 < line.size();
    const char next = escapes ? line[++i] : line[i];
    out += escapes && next == 'n' ? '\n' : next;
  }
  return out;
}

void read_histogram(std::string_view word, std::string_view line, Metadata& metadata) {
  auto& all = metadata.histograms;
  if (word == "histogram" && !is_histogram_object(line)) return;
  if (all.empty() || !all.back().text.empty()) all.emplace_back();
  if (word == "histogram")
    all.back().objects.emplace_back(line);
  else
    all.back().text = in_its_lines(line);
}

void append_symbol_line(const Symbol& symbol, std::string& out) {
  out += fmt::format("{:x} {:x} {}{}\n", symbol.address, symbol.size, symbol.name,
                     symbol.module.empty() ? "" : " [" + symbol.module + "]");
}

void append_processes(const Metadata& metadata, std::string& out) {
  for (const auto& [pid, process] : metadata.processes) {
    out += fmt::format("process {} {}\n", pid, process.name);
    if (!process.container.empty()) out += fmt::format("process-container {} {}\n", pid, process.container);
  }
  const std::map<std::int32_t, std::int32_t> threads(metadata.process_of.begin(), metadata.process_of.end());
  for (const auto& [thread, pid] : threads) out += fmt::format("thread {} {}\n", thread, pid);
  for (const auto& [pid, process] : metadata.processes) {
    for (const Process::Mapping& one : process.mappings)
      out += fmt::format("mapping {} {:x} {:x} {}\n", pid, one.begin, one.end, one.path);
    if (metadata.processes.size() < 2) continue;  // the recording's symbols are its own
    for (const Symbol* symbol : process.symbols.all()) {
      out += fmt::format("process-symbol {} ", pid);
      append_symbol_line(*symbol, out);
    }
  }
}

}  // namespace

bool is_identity(std::string_view text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string metadata_text(const Metadata& metadata) { return metadata_text(metadata, metadata.new_identity); }

std::string metadata_text(const Metadata& metadata, const Identity& own) {
  std::string out(kMetadataHead);
  if (!own.id.empty()) {
    out += fmt::format("recording {}\n", own.id);
    if (!own.rest_of.empty()) out += fmt::format("rest-of {}\n", own.rest_of);
  }
  if (metadata.wall_offset_ns) out += fmt::format("wall-offset {}\n", *metadata.wall_offset_ns);
  if (!metadata.boot.empty()) out += fmt::format("boot {}\n", metadata.boot);
  for (const std::string& line : metadata.definitions) out += fmt::format("definition {}\n", line);
  for (const std::string& line : metadata.filters) out += fmt::format("filter {}\n", line);
  for (const EventTotals& one : metadata.totals)
    out += fmt::format("totals {} {} {} {} {} {} {} {} {}\n", one.event, one.attempts, one.recorded, one.filtered,
                       one.lost, one.sees_misses ? std::to_string(one.missed) : "?", one.faults, one.overwritten,
                       one.aggregated);
  for (const Symbol* symbol : metadata.symbols.all())
    if (!symbol->is_listed) {
      out += "symbol ";
      append_symbol_line(*symbol, out);
    }
  append_processes(metadata, out);
  for (const HistogramReading& one : metadata.histograms) {
    for (const std::string& object : one.objects) out += fmt::format("histogram {}\n", object);
    out += fmt::format("histogram-text {}\n", in_one_line(one.text));
  }
  return out;
}

void read_metadata_text(std::string_view text, Metadata& metadata) {
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    const std::string_view word = take_until(line, ' ');
    std::int64_t offset = 0;
    if (word == "wall-offset" && take_number(line, offset)) metadata.wall_offset_ns = offset;
    if (word == "writer-lock") metadata.has_writer_lock = line == "1";
    if (word == "boot" && line.size() <= kMaxBoot) metadata.boot = line;
    if (word == "recording" && is_identity(line)) metadata.identity.id = line;
    if (word == "rest-of" && is_identity(line)) metadata.identity.rest_of = line;
    if (word == "definition") metadata.definitions.emplace_back(line);
    if (word == "filter") metadata.filters.emplace_back(line);
    if (word == "totals") read_totals(line, metadata);
    if (word == "histogram" || word == "histogram-text") read_histogram(word, line, metadata);
    if (word == "symbol") read_symbol(line, metadata.symbols);
    if (word == "process" || word == "thread" || word == "mapping" || word == "process-symbol" ||
        word == "process-container")
      read_process(word, line, metadata);
  }
}

std::string comms_text(const Metadata& metadata) {
  const std::map<std::int32_t, std::string> sorted(metadata.comms.begin(), metadata.comms.end());
  std::string out;
  for (const auto& [pid, comm] : sorted) out += fmt::format("{} {}\n", pid, comm);
  return out;
}

void read_comms_text(std::string_view text, Metadata& metadata) {
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    std::int32_t pid = 0;
    if (!take_number(line, pid) || line.empty()) continue;
    metadata.comms.emplace(pid, line.substr(0, kMaxComm));
  }
}

std::string kallsyms_text(const Metadata& metadata) {
  std::string out;
  for (const Symbol* symbol : metadata.symbols.all())
    out += fmt::format("{:016x} T {}{}\n", symbol->address, symbol->name,
                       symbol->module.empty() ? "" : "\t[" + symbol->module + "]");
  return out;
}

std::string printk_formats_text(const Metadata& metadata) {
  std::string out;
  for (const auto& [address, string] : metadata.symbols.strings()) {
    out += fmt::format("0x{:x} : \"", address);
    for (const char c : string) {
      if (c == '\\' || c == '"') out += '\\';
      out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : std::string(1, c);
    }
    out += "\"\n";
  }
  return out;
}

std::string process_maps_text(const Metadata& metadata) {
  std::string out;
  for (const auto& [pid, process] : metadata.processes) {
    if (process.mappings.empty()) continue;
    out += fmt::format("{:x} {:x} {}\n", pid, process.mappings.size(), process.name);
    for (const Process::Mapping& one : process.mappings)
      out += fmt::format("{:x} {:x} {}\n", one.begin, one.end, one.path);
  }
  return out;
}

}  // namespace kevt::record

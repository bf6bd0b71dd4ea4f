// One word and its value a line:
//
//   kevtrace 1
//   wall-offset 1700000000000000000
//   definition p:kprobes/opened libc:open64 path=+0(%di):string
//   totals kprobes/opened 12 11 1 0 0 0
//   symbol 7f0012345678 128 open [libc.so.6]
#include "tracefs-compat/record/metadata_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace kevt::record {
namespace {

constexpr std::size_t kMaxComm = 64;

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
  metadata.totals.push_back(std::move(totals));
}

void read_symbol(std::string_view line, Metadata& metadata) {
  Symbol symbol;
  if (!take_number(line, symbol.address, 16) || !take_number(line, symbol.size, 16)) return;
  if (line.ends_with(']')) {
    if (const auto at = line.rfind(" ["); at != std::string_view::npos) {
      symbol.module = line.substr(at + 2, line.size() - at - 3);
      line = line.substr(0, at);
    }
  }
  symbol.name = line;
  metadata.symbols.add(std::move(symbol));
}

}  // namespace

std::string metadata_text(const Metadata& metadata) {
  std::string out(kMetadataHead);
  if (metadata.wall_offset_ns) out += fmt::format("wall-offset {}\n", *metadata.wall_offset_ns);
  for (const std::string& line : metadata.definitions) out += fmt::format("definition {}\n", line);
  for (const std::string& line : metadata.filters) out += fmt::format("filter {}\n", line);
  for (const EventTotals& one : metadata.totals)
    out += fmt::format("totals {} {} {} {} {} {} {}\n", one.event, one.attempts, one.recorded, one.filtered, one.lost,
                       one.sees_misses ? std::to_string(one.missed) : "?", one.faults);
  for (const Symbol* symbol : metadata.symbols.all())
    if (!symbol->is_listed)
      out += fmt::format("symbol {:x} {:x} {}{}\n", symbol->address, symbol->size, symbol->name,
                         symbol->module.empty() ? "" : " [" + symbol->module + "]");
  return out;
}

void read_metadata_text(std::string_view text, Metadata& metadata) {
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    const std::string_view word = take_until(line, ' ');
    std::int64_t offset = 0;
    if (word == "wall-offset" && take_number(line, offset)) metadata.wall_offset_ns = offset;
    if (word == "definition") metadata.definitions.emplace_back(line);
    if (word == "filter") metadata.filters.emplace_back(line);
    if (word == "totals") read_totals(line, metadata);
    if (word == "symbol") read_symbol(line, metadata);
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

}  // namespace kevt::record

// A line is the kernel's: prefix (task, pid, cpu, flags, time) and the event's own text.
#include "runtime-user/engine/trace_printer.h"

#include <fmt/format.h>

#include <cstring>

#include "compiler/layout/layout.h"
#include "runtime-user/engine/symbol_text.h"

namespace kevt::engine {

std::optional<target::Symbol> CachedSymbols::symbolize(std::uint64_t address) const {
  if (auto it = seen_.find(address); it != seen_.end()) return it->second;
  if (seen_.size() >= kMaxRemembered) seen_.clear();
  return seen_[address] = env_.symbolize(address);
}

void TracePrinter::print(const runtime::Record& record, std::string& out) const {
  const Event* event = engine_.by_probe(record.event);
  if (!event || record.bytes.size() < model::kCommonBytes) return;
  layout::LineContext context;
  context.comm = record.comm;
  std::memcpy(&context.pid, record.bytes.data() + 4, sizeof context.pid);
  context.cpu = record.cpu;
  context.timestamp_ns = record.timestamp_ns;
  context.flags = record.bytes[2];
  context.preempt_count = record.bytes[3];
  out += layout::line_prefix(context);
  if (has_symbol_text(event->layout)) {
    const auto complete = expand_symbol_texts(event->layout, record.bytes, symbols_);
    out += layout::event_text(event->definition, event->layout, complete, symbols_);
  } else {
    out += layout::event_text(event->definition, event->layout, record.bytes, symbols_);
  }
  out += '\n';
}

std::string accounting_line(const Event& event, const runtime::EventCounts& c, Misses misses) {
  return fmt::format("{}: hits {} = recorded {} + filtered {} + lost {} + missed {}\n", event.name, c.attempts,
                     c.recorded, c.filtered, c.lost, misses == Misses::Known ? std::to_string(c.missed) : "?");
}

}  // namespace kevt::engine

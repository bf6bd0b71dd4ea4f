// Each number has 8 bytes, a fixed text 256, a text or stack of any length a data_loc word and its bytes behind the
// fixed part, in the order of the fields:
//
//   s:lat pid_t pid; char[] path     8 pid | 16 (24 | 6 << 16) | 24 "a.txt"
//
// Mirrors trace_event_raw_event_synth() of kernel/trace/trace_events_synth.c (6.1).
#include "runtime-user/engine/histograms/synthetic_record.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "compiler/layout/synthetic_layout.h"

namespace kevt::engine {

namespace {

// Up to the first 0 and with it, as many as there are.
std::string stack_until_zero(const std::string& bytes) {
  std::size_t used = 0;
  while (used + 8 <= bytes.size()) {
    std::uint64_t address = 0;
    std::memcpy(&address, bytes.data() + used, sizeof address);
    used += 8;
    if (address == 0) break;
  }
  return bytes.substr(0, used);
}

}  // namespace

std::vector<std::uint8_t> synthetic_record(const TracedEvent& event, std::span<const HistValue> values,
                                           model::RecordBytes of) {
  const model::Definition& definition = event.probes.front().definition();
  std::vector<std::uint8_t> record(event.layout.fixed_size);
  const auto type = static_cast<std::uint16_t>(event.id);
  std::ranges::copy(of.first(std::min<std::size_t>(of.size(), model::kCommonBytes)), record.begin());
  std::memcpy(record.data(), &type, sizeof type);
  for (const model::RecordField& place : event.layout.fields) {
    const model::SyntheticField& field = definition.fields[place.arg_index];
    const HistValue value = place.arg_index < values.size() ? values[place.arg_index] : HistValue{};
    if (layout::is_synthetic_dynamic(field)) {
      const std::string bytes = layout::is_synthetic_stack(field) ? stack_until_zero(value.bytes) : value.bytes + '\0';
      const auto word = static_cast<std::uint32_t>(record.size() | bytes.size() << 16);
      std::memcpy(record.data() + place.offset, &word, sizeof word);
      record.insert(record.end(), bytes.begin(), bytes.end());
    } else if (layout::is_synthetic_text(field)) {
      const std::size_t room = layout::synthetic_slot(field) - 1;
      std::memcpy(record.data() + place.offset, value.bytes.data(), std::min(room, value.bytes.size()));
    } else {
      std::memcpy(record.data() + place.offset, &value.number, std::min<std::size_t>(place.size, sizeof value.number));
    }
  }
  return record;
}

}  // namespace kevt::engine

// Mirrors tracing_mark_write() and tracing_mark_raw_write() of kernel/trace/trace.c (6.1).
#include "runtime-user/engine/records/markers.h"

#include <string>
#include <vector>

#include "common/clock.h"
#include "runtime-user/engine/records/record_ids.h"

namespace kevt::engine {

namespace {

constexpr std::uint32_t kMaxMarkerBytes = 1024;

// `size` 0: the text.
model::RecordField marker_field(std::string name, std::uint32_t offset, std::uint32_t size) {
  model::RecordField field;
  field.name = std::move(name);
  field.type.kind = size == 0 ? model::TypeKind::Char : model::TypeKind::Unsigned;
  field.type.bytes = size == 0 ? 1 : static_cast<std::uint8_t>(size);
  field.type.array_count = size == 0 ? kMaxMarkerBytes : 0;
  field.offset = offset;
  field.size = size == 0 ? kMaxMarkerBytes : size;
  return field;
}

TracedEvent print_event() {
  TracedEvent event{.id = kPrintId,
                    .group = "ftrace",
                    .name = "print",
                    .owner = target::EventOwner::Synthetic,
                    .layout = {},
                    .probes = {}};
  event.layout.fields = {marker_field("ip", 8, 8), marker_field("buf", 16, 0)};
  event.layout.fixed_size = 16;
  return event;
}

}  // namespace

Markers::Markers(TracingState& state, TaskHistory& tasks, RecordRouter& records)
    : tasks_(tasks), records_(records), triggers_(state.events), event_(print_event()) {
  state.events.add_static({.group = event_.group,
                           .event = event_.name,
                           .owner = target::EventOwner::Static,
                           .siblings = {},
                           .layout = event_.layout});
}

void Markers::write(Instance& instance, std::int32_t tid, std::string_view comm, std::string_view text) {
  if (!instance.tracing_on) return;
  std::vector<std::uint8_t> payload(8);  // ip: 0
  payload.insert(payload.end(), text.begin(), text.end());
  payload.push_back(0);
  if (instance.options.has(TraceOption::RecordCmd)) tasks_.note_comm(tid, comm);
  const std::vector<std::uint8_t> written = record_of(kPrintId, tid, payload);
  if (!text.ends_with('\n')) payload.insert(payload.end() - 1, '\n');
  const std::vector<std::uint8_t> bytes = record_of(kPrintId, tid, payload);
  const std::uint64_t now = now_ns();
  instance.store(instance.buffer, {.timestamp_ns = now, .cpu = 0, .comm = comm, .bytes = bytes});
  // Triggers see the text as it was written.
  const runtime::Record record{.timestamp_ns = now, .cpu = 0, .comm = comm, .bytes = written};
  const TriggerRunner::Fired fired = triggers_.run(instance, event_, record, Stack::None);
  records_.deliver_synthetic(fired.synthetic, record, nullptr);
  triggers_.run_late(instance, event_, fired);
}

void Markers::write_raw(Instance& instance, std::int32_t tid, std::string_view comm,
                        std::span<const std::uint8_t> data) {
  if (!instance.tracing_on) return;
  if (instance.options.has(TraceOption::RecordCmd)) tasks_.note_comm(tid, comm);
  const std::vector<std::uint8_t> bytes = record_of(kRawDataId, tid, data);
  instance.store(instance.buffer, {.timestamp_ns = now_ns(), .cpu = 0, .comm = comm, .bytes = bytes});
}

}  // namespace kevt::engine

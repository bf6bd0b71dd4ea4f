#include "runtime-user/engine/records/reader_probes.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <variant>

#include "common/assert.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/model/record_view.h"
#include "compiler/pipeline/reader_program.h"
#include "compiler/target/fixed_target.h"

namespace kevt::engine {

namespace {

constexpr std::uint64_t kRecordAt = 0x10000;  // any address but 0: where the record lies in the machine's memory

// A machine that has nothing but a record.
class RecordMachine final : public ir::Machine {
 public:
  RecordMachine(const runtime::Record& record, std::uint32_t event) : bytes_(record.bytes) {
    comm = record.comm;
    probe_address = kRecordAt;
    event_id = event;
    pid = static_cast<std::uint32_t>(model::pid_of(record.bytes));
    cpu = record.cpu;
  }

  bool read(std::uint64_t address, std::span<std::uint8_t> out) const override {
    const std::uint64_t offset = address - kRecordAt;
    if (address < kRecordAt || offset > bytes_.size() || out.size() > bytes_.size() - offset) return false;
    std::ranges::copy(bytes_.subspan(offset, out.size()), out.begin());
    return true;
  }
  std::string symbol_text(std::uint64_t) const override { return ""; }  // reader_program() refuses them

 private:
  model::RecordBytes bytes_;
};

}  // namespace

Result<void> ReaderProbes::prepare(const TracedEvent& event, const target::TargetEnv& env) {
  const EventProbe& probe = event.probes.front();
  const auto known = programs_.find(event.id);
  if (known != programs_.end() && known->second.serial == probe.serial) return {};
  const auto& place = std::get<model::EventPlace>(probe.definition().place);
  const TracedEvent* const base = events_.find(place.system, place.event);
  KEVT_ASSERT(base != nullptr);  // it cannot be removed while the eprobe is there
  target::FixedCatalog of_base;  // without the eprobe itself, which would be defined twice
  of_base.add(*events_.catalog().find(place.system, place.event));
  diag::Sink sink;
  auto checked = pipeline::check_event(model::Definition(probe.written), env, of_base, pipeline::Forms::Runnable, sink);
  if (!checked) {
    const auto mistakes = sink.take();
    KEVT_ASSERT(!mistakes.empty());
    const diag::Diagnostic& first = mistakes.front();
    return std::unexpected(
        Error(first.detail.empty() ? std::string(diag::kernel_text(first.kind)) : first.detail, EOPNOTSUPP));
  }
  auto program = KEVT_TRY(pipeline::reader_program(*checked));
  programs_.insert_or_assign(event.id, Prepared{probe.serial, base->id, std::move(program)});
  return {};
}

// The record keeps the hit's flags and preempt count, which no program knows.
std::vector<ReaderProbes::Made> ReaderProbes::run(const TracedEvent& of, const runtime::Record& record) const {
  std::vector<Made> made;
  for (const auto& [id, prepared] : programs_) {
    if (prepared.stands_on != of.id) continue;
    const TracedEvent* const event = events_.find(id);
    if (!event) continue;
    auto result = ir::interpret(prepared.program, RecordMachine(record, id));
    if (result.record.size() >= model::kCommonBytes)
      std::ranges::copy(record.bytes.subspan(2, 2), result.record.begin() + 2);
    made.push_back({event, result.outcomes.front(), std::move(result.record)});
  }
  return made;
}

}  // namespace kevt::engine

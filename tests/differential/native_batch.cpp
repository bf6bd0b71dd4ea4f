// One hit on both sides. The interpreter's answer is turned into what native code leaves: a shut gate is a sink whose
// condition never holds, and the text of a symbol is the 8 bytes of its address (fetch_op.def allows that).
//
//   interpreter: outcomes {Recorded, Filtered}, record bytes, faults
//   native:      row 0: hits +1 recorded +1 faults +n   row 1: hits +1 filtered +1   one record in the ring
//
// Fault counts are compared only where no sink lost its record (program.h leaves the others open).
#include "tests/differential/native_batch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <span>

#include "common/assert.h"
#include "compiler/codegen/native.h"
#include "compiler/ir/shape.h"

namespace kevt::test {

namespace {

// Puts the 8th byte of each symbol's address into its place. The machine was asked once for each value, in the order
// of the first store of it.
void complete_symbols(const ir::Program& program, const std::vector<std::uint64_t>& asked,
                      std::vector<std::uint8_t>& record) {
  std::map<ir::ValueId, std::uint64_t> address_of;
  std::size_t next = 0;
  for (const ir::Store& store : program.stores) {
    if (store.kind != ir::StoreKind::Text || program.values[store.value].op != ir::Op::SymbolText) continue;
    std::uint32_t word = 0;
    std::memcpy(&word, record.data() + store.offset, sizeof word);
    if (word >> 16 == 0) continue;
    if (!address_of.contains(store.value)) {
      KEVT_ASSERT(next < asked.size());
      address_of[store.value] = asked[next++];
    }
    record[(word & 0xffff) + 7] = static_cast<std::uint8_t>(address_of[store.value] >> 56);
  }
}

std::string bytes_text(const std::vector<std::uint8_t>& bytes) { return fmt::format("{:02x}", fmt::join(bytes, " ")); }

std::string counts_text(const kevt_counts& c) {
  return fmt::format("hits {} recorded {} aggregated {} filtered {} lost {} missed {} faults {}", c.hits, c.recorded,
                     c.aggregated, c.filtered, c.lost, c.missed, c.faults);
}

kevt_counts difference(const kevt_counts& after, const kevt_counts& before) {
  return {.hits = after.hits - before.hits,
          .recorded = after.recorded - before.recorded,
          .filtered = after.filtered - before.filtered,
          .lost = after.lost - before.lost,
          .missed = after.missed - before.missed,
          .faults = after.faults - before.faults,
          .aggregated = after.aggregated - before.aggregated};
}

kevt_counts expected_counts(ir::Outcome outcome) {
  kevt_counts counts{.hits = 1};
  switch (outcome) {
    case ir::Outcome::Recorded:
      counts.recorded = 1;
      break;
    case ir::Outcome::Aggregated:
      counts.aggregated = 1;
      break;
    case ir::Outcome::Filtered:
      counts.filtered = 1;
      break;
    case ir::Outcome::Lost:
      counts.lost = 1;
      break;
  }
  return counts;
}

}  // namespace

std::string NativeMachine::symbol_text(std::uint64_t address) const {
  asked_.push_back(address);
  std::string low(7, '\0');
  std::memcpy(low.data(), &address, low.size());
  return low;
}

inproc::SessionOptions batch_session_options() { return {.ring_bytes = 65536, .rows = 2048}; }

ir::Program random_native_program(Random& random, const RandomOptions& options) {
  for (;;) {
    ir::Program program = random_program(random, options);
    if (codegen::native_refusal(program).empty()) return program;
  }
}

namespace {

std::vector<codegen::NativeInput> inputs_of(const std::vector<ir::Program>& programs) {
  std::vector<codegen::NativeInput> inputs;
  for (const ir::Program& program : programs) inputs.push_back({fmt::format("event_{}", inputs.size()), &program});
  return inputs;
}

// Adds the events of one image, of the programs from `first` on.
Result<void> install(LocalSession& session, const codegen::NativeOutput& native, std::span<ir::Program> programs,
                     std::vector<NativeEvent>& events) {
  auto base = KEVT_TRY(session.place(native.image));
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const codegen::NativeEvent& event = native.events[i];
    const inproc::DetourEvent code{base + event.extractor.entry, base + event.block,
                                   codegen::registers_from_frame(programs[i])};
    auto local = KEVT_TRY(session.add_event(code, static_cast<std::uint32_t>(programs[i].sinks.size())));
    const auto arguments = ir::entry_arguments(programs[i]);
    local.block->argument_count = static_cast<std::uint32_t>(arguments.size());
    std::ranges::copy(arguments, local.block->argument_numbers);
    inproc::set_gates(*local.block, ~0u);
    events.push_back({std::move(programs[i]), local});
  }
  return {};
}

}  // namespace

Result<std::vector<NativeEvent>> install_batch(LocalSession& session, std::vector<ir::Program> programs) {
  const codegen::NativeModule modules[] = {{.inputs = inputs_of(programs)}};
  auto native = KEVT_TRY(codegen::compile_modules(modules, codegen::KeepIr::No));
  std::vector<NativeEvent> events;
  KEVT_TRY(install(session, native.front().front(), programs, events));
  return events;
}

Result<std::vector<NativeEvent>> install_family(LocalSession& session, std::vector<ir::Program> programs) {
  const codegen::NativeModule modules[] = {{.inputs = inputs_of(programs), .is_family = true}};
  auto compiled = KEVT_TRY(codegen::compile_modules(modules, codegen::KeepIr::No));
  const auto& family = compiled.front();
  const bool is_given_up = family.size() < programs.size();  // a constant fits no instruction: one image for all
  std::vector<NativeEvent> events;
  if (is_given_up) {
    KEVT_TRY(install(session, family.front(), programs, events));
    return events;
  }
  for (std::size_t i = 0; i < programs.size(); ++i)
    KEVT_TRY(install(session, family.at(i), std::span(programs).subspan(i, 1), events));
  return events;
}

std::vector<ir::Program> random_family(Random& random, const ir::Program& program, std::size_t count) {
  std::vector<ir::Program> family = {program};
  while (family.size() < count) {
    ir::Program member = program;
    for (const ir::Constant& constant : ir::exchangeable_constants(program)) {
      const std::int64_t sign = constant.word < 0 ? -1 : 1;
      const auto limit = static_cast<std::uint64_t>(ir::kConstantLimit);
      const std::uint64_t near = static_cast<std::uint64_t>(sign * constant.word) + random() % 17;
      const std::uint64_t size = one_in(random, 4) ? random() % limit : near;
      const std::int64_t word = sign * static_cast<std::int64_t>(std::clamp<std::uint64_t>(size, 1, limit - 1));
      const std::size_t values = member.values.size();
      (constant.position < values ? member.values[constant.position].imm
                                  : member.stores[constant.position - values].imm) = word;
    }
    family.push_back(std::move(member));
  }
  return family;
}

void load_event(LocalSession& session, const NativeEvent& event, const ir::Machine& machine) {
  if (!event.program.aggregates.empty()) session.clear_hit_tables();
  event.local.block->event_id = machine.event_id;
  event.local.block->probe_address = machine.probe_address;
  std::ranges::copy(machine.slots, event.local.block->slots);
  for (std::size_t i = 0; i < event.program.slots.size(); ++i) {
    const model::SlotSource& slot = event.program.slots[i];
    if (slot.kind == model::SlotKind::SharedCell)
      event.local.block->slots[i] = session.memory().word(static_cast<std::uint64_t>(slot.addend)).value;
    if (slot.kind == model::SlotKind::HitTable)
      event.local.block->slots[i] = session.hit_table_address(static_cast<std::size_t>(slot.addend));
  }
  std::ranges::copy(machine.words, session.memory().words().begin());
}

void become(ir::Machine& machine) {
  machine.pid = static_cast<std::uint32_t>(gettid());
  machine.cpu = static_cast<std::uint32_t>(sched_getcpu());
  prctl(PR_SET_NAME, machine.comm.c_str());
}

void stay_on_this_cpu() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
  sched_setaffinity(0, sizeof one, &one);
}

ir::RunResult expected_hit(const ir::Program& program, const NativeMachine& machine, std::uint32_t gates) {
  ir::Program gated = program;
  for (std::size_t i = 0; i < gated.sinks.size(); ++i)
    if (!(gates >> i & 1)) gated.sinks[i].condition = ir::Condition{};
  if (!(gates & 1)) {  // a program with actions or aggregates has one sink
    gated.actions.clear();
    gated.aggregates.clear();
  }
  machine.forget_asked();
  ir::RunResult result = ir::interpret(gated, machine);
  if (!result.record.empty()) complete_symbols(program, machine.asked(), result.record);
  return result;
}

std::vector<kevt_counts> counts_of(const LocalSession& session, const NativeEvent& event) {
  std::vector<kevt_counts> counts;
  while (counts.size() < event.program.sinks.size())
    counts.push_back(session.counts(event.local, static_cast<std::uint32_t>(counts.size())));
  return counts;
}

std::vector<std::vector<std::uint8_t>> drain_all(LocalSession& session) {
  std::vector<std::vector<std::uint8_t>> records;
  session.rings().drain(
      [&](const inproc::RawRecord& record) { records.emplace_back(record.bytes.begin(), record.bytes.end()); });
  return records;
}

std::vector<std::pair<ir::Counted, std::uint64_t>> counted_by(LocalSession& session, const NativeEvent& event,
                                                              std::size_t aggregate) {
  const ir::Aggregate& one = event.program.aggregates[aggregate];
  const model::HitTable shape{.trigger = 0,
                              .key_words = ir::key_words(event.program, one),
                              .sum_words = static_cast<std::uint32_t>(one.sums.size())};
  std::vector<std::pair<ir::Counted, std::uint64_t>> counted;
  session.hit_tables().read(session.hit_table(aggregate), shape, [&](const runtime::HitCount& count) {
    counted.emplace_back(ir::Counted{{count.key.begin(), count.key.end()}, {count.sums.begin(), count.sums.end()}},
                         count.hits);
  });
  return counted;
}

namespace {

std::string counted_text(const std::vector<std::pair<ir::Counted, std::uint64_t>>& all) {
  std::string text;
  for (const auto& [one, hits] : all)
    text += fmt::format(" {} by {} sums {}", hits, fmt::join(one.key, ","), fmt::join(one.sums, ","));
  return text;
}

std::string compare_counted(LocalSession& session, const NativeEvent& event, const ir::RunResult& expected) {
  for (std::size_t i = 0; i < event.program.aggregates.size(); ++i) {
    std::vector<std::pair<ir::Counted, std::uint64_t>> want;
    if (i < expected.counted.size() && expected.counted[i]) want.emplace_back(*expected.counted[i], 1);
    const auto got = counted_by(session, event, i);
    if (got == want) continue;
    return fmt::format("aggregate {}: native{}, interpreter{}", i, counted_text(got), counted_text(want));
  }
  return "";
}

}  // namespace

std::string compare_hit(LocalSession& session, const NativeEvent& event, const std::vector<kevt_counts>& before,
                        const ir::RunResult& expected, const std::vector<std::vector<std::uint8_t>>& records) {
  const std::vector<kevt_counts> after = counts_of(session, event);
  const bool lost = std::ranges::count(expected.outcomes, ir::Outcome::Lost) > 0;
  for (std::size_t i = 0; i < after.size(); ++i) {
    kevt_counts got = difference(after[i], before[i]);
    kevt_counts want = expected_counts(expected.outcomes[i]);
    if (i == 0) want.faults = expected.faults;
    if (lost) got.faults = want.faults = 0;
    if (std::memcmp(&got, &want, sizeof got) != 0)
      return fmt::format("sink {}: native {}, interpreter {}", i, counts_text(got), counts_text(want));
  }
  if (std::string problem = compare_counted(session, event, expected); !problem.empty()) return problem;
  const auto words = session.memory().words().first(expected.words.size());
  if (!std::ranges::equal(words, expected.words))
    return fmt::format("words: native {}, interpreter {}", fmt::join(words, " "), fmt::join(expected.words, " "));
  const auto recorded = static_cast<std::size_t>(std::ranges::count(expected.outcomes, ir::Outcome::Recorded));
  if (records.size() != recorded) return fmt::format("{} records in the ring, {} expected", records.size(), recorded);
  for (const auto& record : records)
    if (record != expected.record)
      return fmt::format("record\nnative      {}\ninterpreter {}", bytes_text(record), bytes_text(expected.record));
  return "";
}

}  // namespace kevt::test

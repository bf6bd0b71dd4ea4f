// Real detours: random code, run with random registers, flags, vector registers and red zone, once as it is and once
// with its first bytes replaced by a jump (or int3) to a detour that runs random programs. The code must not notice,
// and each program must leave what the interpreter says for the registers at the site.
//
//   site: adc %rbx, %rax      →   jmp detour ─► extractors ─► adc %rbx, %rax; setb %cl ─► site + 6
//         setb %cl
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "common/abi/registers.h"
#include "compiler/ir/text.h"
#include "tests/differential/arm_site.h"
#include "tests/differential/machine_state.h"
#include "tests/differential/native_batch.h"
#include "tests/differential/site_code.h"
#include "tests/differential/test_seed.h"

namespace kevt::test {
namespace {

constexpr std::uint64_t kBatch = 100;
constexpr int kRoundsPerBatch = 400;
constexpr std::uint64_t kArithmeticFlags = 0x8d5;
constexpr std::uint64_t kOtherFlags = 0x202;  // interrupts on, and the bit that is always set
constexpr std::size_t kStackBytes = 1 << 18;
constexpr std::size_t kAboveStackPointer = 4096;
constexpr std::size_t kRedZone = 128;
constexpr std::uint64_t kDataAt = 4096;  // of TestText
constexpr std::size_t kDataBytes = 64;

std::uint64_t address_of(void (*function)()) { return reinterpret_cast<std::uint64_t>(function); }

// Whether the program takes the stack pointer or the site's address for an address to read at. What lies there
// differs between the runs.
bool reads_at_sp_or_ip(const ir::Program& program) {
  const auto is_special = [&](ir::ValueId id) {
    while (program.values[id].op == ir::Op::Narrow) id = program.values[id].a;
    const ir::Value& value = program.values[id];
    return value.op == ir::Op::Register &&
           (value.imm == offsetof(kevt_registers, sp) || value.imm == offsetof(kevt_registers, ip));
  };
  for (const ir::Value& value : program.values)
    if (ir::row_of(value.op).fault == ir::Fault::Reads && is_special(value.a)) return true;
  return std::ranges::any_of(program.stores, [&](const ir::Store& store) {
    return (ir::is_array(store.kind) && is_special(store.value)) ||
           (store.kind == ir::StoreKind::CountedArray && is_special(store.length));
  });
}

std::array<std::uint64_t, ir::kVectorRegisters> vectors_of(const MachineState& s) {
  std::array<std::uint64_t, ir::kVectorRegisters> words = {};
  for (std::size_t i = 0; i < words.size(); ++i) std::memcpy(&words[i], s.xmm[i], sizeof words[i]);
  return words;
}

kevt_registers registers_at(const MachineState& s, RemoteAddr site) {
  return {.r15 = s.r15,
          .r14 = s.r14,
          .r13 = s.r13,
          .r12 = s.r12,
          .bp = s.bp,
          .bx = s.bx,
          .r11 = s.r11,
          .r10 = s.r10,
          .r9 = s.r9,
          .r8 = s.r8,
          .ax = s.ax,
          .cx = s.cx,
          .dx = s.dx,
          .si = s.si,
          .di = s.di,
          .orig_ax = ~0ull,
          .ip = site.value,
          .cs = 0x33,
          .flags = s.flags,
          .sp = s.sp,
          .ss = 0x2b};
}

// What the tested code may change.
struct Memory {
  std::vector<std::uint8_t> stack;  // from the red zone's end upwards
  std::vector<std::uint8_t> data;
  friend bool operator==(const Memory&, const Memory&) = default;
};

struct Seen {
  MachineState state;
  Memory memory;
};

// One event at the site, and what its hit must leave.
struct Planned {
  const NativeEvent* event;
  NativeMachine machine;
};

class Detours : public testing::Test {
 protected:
  void SetUp() override {
    auto arena = MemoryArena::create();
    ASSERT_TRUE(arena) << arena.error().message();
    arena_.emplace(std::move(*arena));
    auto text = TestText::create(8192);
    ASSERT_TRUE(text) << text.error().message();
    text_ = std::move(*text);
    stack_.resize(kStackBytes);
    stay_on_this_cpu();
  }

  void run_batch(std::uint64_t seed);
  void run_round(LocalSession& session, Random& random);
  const NativeEvent& pick_event(Random& random, model::ProbeKind point) const;
  std::vector<Planned> plan(LocalSession& session, Random& random, const NativeMachine& hit, model::ProbeKind point,
                            std::uint64_t count);
  MachineState random_state(Random& random, const ArenaMachine& machine);
  Seen run(const MachineState& in, const Memory& before, SiteShape shape);
  Memory random_memory(Random& random) const;
  void check_state(const Seen& plain, const Seen& probed);
  void check_events(LocalSession& session, const std::vector<Planned>& planned,
                    const std::vector<std::vector<kevt_counts>>& before,
                    const std::vector<std::vector<std::uint8_t>>& records);

  RemoteAddr site() const { return text_->address(0); }
  std::uint8_t* stack_pointer() { return stack_.data() + kStackBytes - kAboveStackPointer; }

  std::optional<MemoryArena> arena_;
  std::unique_ptr<TestText> text_;
  std::vector<std::uint8_t> stack_;
  std::vector<NativeEvent> events_;
};

std::vector<std::uint8_t> random_bytes(Random& random, std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

Memory Detours::random_memory(Random& random) const {
  return {.stack = random_bytes(random, kAboveStackPointer + kRedZone), .data = random_bytes(random, kDataBytes)};
}

MachineState Detours::random_state(Random& random, const ArenaMachine& machine) {
  const kevt_registers& r = machine.registers;
  MachineState s;
  s.ax = r.ax, s.bx = r.bx, s.cx = r.cx, s.dx = r.dx, s.si = r.si, s.di = r.di, s.bp = r.bp;
  s.r8 = r.r8, s.r9 = r.r9, s.r10 = r.r10, s.r11 = r.r11, s.r12 = r.r12, s.r13 = r.r13, s.r14 = r.r14, s.r15 = r.r15;
  s.sp = reinterpret_cast<std::uint64_t>(stack_pointer());
  s.flags = kOtherFlags | (random() & kArithmeticFlags);
  for (auto& xmm : s.xmm)
    for (std::uint8_t& byte : xmm) byte = static_cast<std::uint8_t>(random());
  return s;
}

// The return slot of a function and what lies below it are not compared: a return probe uses the slot.
Seen Detours::run(const MachineState& in, const Memory& before, SiteShape shape) {
  std::uint8_t* const low = stack_pointer() - kRedZone;
  std::ranges::copy(before.stack, low);
  std::ranges::copy(before.data, text_->at(kDataAt));
  const std::uint64_t exit = address_of(kevt_test_exit_0);
  if (shape == SiteShape::Function) std::memcpy(stack_pointer(), &exit, sizeof exit);
  Seen seen;
  kevt_test_enter(&in, &seen.state, text_->at(0));
  const std::size_t dead = shape == SiteShape::Function ? kRedZone + 8 : 0;
  seen.memory.stack.assign(low + dead, low + before.stack.size());
  seen.memory.data.assign(text_->at(kDataAt), text_->at(kDataAt + kDataBytes));
  return seen;
}

const NativeEvent& Detours::pick_event(Random& random, model::ProbeKind point) const {
  for (;;)
    if (const NativeEvent& event = pick(random, events_); event.program.probe_kind == point) return event;
}

std::vector<Planned> Detours::plan(LocalSession& session, Random& random, const NativeMachine& hit,
                                   model::ProbeKind point, std::uint64_t count) {
  std::vector<Planned> planned;
  while (planned.size() < count) {
    const NativeEvent& event = pick_event(random, point);
    if (std::ranges::any_of(planned, [&](const Planned& other) { return other.event == &event; })) continue;
    NativeMachine machine = hit;
    machine.probe_address = random();
    machine.event_id = 1000 * (1 + static_cast<std::uint32_t>(point)) + static_cast<std::uint32_t>(planned.size());
    // In the static block: the thread's dtv is real, and no memory of the interpreter's.
    for (const ir::Value& value : event.program.values)
      if (value.op == ir::Op::ThreadLocal)
        machine.slots[static_cast<std::size_t>(value.imm)] = ~std::uint64_t{below(random, 1 << 20)};
    load_event(session, event, machine);
    event.local.block->gates = ~0u;
    planned.push_back({&event, machine});
  }
  return planned;
}

std::vector<inproc::DetourEvent> detour_events(const std::vector<Planned>& planned) {
  std::vector<inproc::DetourEvent> events;
  for (const Planned& one : planned) events.push_back(one.event->local.code);
  return events;
}

void Detours::check_state(const Seen& plain, const Seen& probed) {
  const auto words = [](const MachineState& s) {
    std::vector<std::uint64_t> all(18);
    std::memcpy(all.data(), &s, 18 * 8);
    return all;
  };
  EXPECT_EQ(words(plain.state), words(probed.state)) << "ax bx cx dx si di bp sp r8 … r15 flags exit";
  EXPECT_EQ(std::memcmp(plain.state.xmm, probed.state.xmm, sizeof plain.state.xmm), 0) << "vector registers";
  EXPECT_EQ(plain.memory.stack == probed.memory.stack, true) << "stack and red zone";
  EXPECT_EQ(plain.memory.data == probed.memory.data, true) << "data";
}

void Detours::check_events(LocalSession& session, const std::vector<Planned>& planned,
                           const std::vector<std::vector<kevt_counts>>& before,
                           const std::vector<std::vector<std::uint8_t>>& records) {
  for (std::size_t i = 0; i < planned.size(); ++i) {
    std::vector<std::vector<std::uint8_t>> own;
    for (const auto& record : records)
      if (record.size() >= 2 && (record[0] | record[1] << 8) == static_cast<int>(planned[i].machine.event_id))
        own.push_back(record);
    const NativeEvent& event = *planned[i].event;
    const std::string problem =
        compare_hit(session, event, before[i], expected_hit(event.program, planned[i].machine, ~0u), own);
    EXPECT_EQ(problem, "") << ir::print(event.program);
  }
}

void Detours::run_round(LocalSession& session, Random& random) {
  const SiteShape shape = one_in(random, 2) ? SiteShape::Fragment : SiteShape::Function;
  const Arming arming = one_in(random, 4) ? Arming::Breakpoint : Arming::Jump;
  const std::vector<std::uint8_t> code = random_site(random, shape, site(), text_->address(kDataAt));
  SCOPED_TRACE(testing::Message() << "site " << hex(code) << (arming == Arming::Jump ? ", jump" : ", int3"));
  std::ranges::copy(code, text_->at(0));

  NativeMachine entry(random_machine(random, *arena_, 2));
  become(entry);
  const MachineState in = random_state(random, entry);
  const Memory memory = random_memory(random);
  const Seen plain = run(in, memory, shape);
  entry.registers = registers_at(in, site());
  entry.vectors = vectors_of(in);
  entry.thread_pointer = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
  NativeMachine leave = entry;
  leave.registers = registers_at(plain.state, site());
  leave.vectors = vectors_of(plain.state);
  leave.entry_arguments = {in.di, in.si, in.dx, in.cx, in.r8, in.r9};
  leave.return_address = address_of(kevt_test_exit_0);

  const std::uint64_t return_count = shape == SiteShape::Function ? below(random, 3) : 0;
  const std::uint64_t entry_count = return_count ? below(random, 3) : 1 + below(random, 2);
  const std::vector<Planned> entries = plan(session, random, entry, model::ProbeKind::Entry, entry_count);
  const std::vector<Planned> returns = plan(session, random, leave, model::ProbeKind::Return, return_count);
  const auto armed = arm_site(session, site(), arming, {detour_events(entries), detour_events(returns)});
  ASSERT_TRUE(armed) << armed.error().message();
  std::vector<std::vector<kevt_counts>> entries_before, returns_before;
  for (const Planned& one : entries) entries_before.push_back(counts_of(session, *one.event));
  for (const Planned& one : returns) returns_before.push_back(counts_of(session, *one.event));
  const Seen probed = run(in, memory, shape);
  check_state(plain, probed);
  const auto records = drain_all(session);
  check_events(session, entries, entries_before, records);
  check_events(session, returns, returns_before, records);
}

void Detours::run_batch(std::uint64_t seed) {
  Random random(seed);
  arena_->refill(random);
  const RandomOptions options{.addresses = arena_->addresses(),
                              .words = arena_->words(),
                              .excluded = {},
                              .max_values = 12,
                              .max_stores = 5,
                              .max_sinks = 2,
                              .max_condition_depth = 2};
  std::vector<ir::Program> programs;
  while (programs.size() < kBatch)
    if (ir::Program program = random_native_program(random, options); !reads_at_sp_or_ip(program))
      programs.push_back(std::move(program));
  auto session = LocalSession::create(batch_session_options());
  ASSERT_TRUE(session) << session.error().message();
  auto events = install_batch(**session, std::move(programs));
  ASSERT_TRUE(events) << events.error().message();
  events_ = std::move(*events);
  for (int round = 0; round < kRoundsPerBatch && !HasFailure(); ++round) run_round(**session, random);
  if (HasFailure()) ADD_FAILURE() << "KEVT_SEED=" << seed;
}

TEST_F(Detours, TheCodeDoesNotNoticeAndTheRecordsAreTheInterpreters) {
  const std::uint64_t count = number_from_environment("KEVT_DETOUR_COUNT", 800);
  for (std::uint64_t done = 0; done < count && !HasFailure(); done += kBatch) run_batch(test_seed() + done / kBatch);
}

}  // namespace
}  // namespace kevt::test

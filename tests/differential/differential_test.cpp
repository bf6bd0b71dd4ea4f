// The native code generator held to the interpreter: random programs, each hit on a few random machines by calling its
// extractor. Outcome of each sink (by the counters), faults and record bytes must be the same.
//
// A batch of programs has a seed of its own, printed when it fails; to repeat it alone:
//   KEVT_SEED=… KEVT_DIFFERENTIAL_COUNT=100 kevt_differential_test
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/ir/text.h"
#include "tests/differential/native_batch.h"
#include "tests/differential/test_seed.h"

namespace kevt::test {
namespace {

constexpr std::uint64_t kBatch = 100;
constexpr int kMachines = 4;
constexpr int kFamiliesOfSession = 20;
constexpr std::size_t kMembers = 4;

std::uint32_t random_gates(Random& random) { return one_in(random, 6) ? static_cast<std::uint32_t>(random()) : ~0u; }

// Most programs are of the size people write: LLVM's time for the others is what the test takes.
RandomOptions random_sizes(Random& random, const MemoryArena& arena) {
  RandomOptions options{.addresses = arena.addresses(), .words = arena.words()};
  options.excluded = {ir::Op::Vector, ir::Op::ThreadLocal};  // detours have them, which detour_test runs
  options.max_switches = 3;
  options.max_aggregates = 3;
  options.max_fetched_texts = 12;  // more than native code keeps at once: some are refused
  if (one_in(random, 25)) return options;
  options.max_values = 10;
  options.max_stores = 3;
  options.max_sinks = one_in(random, 5) ? 2 : 1;
  options.max_condition_depth = 2;
  return options;
}

class Differential : public testing::Test {
 protected:
  void SetUp() override {
    auto arena = MemoryArena::create();
    ASSERT_TRUE(arena) << arena.error().message();
    arena_.emplace(std::move(*arena));
    stay_on_this_cpu();
  }
  void run_batch(std::uint64_t seed, std::uint64_t programs);
  void run_family(std::uint64_t seed);
  void run_events(LocalSession& session, const std::vector<NativeEvent>& events, Random& random);
  void run_machine(LocalSession& session, const NativeEvent& event, Random& random);

  std::optional<MemoryArena> arena_;
  std::uint64_t runs_ = 0, recorded_ = 0, faulty_ = 0, aggregated_ = 0, families_ = 0, refused_ = 0;
};

void Differential::run_machine(LocalSession& session, const NativeEvent& event, Random& random) {
  NativeMachine machine(random_machine(random, *arena_, event.program.slots.size()));
  become(machine);
  load_event(session, event, machine);
  event.local.block->gates = random_gates(random);
  const ir::RunResult expected = expected_hit(event.program, machine, event.local.block->gates);
  const std::vector<kevt_counts> before = counts_of(session, event);
  kevt_registers registers = machine.registers;
  LocalSession::hit(event.local, registers, machine.return_address);
  const std::string problem = compare_hit(session, event, before, expected, drain_all(session));
  EXPECT_EQ(problem, "");
  ++runs_;
  recorded_ += expected.record.empty() ? 0 : 1;
  faulty_ += expected.faults > 0 ? 1 : 0;
  aggregated_ += std::ranges::count(expected.outcomes, ir::Outcome::Aggregated) > 0 ? 1 : 0;
}

void Differential::run_batch(std::uint64_t seed, std::uint64_t count) {
  SCOPED_TRACE(testing::Message() << "KEVT_SEED=" << seed);
  Random random(seed);
  arena_->refill(random);
  std::vector<ir::Program> programs;
  while (programs.size() < count) programs.push_back(random_native_program(random, random_sizes(random, *arena_)));
  auto session = LocalSession::create(batch_session_options());
  ASSERT_TRUE(session) << session.error().message();
  auto events = install_batch(**session, std::move(programs));
  ASSERT_TRUE(events) << events.error().message();
  run_events(**session, *events, random);
}

void Differential::run_events(LocalSession& session, const std::vector<NativeEvent>& events, Random& random) {
  for (std::size_t i = 0; i < events.size() && !HasFailure(); ++i) {
    for (int m = 0; m < kMachines && !HasFailure(); ++m) run_machine(session, events[i], random);
    if (HasFailure()) ADD_FAILURE() << "program " << i << "\n" << ir::print(events[i].program);
  }
}

// Programs that differ in their constants, compiled as one.
void Differential::run_family(std::uint64_t seed) {
  SCOPED_TRACE(testing::Message() << "KEVT_SEED=" << seed);
  Random random(seed);
  arena_->refill(random);
  auto session = LocalSession::create(batch_session_options());
  ASSERT_TRUE(session) << session.error().message();
  for (int i = 0; i < kFamiliesOfSession && !HasFailure(); ++i) {
    const ir::Program program = random_native_program(random, random_sizes(random, *arena_));
    auto events = install_family(**session, random_family(random, program, kMembers));
    ++families_;
    if (!events) {  // LLVM found no instruction that holds a constant: each is compiled alone then
      ++refused_;
      continue;
    }
    run_events(**session, *events, random);
  }
}

TEST_F(Differential, NativeDoesWhatTheInterpreterDoes) {
  const std::uint64_t count = number_from_environment("KEVT_DIFFERENTIAL_COUNT", 5000);
  for (std::uint64_t done = 0; done < count && !HasFailure(); done += kBatch)
    run_batch(test_seed() + done / kBatch, std::min(kBatch, count - done));
  if (HasFailure()) return;
  EXPECT_GT(recorded_, runs_ / 4);
  EXPECT_GT(faulty_, runs_ / 20);
  EXPECT_GT(aggregated_, runs_ / 50);
  RecordProperty("runs", static_cast<int>(runs_));
}

TEST_F(Differential, FamiliesDoWhatTheInterpreterDoes) {
  const std::uint64_t count = number_from_environment("KEVT_DIFFERENTIAL_COUNT", 5000) / 20;
  for (std::uint64_t done = 0; done < count && !HasFailure(); done += kFamiliesOfSession)
    run_family(test_seed() + done / kFamiliesOfSession);
  if (HasFailure()) return;
  EXPECT_GT(recorded_, runs_ / 8);
  EXPECT_LE(refused_, families_ / 100);
}

}  // namespace
}  // namespace kevt::test

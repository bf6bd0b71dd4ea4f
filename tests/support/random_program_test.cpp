// Properties that hold for every program, on 20,000 random ones, and that the generator reaches
// everything there is.
#include "tests/support/random_program.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "common/unique_fd.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verify.h"
#include "tests/support/random_machine.h"

namespace kevt::test {
namespace {

constexpr int kPrograms = 20000;
constexpr int kProgramsPerFill = 200;

// Asks the kernel whether memory can be read, without a signal: write(2) answers EFAULT.
class Prober {
 public:
  Prober() : file_(memfd_create("prober", 0)) {}
  std::int64_t readable_bytes(std::uint64_t address, std::size_t bytes) const {
    return pwrite(file_.get(), reinterpret_cast<const void*>(address), bytes, 0);
  }

 private:
  UniqueFd file_;
};

// Holds the layout's "cannot be read" against the real memory of the process.
class ProbingMachine final : public ArenaMachine {
 public:
  ProbingMachine(const ArenaMachine& machine, const Prober& prober) : ArenaMachine(machine), prober_(prober) {}
  bool read(std::uint64_t address, std::span<std::uint8_t> out) const override {
    if (ArenaMachine::read(address, out)) return true;
    const std::int64_t bytes = prober_.readable_bytes(address, out.size());
    EXPECT_LT(bytes, static_cast<std::int64_t>(out.size())) << std::hex << address;
    return false;
  }

 private:
  const Prober& prober_;
};

class RandomPrograms : public testing::Test {
 protected:
  void SetUp() override {
    Result<MemoryArena> arena = MemoryArena::create();
    ASSERT_TRUE(arena) << arena.error().message();
    arena_.emplace(std::move(*arena));
  }
  RandomOptions options() const {
    return {.addresses = arena_->addresses(), .words = arena_->words(), .max_switches = 3};
  }

  // Calls `check(program, random)` for each program.
  template <class Check>
  void for_each_program(int count, Check check) {
    Random random(20240607);
    RandomOptions current;
    for (int i = 0; i < count && !HasFailure(); ++i) {
      if (i % kProgramsPerFill == 0) {
        arena_->refill(random);
        current = options();
      }
      const ir::Program program = random_program(random, current);
      SCOPED_TRACE(testing::Message() << "program " << i << "\n" << ir::print(program));
      check(program, random);
    }
  }

  std::optional<MemoryArena> arena_;
};

TEST_F(RandomPrograms, VerifyAndComeBackFromText) {
  for_each_program(kPrograms, [](const ir::Program& program, Random&) {
    ASSERT_EQ(ir::verify(program), std::nullopt);
    const std::string text = ir::print(program);
    const Result<ir::Program> parsed = ir::parse(text);
    ASSERT_TRUE(parsed) << parsed.error().message();
    EXPECT_TRUE(*parsed == program);
    EXPECT_EQ(ir::print(*parsed), text);
  });
}

// Damaged text is refused or means something that comes back the same.
TEST_F(RandomPrograms, DamagedTextIsRefusedOrConsistent) {
  int accepted = 0;
  for_each_program(3000, [&](const ir::Program& program, Random& random) {
    std::string text = ir::print(program);
    for (std::uint64_t left = 1 + below(random, 3); left > 0; --left) {
      const std::size_t at = below(random, text.size());
      const std::size_t other = below(random, text.size());
      if (one_in(random, 2))
        text[at] = text[other];
      else
        text.erase(at, one_in(random, 4) ? other % 40 : 1);
      if (text.empty()) text = "x";
    }
    const Result<ir::Program> parsed = ir::parse(text);
    if (!parsed) return;
    ++accepted;
    EXPECT_EQ(ir::verify(*parsed), std::nullopt) << text;
    const Result<ir::Program> again = ir::parse(ir::print(*parsed));
    ASSERT_TRUE(again) << text;
    EXPECT_TRUE(*again == *parsed) << text;
  });
  EXPECT_GT(accepted, 50);
  EXPECT_LT(accepted, 2500);
}

std::uint32_t word_at(const std::vector<std::uint8_t>& record, std::uint32_t offset) {
  return record[offset] | record[offset + 1] << 8 | record[offset + 2] << 16 |
         static_cast<std::uint32_t>(record[offset + 3]) << 24;
}

// The dynamic part is exactly the strings and counted arrays, in order, each string ended by its only NUL.
void check_record(const ir::Program& program, const std::vector<std::uint8_t>& record) {
  ASSERT_GE(record.size(), program.fixed_size);
  ASSERT_LE(record.size(), model::kMaxRecordBytes);
  std::uint32_t next = program.fixed_size;
  for (const ir::Store& store : program.stores) {
    if (!ir::is_dynamic(store.kind)) continue;
    const bool is_counted = store.kind == ir::StoreKind::CountedArray;
    for (std::uint32_t i = 0; i < (is_counted ? 1 : store.count); ++i) {
      const std::uint32_t word = word_at(record, store.offset + 4 * i);
      EXPECT_EQ(word & 0xffff, next);
      next += word >> 16;
      ASSERT_LE(next, record.size());
      if (is_counted) {
        EXPECT_LE(word >> 16, store.count * store.bytes);
        continue;
      }
      if (word >> 16 == 0) continue;
      const std::string text(record.begin() + (word & 0xffff), record.begin() + next);
      EXPECT_EQ(text.find('\0'), text.size() - 1);
    }
  }
  EXPECT_EQ(next, record.size());
}

TEST_F(RandomPrograms, InterpretWithoutSurprise) {
  const Prober prober;
  std::map<ir::Outcome, int> outcomes;
  int faulty = 0;
  for_each_program(kPrograms, [&](const ir::Program& program, Random& random) {
    const ProbingMachine machine(random_machine(random, *arena_, program.slots.size()), prober);
    const ir::RunResult result = ir::interpret(program, machine);
    ASSERT_EQ(result.outcomes.size(), program.sinks.size());
    const bool recorded = std::ranges::count(result.outcomes, ir::Outcome::Recorded) > 0;
    EXPECT_EQ(recorded, !result.record.empty());
    if (recorded) check_record(program, result.record);
    for (const ir::Outcome outcome : result.outcomes) ++outcomes[outcome];
    faulty += result.faults > 0 ? 1 : 0;
    const ir::RunResult again = ir::interpret(program, machine);
    EXPECT_EQ(again.record, result.record);
    EXPECT_EQ(again.faults, result.faults);
  });
  EXPECT_GT(outcomes[ir::Outcome::Recorded], kPrograms / 2);
  EXPECT_GT(outcomes[ir::Outcome::Filtered], kPrograms / 4);
  EXPECT_GT(outcomes[ir::Outcome::Lost], kPrograms / 200);
  EXPECT_GT(faulty, kPrograms / 10);
  EXPECT_LT(faulty, kPrograms * 9 / 10);
}

void count_conditions(const ir::Condition& condition, std::map<std::string, int>& seen) {
  ++seen["condition " + std::to_string(static_cast<int>(condition.kind))];
  if (condition.kind == ir::ConditionKind::Compare) ++seen["compare " + std::to_string(static_cast<int>(condition.op))];
  if (condition.kind == ir::ConditionKind::MatchText)
    ++seen["glob " + std::to_string(static_cast<int>(condition.glob))];
  for (const ir::Condition& child : condition.children) count_conditions(child, seen);
}

TEST_F(RandomPrograms, ReachEverything) {
  std::map<std::string, int> seen;
  for_each_program(2000, [&](const ir::Program& program, Random&) {
    ++seen["point " + std::to_string(static_cast<int>(program.probe_kind))];
    for (const ir::Value& value : program.values) ++seen["op " + std::string(ir::op_text(value.op))];
    for (const ir::Store& store : program.stores) ++seen["store " + std::to_string(static_cast<int>(store.kind))];
    for (const ir::InstanceSink& sink : program.sinks)
      if (sink.condition) count_conditions(*sink.condition, seen);
  });
#define KEVT_FETCH_OP(name, text, ...) EXPECT_GT(seen["op " text], 100) << text;
#include "compiler/ir/fetch_op.def"
#undef KEVT_FETCH_OP
  for (int i = 0; i < 2; ++i) EXPECT_GT(seen["point " + std::to_string(i)], 100) << i;
  for (int i = 0; i < 4; ++i) EXPECT_GT(seen["store " + std::to_string(i)], 100) << i;
  for (int i = 0; i < 6; ++i) EXPECT_GT(seen["condition " + std::to_string(i)], 100) << i;
  for (int i = 0; i < 7; ++i) EXPECT_GT(seen["compare " + std::to_string(i)], 100) << i;
  for (int i = 0; i < 5; ++i) EXPECT_GT(seen["glob " + std::to_string(i)], 100) << i;
}

TEST_F(RandomPrograms, ExcludedOpsDoNotOccur) {
  Random random(7);
  RandomOptions limited = options();
  limited.excluded = {ir::Op::Cpu, ir::Op::SymbolText, ir::Op::Comm};
  limited.max_fetched_texts = 2;
  for (int i = 0; i < 500; ++i) {
    const ir::Program program = random_program(random, limited);
    int strings = 0;
    for (const ir::Value& value : program.values) {
      EXPECT_FALSE(limited.excluded.contains(value.op));
      strings += ir::reads_text(value.op) ? 1 : 0;
    }
    EXPECT_LE(strings, 2);
  }
}

TEST_F(RandomPrograms, OneSeedOneProgram) {
  Random a(5);
  Random b(5);
  EXPECT_EQ(ir::print(random_program(a, options())), ir::print(random_program(b, options())));
}

TEST_F(RandomPrograms, TheArenaSaysExactlyWhatCanBeRead) {
  const Prober prober;
  const std::uint64_t end = arena_->base() + MemoryArena::kPages.size() * MemoryArena::kPageBytes;
  for (std::uint64_t at = arena_->base() - 64; at < end + 64; at += 13)
    EXPECT_EQ(arena_->readable(at, 8), prober.readable_bytes(at, 8) == 8) << std::hex << at;
  for (const std::uint64_t bad : arena_->bad_addresses()) {
    EXPECT_FALSE(arena_->readable(bad, 1));
    EXPECT_LE(prober.readable_bytes(bad, 1), 0) << std::hex << bad;
  }
}

// Any 8 bytes, taken as an address, point into the arena or are not canonical.
TEST_F(RandomPrograms, EveryWindowOfTheArenaIsASafeAddress) {
  const ArenaMachine machine(*arena_);
  const std::uint64_t end = arena_->base() + MemoryArena::kPages.size() * MemoryArena::kPageBytes;
  int pointers = 0;
  for (std::uint64_t at = arena_->base(); at + 8 <= end; ++at) {
    std::uint64_t word = 0;
    if (!machine.read(at, {reinterpret_cast<std::uint8_t*>(&word), sizeof word})) continue;
    if (word >= arena_->base() && word < end) {
      ++pointers;
      continue;
    }
    const std::uint64_t top = word >> 47;
    EXPECT_TRUE(top != 0 && top != 0x1ffff) << std::hex << word << " at " << at;
  }
  EXPECT_GT(pointers, 200);
}

}  // namespace
}  // namespace kevt::test

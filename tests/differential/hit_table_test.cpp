// Hit tables filled by native code: every hit is in a table or in the ring, whatever its key is.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "compiler/ir/text.h"
#include "tests/differential/native_batch.h"
#include "tests/differential/probed_text.h"
#include "tests/differential/test_seed.h"

namespace kevt::test {
namespace {

using Key = std::vector<std::uint64_t>;
struct Sum {
  std::uint64_t hits = 0, bytes = 0;
  friend bool operator==(const Sum&, const Sum&) = default;
};

class HitTableTest : public testing::Test {
 protected:
  void SetUp() override {
    auto session = LocalSession::create({.ring_bytes = 4u << 20, .rows = 64});
    ASSERT_TRUE(session) << session.error().message();
    session_ = std::move(*session);
    stay_on_this_cpu();
  }
  // One event, whose keys are rdi and, where there are two, rsi; it sums rdx.
  void make(std::size_t keys) {
    install(keys == 1 ? R"(
program entry fixed 24
slot 0 = hit_table ""+0
v0 = reg di
v1 = reg dx
store int8 v0 @16
aggregate 0 by v0 sum v1
sink 0
)"
                      : R"(
program entry fixed 24
slot 0 = hit_table ""+0
v0 = reg di
v1 = reg dx
v2 = reg si
store int8 v0 @16
aggregate 0 by v0, v2 sum v1
sink 0
)");
    shape_ = {.trigger = 1, .key_words = static_cast<std::uint32_t>(keys), .sum_words = 1};
  }
  void install(const char* text) {
    auto program = ir::parse(text);
    ASSERT_TRUE(program) << program.error().message();
    auto events = install_batch(*session_, {*std::move(program)});
    ASSERT_TRUE(events) << events.error().message();
    event_ = std::move(events->front());
    machine_.slots.resize(1);
    load_event(*session_, *event_, machine_);
  }
  void hit(std::uint64_t a, std::uint64_t b, std::uint64_t bytes) {
    kevt_registers registers{};
    registers.di = a;
    registers.si = b;
    registers.dx = bytes;
    LocalSession::hit(event_->local, registers, 0);
  }
  // What the reader says since the last time, on top of `sums`.
  void read_into(std::map<Key, Sum>& sums) {
    session_->hit_tables().read(session_->hit_table(0), shape_, [&](const runtime::HitCount& count) {
      EXPECT_GT(count.hits, 0u);
      Sum& sum = sums[Key(count.key.begin(), count.key.end())];
      sum.hits += count.hits;
      sum.bytes += count.sums.front();
    });
  }
  kevt_counts counts() const { return session_->counts(event_->local, 0); }

  struct Quiet final : ir::Machine {
    bool read(std::uint64_t, std::span<std::uint8_t>) const override { return false; }
    std::string symbol_text(std::uint64_t) const override { return ""; }
  };
  std::unique_ptr<LocalSession> session_;
  std::optional<NativeEvent> event_;
  model::HitTable shape_;
  Quiet machine_;
};

TEST_F(HitTableTest, EveryHitOfFewKeysIsCountedThere) {
  make(1);
  Random random(test_seed());
  SCOPED_TRACE(testing::Message() << "KEVT_SEED=" << test_seed());
  std::map<Key, Sum> expected, read;
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t key = below(random, 200) * 0x9E3779B97F4A7C15ull, bytes = random();
    hit(key, 0, bytes);
    ++expected[{key}].hits;
    expected[{key}].bytes += bytes;
    if (one_in(random, 500)) read_into(read);
  }
  read_into(read);
  EXPECT_EQ(read, expected);
  EXPECT_EQ(counts().aggregated, 20000u);
  EXPECT_EQ(drain_all(*session_).size(), 0u);
}

// The least and the greatest, with and without a sign, as they are at any reading.
TEST_F(HitTableTest, ExtremesAreKept) {
  install(R"(
program entry fixed 24
slot 0 = hit_table ""+0
v0 = reg di
v1 = reg dx
store int8 v0 @16
aggregate 0 by v0 sum v1 least, v1, v1 greatest, v1 sleast, v1 sgreatest
sink 0
)");
  shape_ = {.trigger = 1, .key_words = 1, .sum_words = 5, .greatest = 0b11101};
  struct Extremes {
    std::uint64_t hits = 0, sum = 0, least = ~0ull, greatest = 0;
    std::int64_t signed_least = INT64_MAX, signed_greatest = INT64_MIN;
    bool operator==(const Extremes&) const = default;
  };
  Random random(test_seed());
  SCOPED_TRACE(testing::Message() << "KEVT_SEED=" << test_seed());
  std::map<std::uint64_t, Extremes> expected, read;
  const auto look = [&] {
    session_->hit_tables().read(session_->hit_table(0), shape_, [&](const runtime::HitCount& count) {
      const auto number = [&](std::size_t i, model::Kept kept) { return count.sums[i] ^ model::encoded_for(kept); };
      Extremes& one = read[count.key.front()];
      one.hits += count.hits;
      one.sum += count.sums[1];
      one.least = number(0, model::Kept::Least);
      one.greatest = number(2, model::Kept::Greatest);
      one.signed_least = static_cast<std::int64_t>(number(3, model::Kept::SignedLeast));
      one.signed_greatest = static_cast<std::int64_t>(number(4, model::Kept::SignedGreatest));
    });
  };
  for (int i = 0; i < 20000; ++i) {
    // Among others 0, -1 and the numbers at both ends of the sign.
    constexpr std::uint64_t kOdd[] = {0, ~0ull, 1ull << 63, (1ull << 63) - 1};
    const std::uint64_t key = below(random, 300);
    const std::uint64_t value = one_in(random, 50) ? kOdd[below(random, 4)] : random() >> below(random, 64);
    hit(key, 0, value);
    Extremes& one = expected[key];
    ++one.hits;
    one.sum += value;
    one.least = std::min(one.least, value);
    one.greatest = std::max(one.greatest, value);
    one.signed_least = std::min(one.signed_least, static_cast<std::int64_t>(value));
    one.signed_greatest = std::max(one.signed_greatest, static_cast<std::int64_t>(value));
    if (!one_in(random, 500)) continue;
    look();
    ASSERT_EQ(read, expected);
  }
  look();
  EXPECT_EQ(read, expected);
  EXPECT_EQ(counts().aggregated, 20000u);
}

// More keys than a table has room for: those that find none are records.
class FullHitTableTest : public HitTableTest, public testing::WithParamInterface<std::size_t> {};

TEST_P(FullHitTableTest, KeysThatFindNoRoomAreRecorded) {
  make(GetParam());
  std::map<Key, Sum> read;
  std::uint64_t recorded = 0;
  constexpr std::uint64_t kKeys = 40000;
  for (std::uint64_t i = 0; i < 2 * kKeys; ++i) {
    hit(i % kKeys, i % kKeys % 7, 1);
    if (i % 1000 == 0) recorded += drain_all(*session_).size();
  }
  recorded += drain_all(*session_).size();
  read_into(read);
  std::uint64_t counted = 0;
  for (const auto& [key, sum] : read) {
    EXPECT_EQ(sum.hits, 2u);  // all hits of a key, or none
    EXPECT_EQ(sum.bytes, sum.hits);
    counted += sum.hits;
  }
  const kevt_counts all = counts();
  EXPECT_EQ(all.hits, 2 * kKeys);
  EXPECT_EQ(all.aggregated, counted);
  EXPECT_EQ(all.recorded, recorded);
  EXPECT_EQ(counted + recorded, 2 * kKeys);
  EXPECT_GT(read.size(), 7000u);  // of 8192 slots
  EXPECT_TRUE(adds_up(all));
}
INSTANTIATE_TEST_SUITE_P(Keys, FullHitTableTest, testing::Values(1, 2));

// A table is memory of the traced program: whatever stands there, a look-up ends, and the reader does.
TEST_F(HitTableTest, GarbageEndsASearch) {
  make(1);
  hit(1, 0, 0);
  inproc::HitTables& tables = session_->hit_tables();
  const std::uint32_t table = session_->hit_table(0);
  for (const std::uint64_t page : tables.pages(table))
    std::memset(tables.local(table) + page / sizeof(std::uint64_t), 0xa5, kPage);
  for (std::uint64_t key = 0; key < 3000; ++key) hit(key, 0, 1);
  std::map<Key, Sum> read;
  read_into(read);
  EXPECT_EQ(counts().hits, 3001u);
  EXPECT_TRUE(adds_up(counts()));
  EXPECT_EQ(counts().aggregated + drain_all(*session_).size(), 3001u);
}

}  // namespace
}  // namespace kevt::test

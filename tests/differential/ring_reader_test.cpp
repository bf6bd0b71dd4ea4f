// The rings are memory of a process that may write anything into them: the reader must end, stay inside the ring and
// hand out nothing that is not in it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/differential/test_seed.h"
#include "tests/support/local_session.h"
#include "tests/support/random_pick.h"

namespace kevt::test {
namespace {

constexpr std::uint64_t kRingBytes = 65536;

class HostileRing : public testing::Test {
 protected:
  void SetUp() override {
    auto memory = inproc::SessionMemory::create({.ring_bytes = kRingBytes, .rows = 4});
    ASSERT_TRUE(memory) << memory.error().message();
    memory_.emplace(std::move(*memory));
    reader_.emplace(*memory_);
  }
  kevt_ring& head() { return memory_->ring(0); }
  std::uint8_t* data() { return reinterpret_cast<std::uint8_t*>(&head()) + KEVT_RING_HEADER; }

  void fill(Random& random);
  void write_chain(Random& random);
  void drain_and_check();

  std::optional<inproc::SessionMemory> memory_;
  std::optional<inproc::RingReader> reader_;
  std::uint64_t tail_ = 0;  // of CPU 0, where the reader stands, whatever the ring says
};

// Records of every size whose words carry the right tags, so that the reader goes on for a while; some lie.
void HostileRing::write_chain(Random& random) {
  const std::uint64_t start = tail_;
  for (std::uint64_t at = 0; at + sizeof(kevt_record) < kRingBytes;) {
    const std::uint64_t payload = below(random, one_in(random, 20) ? 8192 : 300);
    std::uint64_t units = (sizeof(kevt_record) + payload + KEVT_RECORD_SLACK + 7) / 8;
    if (one_in(random, 100)) units = below(random, 32768);
    std::uint64_t word = payload | KEVT_RECORD_TAG(start + at);
    if (one_in(random, 20)) word |= KEVT_RECORD_DISCARDED;
    std::memcpy(data() + ((start + at) & (kRingBytes - 1)), &word, sizeof word);
    at += 8 * std::max<std::uint64_t>(units, 1);
  }
}

std::uint64_t random_position(Random& random) {
  switch (below(random, 4)) {
    case 0:
      return 0 - below(random, 4096);
    case 1:
      return random();
    case 2:
      return below(random, 4 * kRingBytes);
    default:
      return 8 * below(random, kRingBytes);
  }
}

void HostileRing::fill(Random& random) {
  if (one_in(random, 2))
    for (std::uint64_t at = 0; at < kRingBytes; at += 8) {
      const std::uint64_t word = one_in(random, 3) ? 0 : random();
      std::memcpy(data() + at, &word, sizeof word);
    }
  head().tail = random_position(random);
  head().head = one_in(random, 8) ? random_position(random) : tail_ + below(random, kRingBytes + 1);
  if (!one_in(random, 4)) write_chain(random);
}

void HostileRing::drain_and_check() {
  std::size_t records = 0, bytes = 0;
  const auto check = [&](const inproc::RawRecord& record) {
    ++records;
    bytes += record.bytes.size() + sizeof(kevt_record);
    ASSERT_LT(record.bytes.size(), 8192u);
  };
  const std::uint64_t end = head().head & ~7ull;
  reader_->drain(check);
  reader_->drain_abandoned(check);
  if (end - tail_ <= kRingBytes) tail_ = end;
  EXPECT_FALSE(reader_->has_records());
  EXPECT_LE(records, kRingBytes / sizeof(kevt_record));
  EXPECT_LE(bytes, kRingBytes);
}

TEST_F(HostileRing, IsReadToAnEndAndNotBeyond) {
  Random random(test_seed());
  for (int i = 0; i < 3000 && !HasFailure(); ++i) {
    fill(random);
    drain_and_check();
  }
}

}  // namespace
}  // namespace kevt::test

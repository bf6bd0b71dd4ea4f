// A record is there when its word holds the tag of its own position. Once it has been copied its bytes are zeroed: a
// word of 0 means "not committed yet", whatever stood there a lap ago. Positions never wrap (64 bits of bytes).
#include "runtime-user/runtime/inproc/memory/ring_reader.h"

#include <cstring>

namespace kevt::inproc {

namespace {

// Bytes that a record at `position` takes; 0: there is none, or it reaches behind `head`.
std::uint64_t record_room(std::uint64_t word, std::uint64_t position, std::uint64_t head) {
  if (word == 0 || !KEVT_RECORD_IS_AT(word, position)) return 0;
  const std::uint64_t length = KEVT_RECORD_PAYLOAD(word), room = KEVT_RECORD_ROOM(length);
  return room <= head - position ? room : 0;
}

}  // namespace

// A head that lies behind, or further ahead than the ring is long, is nonsense: nothing of it can be trusted.
std::uint64_t RingReader::head_of(std::uint32_t cpu) const {
  const std::uint64_t head = load_acquire(memory_.ring(cpu).head) & ~7ull;
  return head - tails_[cpu] <= memory_.ring_bytes() ? head : tails_[cpu];
}

kevt_record& RingReader::record_at(std::uint32_t cpu, std::uint64_t position) const {
  auto* data = reinterpret_cast<std::uint8_t*>(&memory_.ring(cpu)) + KEVT_RING_HEADER;
  return *reinterpret_cast<kevt_record*>(data + (position & (memory_.ring_bytes() - 1)));
}

bool RingReader::has_records() const {
  for (std::uint32_t cpu = 0; cpu < tails_.size(); ++cpu)
    if (head_of(cpu) != tails_[cpu]) return true;
  return false;
}

void RingReader::give_back(std::uint32_t cpu, std::uint64_t position) {
  tails_[cpu] = position;
  kevt_ring& ring = memory_.ring(cpu);
  __atomic_store_n(&ring.tail, position, __ATOMIC_RELEASE);
  __atomic_store_n(&ring.limit, position + memory_.ring_bytes(), __ATOMIC_RELEASE);
}

std::size_t RingReader::drain_to(std::uint32_t cpu, std::uint64_t head, const Use& use) {
  std::size_t count = 0;
  while (tails_[cpu] != head) {
    kevt_record& record = record_at(cpu, tails_[cpu]);
    const std::uint64_t word = load_acquire(record.word);
    const std::uint64_t room = record_room(word, tails_[cpu], head);
    if (room == 0) break;
    if (!(word & KEVT_RECORD_DISCARDED)) {
      const auto* payload = reinterpret_cast<const std::uint8_t*>(&record + 1);
      copy_.assign(payload, payload + KEVT_RECORD_PAYLOAD(word));
      use({load_acquire(record.tsc), cpu, copy_});
      ++count;
    }
    std::memset(static_cast<void*>(&record), 0, room);
    give_back(cpu, tails_[cpu] + room);
  }
  return count;
}

std::size_t RingReader::drain(const Use& use) {
  std::size_t count = 0;
  for (std::uint32_t cpu = 0; cpu < tails_.size(); ++cpu) count += drain_to(cpu, head_of(cpu), use);
  return count;
}

// First position behind `from` where a committed record starts; `head`: there is none.
std::uint64_t RingReader::find_resume(std::uint32_t cpu, std::uint64_t from, std::uint64_t head) const {
  for (std::uint64_t at = from + 8; at < head; at += 8)
    if (record_room(load_acquire(record_at(cpu, at).word), at, head) > sizeof(kevt_record)) return at;
  return head;
}

std::size_t RingReader::drain_abandoned(const Use& use) {
  std::size_t skipped = 0;
  for (std::uint32_t cpu = 0; cpu < tails_.size(); ++cpu) {
    const std::uint64_t head = head_of(cpu);
    for (;;) {
      drain_to(cpu, head, use);
      if (tails_[cpu] == head) break;
      const std::uint64_t resume = find_resume(cpu, tails_[cpu], head);
      give_back(cpu, resume);
      ++skipped;
    }
  }
  return skipped;
}

}  // namespace kevt::inproc

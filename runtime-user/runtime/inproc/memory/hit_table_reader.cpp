// Numbers in a table only grow, so the difference to the last time is what has come: exact without a lock, whatever the
// thread does meanwhile. A sum is written before its count; what is seen of it too early belongs to a count that is
// seen the next time.
#include "runtime-user/runtime/inproc/memory/hit_table_reader.h"

#include <vector>

#include "common/assert.h"

namespace kevt::inproc {

void HitTableReader::take(std::uint32_t index, const model::HitTable& table, const runtime::HitCountSink& sink) {
  const std::uint32_t words = table.key_words + 1 + table.sum_words;
  KEVT_ASSERT(words <= KEVT_HIT_SLOT_WORDS);
  const std::size_t slot_words = kevt_hit_slot_bytes(words) / sizeof(std::uint64_t);
  std::vector<std::uint64_t> key(table.key_words), sums(table.sum_words);
  for (const std::uint64_t page : memory_.hit_table_pages(index)) {
    const std::uint64_t* const now = memory_.words_at(page);
    Page& before = taken_[page];
    for (std::size_t slot = 0; slot < before.size(); slot += slot_words) {
      const std::size_t at = slot + table.key_words;
      const std::uint64_t count = load_acquire(now[at]);
      if (count == before[at]) continue;
      for (std::size_t i = 0; i < key.size(); ++i) key[i] = load_acquire(now[slot + i]);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const std::uint64_t sum = load_acquire(now[at + 1 + i]);
        sums[i] = sum - std::exchange(before[at + 1 + i], sum);
      }
      sink({.trigger = table.trigger, .key = key, .hits = count - std::exchange(before[at], count), .sums = sums});
    }
  }
}

}  // namespace kevt::inproc

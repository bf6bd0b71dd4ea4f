// Numbers in a table only grow, so the difference between two readings is exactly what was counted in between, without
// a lock. A hit adds to the sums before the count: a part of a sum that is told too early belongs to a count that the
// next reading tells.
#include "runtime-user/runtime/hit_table_reader.h"

#include <atomic>
#include <utility>
#include <vector>

#include "common/abi/hit_table.h"
#include "common/assert.h"

namespace kevt::runtime {

namespace {

std::uint64_t now_in(const std::uint64_t& word) {
  return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_acquire);
}

}  // namespace

void HitTableReader::read_page(const std::uint64_t* table, std::uint64_t page, const model::HitTable& shape,
                               const HitCountSink& sink) {
  static constexpr Page kNothing = {};
  KEVT_ASSERT(shape.key_words + 1 + shape.sum_words <= KEVT_HIT_SLOT_WORDS);
  const std::size_t slot_words = kevt_hit_slot_bytes(shape.key_words + 1 + shape.sum_words) / sizeof(std::uint64_t);
  const std::uint64_t* const now = table + page / sizeof(std::uint64_t);
  const auto known = read_.find(page);
  Page* before = known == read_.end() ? nullptr : &known->second;
  std::vector<std::uint64_t> key(shape.key_words), sums(shape.sum_words);
  for (std::size_t slot = 0; slot < kNothing.size(); slot += slot_words) {
    const std::size_t at = slot + shape.key_words;
    const std::uint64_t count = KEVT_HIT_COUNT(now_in(now[at]));
    if (count == (before ? *before : kNothing)[at]) continue;
    if (!before) before = &read_[page];
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = now_in(now[slot + i]);
    std::uint64_t raised = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const std::uint64_t sum = now_in(now[at + 1 + i]);
      const std::uint64_t had = std::exchange((*before)[at + 1 + i], sum);
      const bool is_greatest = shape.greatest >> i & 1;
      sums[i] = is_greatest ? sum : sum - had;
      if (is_greatest && sum != had) raised |= std::uint64_t{1} << i;
    }
    const std::uint64_t hits = count - std::exchange((*before)[at], count);
    sink({.trigger = shape.trigger, .key = key, .hits = hits, .sums = sums, .raised = raised});
  }
}

}  // namespace kevt::runtime

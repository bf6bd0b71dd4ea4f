// Numbers in a table only grow, so the difference to the last time is what has come: exact without a lock, whatever the
// thread does meanwhile. A sum is written before its count; what is seen of it too early belongs to a count that is
// seen the next time.
#include "runtime-user/runtime/inproc/memory/hit_tables.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/assert.h"

namespace kevt::inproc {

HitTables::~HitTables() {
  for (const Table& table : tables_) munmap(table.local, bytes());
}

Result<std::uint32_t> HitTables::take() {
  if (is_closed_) return std::unexpected(Error("the target has no room for what hits count", ENOSPC));
  if (!free_.empty()) {
    const std::uint32_t table = free_.back();
    free_.pop_back();
    return table;
  }
  if (tables_.size() == KEVT_HIT_TABLES)
    return std::unexpected(Error("hits of this session have counted as many histograms as it has tables for", ENOSPC));
  if (!file_.inode()) {
    auto made = SharedFile::create("kevtrace-hits", KEVT_HIT_TABLES * bytes(), Contents::Data);
    if (!made) return std::unexpected(std::move(made.error()));
    if (auto sealed = made->seal(); !sealed) return std::unexpected(std::move(sealed.error()));
    file_ = std::move(*made);
  }
  const auto index = static_cast<std::uint32_t>(tables_.size());
  void* mapped =
      mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file_.fd(), static_cast<off_t>(file_offset(index)));
  if (mapped == MAP_FAILED) return std::unexpected(Error::from_errno("address space for what hits count"));
  tables_.push_back({.local = static_cast<std::uint64_t*>(mapped), .target = {}, .read = {}});
  return index;
}

std::vector<std::uint64_t> HitTables::pages(std::uint32_t table) const {
  const std::uint64_t begin = file_offset(table);
  const std::uint64_t end = begin + memory_.used_shards() * KEVT_HIT_TABLE_BYTES;
  std::vector<std::uint64_t> pages = file_.pages_between(begin, end);
  for (std::uint64_t& page : pages) page -= begin;
  return pages;
}

void HitTables::read_page(Table& table, std::uint64_t page, const model::HitTable& shape,
                          const runtime::HitCountSink& sink) {
  static constexpr Page kNothing = {};
  const std::size_t slot_words = kevt_hit_slot_bytes(shape.key_words + 1 + shape.sum_words) / sizeof(std::uint64_t);
  const std::uint64_t* const now = table.local + page / sizeof(std::uint64_t);
  const auto known = table.read.find(page);
  Page* before = known == table.read.end() ? nullptr : &known->second;
  std::vector<std::uint64_t> key(shape.key_words), sums(shape.sum_words);
  for (std::size_t slot = 0; slot < kNothing.size(); slot += slot_words) {
    const std::size_t at = slot + shape.key_words;
    const std::uint64_t count = load_acquire(now[at]);
    if (count == (before ? *before : kNothing)[at]) continue;
    if (!before) before = &table.read[page];
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = load_acquire(now[slot + i]);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const std::uint64_t sum = load_acquire(now[at + 1 + i]);
      sums[i] = sum - std::exchange((*before)[at + 1 + i], sum);
    }
    const std::uint64_t hits = count - std::exchange((*before)[at], count);
    sink({.trigger = shape.trigger, .key = key, .hits = hits, .sums = sums});
  }
}

void HitTables::read(std::uint32_t table, const model::HitTable& shape, const runtime::HitCountSink& sink) {
  KEVT_ASSERT(shape.key_words + 1 + shape.sum_words <= KEVT_HIT_SLOT_WORDS);
  for (const std::uint64_t page : pages(table)) read_page(tables_[table], page, shape, sink);
}

}  // namespace kevt::inproc

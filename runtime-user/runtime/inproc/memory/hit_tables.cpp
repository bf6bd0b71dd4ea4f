#include "runtime-user/runtime/inproc/memory/hit_tables.h"

#include <sys/mman.h>
#include <unistd.h>

#include "common/error.h"

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
    auto made = KEVT_TRY(SharedFile::create("kevtrace-hits", KEVT_HIT_TABLES * bytes(), Contents::Data));
    KEVT_TRY(made.seal());
    file_ = std::move(made);
  }
  const auto index = static_cast<std::uint32_t>(tables_.size());
  void* mapped =
      mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file_.fd(), static_cast<off_t>(file_offset(index)));
  if (mapped == MAP_FAILED) return std::unexpected(Error::from_errno("address space for what hits count"));
  tables_.push_back({.local = static_cast<std::uint64_t*>(mapped), .target = {}, .reader = {}});
  return index;
}

void HitTables::give_back(std::uint32_t table) {
  file_.clear(file_offset(table), bytes());
  tables_[table].reader = {};
  free_.push_back(table);
}

std::vector<std::uint64_t> HitTables::pages(std::uint32_t table) const {
  const std::uint64_t begin = file_offset(table);
  const std::uint64_t end = begin + memory_.used_shards() * KEVT_HIT_TABLE_BYTES;
  std::vector<std::uint64_t> pages = file_.pages_between(begin, end);
  for (std::uint64_t& page : pages) page -= begin;
  return pages;
}

void HitTables::read(std::uint32_t table, const model::HitTable& shape, const runtime::HitCountSink& sink) {
  for (const std::uint64_t page : pages(table))
    tables_[table].reader.read_page(tables_[table].local, page, shape, sink);
}

}  // namespace kevt::inproc

// HitTables: the hit tables of a session (common/abi/hit_table.h), and what was counted in them. They lie in a file of
// their own, which is made when an event first needs a table. Each table has a part for every counter shard; a page of
// it exists once something was counted there. Hostile processes write this memory: its words are taken as keys and
// numbers only.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/model/compiled_event.h"
#include "runtime-user/runtime/hit_table_reader.h"
#include "runtime-user/runtime/inproc/memory/session_memory.h"
#include "runtime-user/runtime/inproc/memory/shared_file.h"

namespace kevt::inproc {

class HitTables {
 public:
  // `memory` must outlive the tables.
  explicit HitTables(const SessionMemory& memory) : memory_(memory) {}
  HitTables(const HitTables&) = delete;
  ~HitTables();

  // How many tables can still be taken.
  std::size_t free() const { return is_closed_ ? 0 : free_.size() + (KEVT_HIT_TABLES - tables_.size()); }
  // The number of an empty table. ENOSPC: none is left; ENOMEM: this process has no address space for one.
  Result<std::uint32_t> take();
  // Frees a table in which no hit counts any more; what it holds is forgotten.
  void give_back(std::uint32_t table);
  // From now on none can be taken: the target has no room for them.
  void close() { is_closed_ = true; }
  bool is_closed() const { return is_closed_; }

  // What a target must map for a table: bytes() of the file, from file_offset() on.
  const SharedFile& file() const { return file_; }
  std::uint64_t bytes() const { return memory_.max_shards() * KEVT_HIT_TABLE_BYTES; }
  std::uint64_t file_offset(std::uint32_t table) const { return table * bytes(); }
  // The table's address in the target; 0 before note_mapped().
  RemoteAddr target(std::uint32_t table) const { return tables_[table].target; }
  void note_mapped(std::uint32_t table, RemoteAddr target) { tables_[table].target = target; }

  // Tells `sink` what the keys of a table have grown by, in all threads, since the last call.
  void read(std::uint32_t table, const model::HitTable& shape, const runtime::HitCountSink& sink);
  // A table's memory in this process; and the offsets in it of the pages that exist.
  std::uint64_t* local(std::uint32_t table) const { return tables_[table].local; }
  std::vector<std::uint64_t> pages(std::uint32_t table) const;

 private:
  struct Table {
    std::uint64_t* local = nullptr;
    RemoteAddr target;
    runtime::HitTableReader reader;
  };

  const SessionMemory& memory_;
  SharedFile file_;
  std::vector<Table> tables_;
  std::vector<std::uint32_t> free_;  // that were given back
  bool is_closed_ = false;
};

}  // namespace kevt::inproc

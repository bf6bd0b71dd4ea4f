// HitTableReader: what hits have counted in hit tables (common/abi/hit_table.h). The tables are memory of hostile
// processes: whatever stands there is a key and numbers, and is bounded.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include "common/page.h"
#include "compiler/model/compiled_event.h"
#include "runtime-user/runtime/inproc/memory/session_memory.h"
#include "runtime-user/runtime/probe_runtime.h"

namespace kevt::inproc {

class HitTableReader {
 public:
  // `memory` must outlive the reader.
  explicit HitTableReader(const SessionMemory& memory) : memory_(memory) {}

  // What the keys of table `index` of the session have grown by, in all threads, since the last call.
  void take(std::uint32_t index, const model::HitTable& table, const runtime::HitCountSink& sink);

 private:
  using Page = std::array<std::uint64_t, kPage / sizeof(std::uint64_t)>;

  const SessionMemory& memory_;
  std::unordered_map<std::uint64_t, Page> taken_;  // by where the page lies: its numbers as they were last time
};

}  // namespace kevt::inproc

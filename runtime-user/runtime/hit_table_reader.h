// HitTableReader: what the slots of one hit table (common/abi/hit_table.h) have grown by since they were read last.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include "common/page.h"
#include "compiler/model/compiled_event.h"
#include "runtime-user/runtime/probe_runtime.h"

namespace kevt::runtime {

class HitTableReader {
 public:
  // Tells `sink` what the slots of one page have grown by since it was last read. `table` is where the table begins,
  // `page` an offset in bytes. Each hit is told exactly once, also while hits go on counting. The memory may hold
  // anything: its words are taken as keys and numbers only.
  void read_page(const std::uint64_t* table, std::uint64_t page, const model::HitTable& shape,
                 const HitCountSink& sink);

 private:
  using Page = std::array<std::uint64_t, kPage / sizeof(std::uint64_t)>;
  std::unordered_map<std::uint64_t, Page> read_;  // by page offset: its numbers at the last reading; none: all 0
};

}  // namespace kevt::runtime

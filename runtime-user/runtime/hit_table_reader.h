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
  // Of the page at offset `page` of the table that begins at `table`: each count is handed out once, whatever its
  // writers do meanwhile. Whatever stands there is taken for keys and numbers.
  void read_page(const std::uint64_t* table, std::uint64_t page, const model::HitTable& shape,
                 const HitCountSink& sink);

 private:
  using Page = std::array<std::uint64_t, kPage / sizeof(std::uint64_t)>;
  std::unordered_map<std::uint64_t, Page> read_;  // by offset: its numbers as they were last time; none: 0
};

}  // namespace kevt::runtime

// HistSnapshot: what one histogram had counted at one moment, to be printed or exported.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/model/trigger.h"
#include "runtime-user/engine/histograms/hist_cells.h"

namespace kevt::engine {

struct HistSnapshot {
  struct Row {
    std::vector<HistCell> keys;  // by Histogram::keys
    std::uint64_t hits = 0;
    std::vector<std::uint64_t> values;  // as HistEntry::sums
    std::uint64_t error = 0;            // as HistEntry::error

    std::uint64_t own_hits() const { return hits - error; }
  };
  std::string event;  // "GROUP:NAME"; in an instance "INSTANCE/GROUP:NAME"
  model::Trigger trigger;
  std::vector<Row> rows;  // sorted by the histogram's `sort`
  std::uint64_t hits = 0, dropped = 0;
  std::optional<std::uint64_t> others_at_most = {};  // HistTable::others_at_most()
};

// `event`: as above; `envs` as of hist_cells().
HistSnapshot hist_snapshot(std::string event, const model::Trigger& trigger, const HistTable& table,
                           std::span<const target::TargetEnv* const> envs);

}  // namespace kevt::engine

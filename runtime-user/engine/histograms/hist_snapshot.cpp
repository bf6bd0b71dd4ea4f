#include "runtime-user/engine/histograms/hist_snapshot.h"

#include <utility>

namespace kevt::engine {

HistSnapshot hist_snapshot(std::string event, const model::Trigger& trigger, const HistTable& table,
                           std::span<const target::TargetEnv* const> envs) {
  HistSnapshot snapshot{.event = std::move(event),
                        .trigger = trigger,
                        .rows = {},
                        .hits = table.hits(),
                        .dropped = table.dropped(),
                        .others_at_most = table.others_at_most()};
  for (const HistEntry* entry : table.sorted(trigger.histogram))
    snapshot.rows.push_back({.keys = hist_cells(trigger.histogram, *entry, envs),
                             .hits = entry->hits,
                             .values = entry->sums,
                             .error = entry->error});
  return snapshot;
}

}  // namespace kevt::engine

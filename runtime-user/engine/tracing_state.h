// TracingState: the tables that the parts of one Tracing share: the events, their code, the instances.
//
// Who changes what: DefinitionFiles and BatchDefiner change the events; EventSwitcher the code; FilterFiles and
// TriggerFiles an instance's filters and triggers; RecordRouter an instance's buffers and counts.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime-user/engine/code/event_code.h"
#include "runtime-user/engine/events/event_table.h"
#include "runtime-user/engine/instances/instance_table.h"
#include "runtime-user/engine/instances/shared_cell.h"
#include "runtime-user/engine/records/reader_probes.h"
#include "runtime-user/engine/traced_target.h"
#include "runtime-user/engine/tracing_options.h"

namespace kevt::engine {

struct TracingState {
  TracingState(std::vector<TracedTarget*> targets, TracingOptions tracing_options);

  TracingOptions options;
  EventTable events;
  EventCode code;
  ReaderProbes reader_probes{events};
  SharedCellPool cells;  // in the only target's memory; with several targets the pool is empty
  InstanceTable instances;
  // kevtrace's own threads: their hits in the kernel are filtered and fire no trigger.
  std::vector<std::int32_t> hidden_threads;
  void hide_own_threads();
  // The newest copies of this process, too; the code of hits does not know them.
  std::array<std::int32_t, 16> hidden_copies{};  // 0: none; thread 0, which is idle, is never hidden
  std::size_t next_copy = 0;
  void hide_copy(std::int32_t pid);
  bool is_hidden(std::int32_t tid) const;

  bool has_several_targets() const { return options.follows || code.installed().targets().size() > 1; }
  // Whether the kernel is traced beside programs.
  bool has_both_sides() const;
  // Whether a definition is about another side than the event's probes. Synthetic events are of both.
  bool is_of_other_side(const TracedEvent& event, std::string_view definition) const;
  // The environments in which a definition is looked up: that of the first living target that takes it, or where
  // programs are followed those of all such targets. Never empty.
  std::vector<const target::TargetEnv*> envs(std::string_view definition);
};

}  // namespace kevt::engine

// ReaderProbes: eprobes on synthetic events. The reader makes their records from those of the events they stand on:
//
//   s:wait pid_t pid; u64 lat
//   e:slow synthetic.wait who=$pid:u32 lat=$lat:u64 if lat > 5000000
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/error.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/program.h"
#include "compiler/target/target_env.h"
#include "runtime-user/engine/events/event_table.h"
#include "runtime-user/runtime/probe_runtime.h"

namespace kevt::engine {

class ReaderProbes {
 public:
  // The table outlives this object.
  explicit ReaderProbes(const EventTable& events) : events_(events) {}

  // Makes the program of such an eprobe. EOPNOTSUPP: it reads what the reader does not have.
  Result<void> prepare(const TracedEvent& event, const target::TargetEnv& env);
  // To be called when the event is removed.
  void forget(std::uint32_t event) { programs_.erase(event); }

  struct Made {
    const TracedEvent* event = nullptr;
    ir::Outcome outcome = ir::Outcome::Filtered;  // by the eprobe's `if`
    std::vector<std::uint8_t> bytes;              // only if Recorded
  };
  // What the prepared eprobes on `of` make of one record of it, in the order of their ids.
  std::vector<Made> run(const TracedEvent& of, const runtime::Record& record) const;

 private:
  struct Prepared {
    std::uint64_t serial = 0;
    std::uint32_t stands_on = 0;
    ir::Program program;
  };
  const EventTable& events_;
  std::map<std::uint32_t, Prepared> programs_;  // by the eprobe's id
};

}  // namespace kevt::engine

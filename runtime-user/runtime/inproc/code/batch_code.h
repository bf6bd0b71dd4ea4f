// BatchCode: where the code of one batch of events is put in the target.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "common/error.h"
#include "compiler/model/compiled_event.h"
#include "runtime-user/runtime/inproc/code/probe_points.h"
#include "runtime-user/runtime/inproc/process/placement.h"

namespace kevt::inproc {

class BatchCode {
 public:
  BatchCode(const model::CompiledBatch& batch, Placement& placement, CodeArena& arena)
      : batch_(batch), placement_(placement), arena_(arena) {}

  // Where the event's image starts, near `object`, which it probes. No other event has its place in that copy.
  Result<RemoteAddr> image_for(const model::CompiledEvent& event, const ProbedObject& object);

 private:
  struct Copy {
    RemoteAddr at;
    std::set<std::uint32_t> taken;  // offsets of event blocks
  };
  Result<RemoteAddr> place(const model::NativeImage& image, const ProbedObject& object);

  const model::CompiledBatch& batch_;
  Placement& placement_;
  CodeArena& arena_;
  std::map<std::pair<std::uint32_t, const ProbedObject*>, Copy> copies_;  // the latest
};

}  // namespace kevt::inproc

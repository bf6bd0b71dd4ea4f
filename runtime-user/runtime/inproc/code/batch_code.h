// BatchCode: where the code of one batch of events is put in the target.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "common/error.h"
#include "compiler/model/compiled_event.h"
#include "runtime-user/runtime/inproc/code/probe_points.h"
#include "runtime-user/runtime/inproc/process/placement.h"

namespace kevt::inproc {

class BatchCode {
 public:
  BatchCode(const model::CompiledBatch& batch, Placement& placement, CodeArena& arena)
      : batch_(batch), placement_(placement), arena_(arena) {}

  // The copy of the event's image near `object`, the file that the event probes. No other event uses this event's block
  // in that copy.
  Result<std::shared_ptr<const PlacedCode>> image_for(const model::CompiledEvent& event, const ProbedObject& object);
  // Frees all code of a batch that failed; none of it has run.
  void give_back();

 private:
  struct Copy {
    std::shared_ptr<const PlacedCode> code;
    std::set<std::uint32_t> taken;  // offsets of event blocks
  };
  Result<std::shared_ptr<const PlacedCode>> place(const model::NativeImage& image, const ProbedObject& object);

  const model::CompiledBatch& batch_;
  Placement& placement_;
  CodeArena& arena_;
  std::map<std::pair<std::uint32_t, const ProbedObject*>, Copy> copies_;  // the copy made last
  std::vector<std::shared_ptr<const PlacedCode>> placed_;
};

}  // namespace kevt::inproc

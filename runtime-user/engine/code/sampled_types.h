// SampledTypes: the extra record types (common_type) of events whose records carry a stack sample.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "compiler/model/definition.h"
#include "runtime-user/engine/records/stack_samples.h"

namespace kevt::engine {

struct SampledType {
  std::uint32_t event = 0;
  StackSamples samples;
};

class SampledTypes {
 public:
  // The type for the event's records with a stack sample; the same as long as the event lives. nullopt: no type is
  // free.
  std::optional<std::uint32_t> type_of(std::uint32_t event, const model::RecordLayout& layout);
  // nullptr: the type is an event's own id, or unused.
  const SampledType* find(std::uint32_t type) const;
  void forget(std::uint32_t event);

 private:
  std::unordered_map<std::uint32_t, SampledType> types_;
  std::unordered_map<std::uint32_t, std::uint32_t> type_of_;  // by event
  std::uint32_t next_ = 0;
};

}  // namespace kevt::engine

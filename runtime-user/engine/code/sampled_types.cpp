#include "runtime-user/engine/code/sampled_types.h"

#include <utility>

#include "common/assert.h"

namespace kevt::engine {

namespace {

// Types below those of dynamic events. The kernel's static events have such types, too, but processes have no static
// events.
constexpr std::uint32_t kFirstSampledType = 64, kSampledTypes = 16384;

}  // namespace

// Types are given out in turn, so that one is reused as late as possible: records of its former event may still be
// pending.
std::optional<std::uint32_t> SampledTypes::type_of(std::uint32_t event, const model::RecordLayout& layout) {
  if (const auto known = type_of_.find(event); known != type_of_.end()) return known->second;
  auto samples = StackSamples::of(layout);
  KEVT_ASSERT(samples.has_value());
  for (std::uint32_t tries = 0; tries < kSampledTypes; ++tries) {
    const std::uint32_t type = kFirstSampledType + next_++ % kSampledTypes;
    if (types_.contains(type)) continue;
    types_.emplace(type, SampledType{event, *std::move(samples)});
    type_of_[event] = type;
    return type;
  }
  return std::nullopt;
}

const SampledType* SampledTypes::find(std::uint32_t type) const {
  const auto it = types_.find(type);
  return it == types_.end() ? nullptr : &it->second;
}

void SampledTypes::forget(std::uint32_t event) {
  const auto type = type_of_.find(event);
  if (type == type_of_.end()) return;
  types_.erase(type->second);
  type_of_.erase(type);
}

}  // namespace kevt::engine

// Reads the table at the head of the agent's blob (common/abi/agent_image.h).
#include "runtime-user/runtime/inproc/code/agent_image.h"

#include <cstring>

#include "common/assert.h"

extern "C" const std::uint8_t kevt_agent_blob[];
extern "C" const std::uint8_t kevt_agent_blob_end[];

namespace kevt::inproc {

std::span<const std::uint8_t> agent_blob() { return {kevt_agent_blob, kevt_agent_blob_end}; }

const kevt_agent_table& agent_table() {
  static const kevt_agent_table table = [] {
    kevt_agent_table copy;
    std::memcpy(&copy, kevt_agent_blob, sizeof copy);
    KEVT_ASSERT(copy.magic == KEVT_AGENT_MAGIC && copy.size <= agent_blob().size());
    return copy;
  }();
  return table;
}

kevt_services agent_services(RemoteAddr base) {
  const kevt_agent_table& t = agent_table();
  return {.thread = base.value + t.thread,
          .guarded = base.value + t.guarded,
          .enter = base.value + t.enter,
          .leave = base.value + t.leave,
          .reserve = base.value + t.reserve,
          .text_length = base.value + t.text_length,
          .text_copy = base.value + t.text_copy,
          .text_fetch = base.value + t.text_fetch,
          .comm = base.value + t.comm,
          .match = base.value + t.match,
          .inject = base.value + t.inject,
          .time = base.value + t.time,
          .stack = base.value + t.stack,
          .stack_sample = base.value + t.stack_sample};
}

std::vector<std::uint8_t> agent_image_for(RemoteAddr tables) {
  std::vector<std::uint8_t> image(agent_blob().begin(), agent_blob().end());
  std::memcpy(image.data() + agent_table().tables_address, &tables.value, sizeof tables.value);
  return image;
}

std::vector<AgentFault> agent_faults() {
  std::vector<AgentFault> faults;
  for (std::uint32_t at = agent_table().faults_begin; at + 8 <= agent_table().faults_end; at += 8) {
    std::int32_t distances[2];
    std::memcpy(distances, kevt_agent_blob + at, sizeof distances);
    faults.push_back({static_cast<std::uint32_t>(std::int64_t{at} + distances[0]),
                      static_cast<std::uint32_t>(std::int64_t{at} + 4 + distances[1])});
  }
  return faults;
}

}  // namespace kevt::inproc

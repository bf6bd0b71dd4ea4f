// The agent's image, as built into this program, and where its parts lie once it is placed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/abi/agent_image.h"
#include "common/abi/probe.h"
#include "common/addresses.h"

namespace kevt::inproc {

std::span<const std::uint8_t> agent_blob();
const kevt_agent_table& agent_table();

// The services' addresses when the image stands at `base` of the target.
kevt_services agent_services(RemoteAddr base);

// The image with the address of kevt_tables filled in.
std::vector<std::uint8_t> agent_image_for(RemoteAddr tables);

// Loads of the agent that may fault, and where each goes on; offsets from the image's start.
struct AgentFault {
  std::uint32_t fault = 0;
  std::uint32_t fixup = 0;
};
std::vector<AgentFault> agent_faults();

}  // namespace kevt::inproc

// The call frame information of a file as rules by which hits walk their stacks (common/abi/hit_stack.h).
#pragma once

#include <elfutils/libdwfl.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/abi/hit_stack.h"

namespace kevt::target {

// The rule from `offset` bytes behind the module's start to the next row's offset. KEVT_STACK_NO_RULE where no rule
// says it: there is no call frame information, or the caller's frame is found by other registers or longer expressions.
struct FrameRow {
  std::uint64_t offset = 0;
  std::uint64_t rule = KEVT_STACK_NO_RULE;
};
using FrameRows = std::vector<FrameRow>;

// The rows of a module, sorted. Empty: it has no table of its frames (.eh_frame_hdr), nonsense in it, or more than
// `most` rows. After `cpu_ns` of CPU time the rest is left out.
FrameRows frame_rows(Dwfl_Module* module, std::size_t most, std::int64_t cpu_ns);

// Appends the rules of a module at [start, end), which lies behind all others. If `rules` would become more than
// `most`, no rule says anything of the module.
void append_rules(const FrameRows& rows, std::uint64_t start, std::uint64_t end, std::size_t most,
                  std::vector<kevt_stack_rule>& rules);

}  // namespace kevt::target

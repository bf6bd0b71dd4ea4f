// --inject: hits that make their function return a value without running.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "runtime-user/engine/events/draft.h"

namespace kevt::cli {

// "ret=VALUE [probability=P%] [count=N] [seed=N]". VALUE: decimal or 0x, as the register rax gets it; P: percent of the
// hits that the filter accepts, 100 unless given; N: of injections at most, per program. A seed that is not given is
// drawn.
Result<model::Injection> read_injection(std::string_view text);

// Reads each "EVENT: ret=VALUE …".
Result<std::vector<engine::EventInjection>> collect_injections(const std::vector<std::string>& words);

// "EVENT returns VALUE, …", to be shown before the program runs: with the seed the run can be repeated.
std::string injection_text(const engine::EventInjection& injection);

}  // namespace kevt::cli

// --inject: hits that make their function return a value without running.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "runtime-user/engine/events/draft.h"

namespace kevt::cli {

// "ret=VALUE [probability=P%] [count=N] [seed=N]". VALUE: decimal or 0x, as the register rax gets it; P: percent of the
// hits that pass the filter, default 100; count: the most injections per program; seed: random unless given.
Result<model::Injection> read_injection(std::string_view text);

// Reads each "EVENT: ret=VALUE …".
Result<std::vector<engine::EventInjection>> collect_injections(const std::vector<std::string>& words);

// "EVENT returns VALUE, …", to be shown before the program runs: with the seed the run can be repeated.
std::string injection_text(const engine::EventInjection& injection);

}  // namespace kevt::cli

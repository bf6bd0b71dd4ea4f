// Why code that was made for another kernel does not fit this one.
#pragma once

#include <span>
#include <vector>

#include "common/error.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/shared_bpf.h"

namespace kevt::pipeline {

// Puts before `error` the events, and their arguments, that the code of a compiled script does not fit. Without such
// events `error` is returned unchanged. `tasks` has one element for each event.
Error with_type_mismatches(Error error, std::span<const CheckedEvent* const> events, std::span<const BpfTask> tasks,
                           const BpfRequest& request);

}  // namespace kevt::pipeline

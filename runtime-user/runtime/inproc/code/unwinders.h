// Unwinders: functions of the target that walk a thread's stack by its return addresses.
#pragma once

#include <vector>

#include "common/addresses.h"
#include "runtime-user/runtime/inproc/code/probe_points.h"

namespace kevt::inproc {

// Entry addresses of the unwinders in all files that are loaded now, where a probe point may stand; each once.
Result<std::vector<RemoteAddr>> find_unwinders(ProbePoints& points);

}  // namespace kevt::inproc

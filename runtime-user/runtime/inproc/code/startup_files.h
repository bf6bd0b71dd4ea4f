// The files that a program has from its start to its end: itself, and what the dynamic linker loads with it.
#pragma once

#include <vector>

#include "runtime-user/runtime/inproc/code/probe_points.h"

namespace kevt::inproc {

// Of `objects` the program's own file, in which `entry` lies (program_entry()), what it needs (DT_NEEDED), what that
// needs, and so on. Files of LD_PRELOAD are not among them.
std::vector<ProbedObject*> loaded_at_start(const std::vector<ProbedObject*>& objects, RemoteAddr entry);

}  // namespace kevt::inproc

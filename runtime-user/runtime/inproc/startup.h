// Startup: from the exec stop to the moment when probes can be placed.
#pragma once

#include "common/error.h"
#include "runtime-user/runtime/inproc/tracee.h"

namespace kevt::inproc {

// Lets a process that stands right after exec run until its dynamic linker reports all libraries
// loaded and relocated (r_debug), before their constructors run. A program without a dynamic
// linker, or with one that reports nothing, stops at its entry point.
Result<void> run_until_loaded(Tracee& tracee);

}  // namespace kevt::inproc

// Ctrl-C in a process that traces: the first one stops tracing; the supervisor (supervisor.h) deals with a second one.
#pragma once

namespace kevt::session {

// From now on SIGINT, SIGTERM and SIGHUP are noted, and a reader that leaves is an error instead of SIGPIPE.
void catch_interrupts();
bool is_interrupted();
// By SIGTERM or SIGHUP: whoever sent it wants us gone, and CMD was not asked to end (Ctrl-C reaches both).
bool is_told_to_leave();

}  // namespace kevt::session

// Ctrl-C in a process that traces: the first one stops tracing; the supervisor (supervisor.h) deals with a second one.
#pragma once

namespace kevt::session {

// From now on SIGINT, SIGTERM and SIGHUP are noted, and a reader that leaves is an error instead of SIGPIPE. Where
// kevtrace's messages go to a pipe of their own (--messages), a reader of it that leaves counts as SIGHUP: whoever
// started kevtrace is gone.
void catch_interrupts();
bool is_interrupted();
// The next one is noted as the first was.
void forget_interrupt();
// Whether the first signal was SIGTERM or SIGHUP: the sender wants kevtrace gone, and CMD did not get the signal
// (Ctrl-C reaches both).
bool is_told_to_leave();

}  // namespace kevt::session

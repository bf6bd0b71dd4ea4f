// Startup: from the exec stop to the moment when probes can be placed.
#pragma once

#include "common/error.h"
#include "runtime-user/runtime/inproc/process/tracee.h"

namespace kevt::inproc {

// Lets a process that stands right after exec run until its dynamic linker reports all libraries
// loaded and relocated (r_debug), before their constructors run. A program with a dynamic linker that reports nothing
// stops at its entry point, a static one once its C library has set up the thread.
Result<void> run_until_loaded(Tracee& tracee);
Result<void> run_until_thread_is_set_up(Tracee& tracee);

// Where the process's program begins (AT_ENTRY); 0: not known.
RemoteAddr program_entry(pid_t pid);

// As Tracee::attach(), for a process that may just have been started: while its first thread has no thread pointer yet,
// the process is let go and attached again, for 5 s at most.
Result<Tracee> attach_when_set_up(pid_t pid);

// Where the first thread's control block (at %fs) holds its tid: a word that differs between threads, in glibc and
// musl. 0: not found. An error when %fs is no thread pointer, or not yet.
Result<std::uint32_t> thread_id_offset(const Tracee& tracee);

// A Go program whose runtime makes its threads itself, without a C library: %fs:0 holds nothing then.
bool is_go_alone(pid_t pid);

}  // namespace kevt::inproc

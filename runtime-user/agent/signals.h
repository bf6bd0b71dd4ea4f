/*
 * What signals.c (signals as they come) and calls.c (the program's calls about signals) share about the three signals
 * that the agent owns.
 */
#ifndef KEVT_AGENT_SIGNALS_H
#define KEVT_AGENT_SIGNALS_H

#include "runtime-user/agent/agent.h"

enum { SIGILL_ = 4, SIGTRAP_ = 5, SIGBUS_ = 7, SIGFPE_ = 8, SIGSEGV_ = 11 };
#define BIT(signal) (1ull << ((signal)-1))
#define OURS (BIT(SIGTRAP_) | BIT(SIGBUS_) | BIT(SIGSEGV_))
/*
 * Other signals that an instruction raises: their handlers run under kevt_on_masked, which shows them the right place.
 */
#define IS_OF_INSTRUCTION(signal) ((signal) == SIGILL_ || (signal) == SIGFPE_)

enum { SIGINFO_BYTES = 128 };
typedef struct siginfo_head {
  int signo, error, code;
} siginfo_head;
_Static_assert(KEVT_SENT_WORDS * 8 <= SIGINFO_BYTES && KEVT_SENT_WORDS * 8 >= sizeof(siginfo_head),
               "a part of a siginfo");

struct context;

static inline const kevt_private* kevt_own_private(void) { return (const kevt_private*)kevt_state()->priv; }
static inline int owns_signals(void) { return kevt_own_private()->signals_owned != 0; }

/* Where the thread keeps the siginfo of one of the three signals while it is pending. */
static inline uint64_t* sent_with(kevt_thread* thread, int signal) {
  return thread->sent[signal == SIGTRAP_ ? 0 : signal == SIGBUS_ ? 1 : 2];
}

/* The agent's handler of the three signals. */
KEVT_INTERNAL void kevt_on_signal(int signal, siginfo_head* info, struct context* uc);
/* Stands in for the handlers of other signals (signals.c). */
KEVT_INTERNAL void kevt_on_masked(int signal, siginfo_head* info, struct context* uc);
/* Sends the thread its pending signals that are no longer blocked, each with the siginfo that it came with. */
KEVT_INTERNAL void kevt_deliver_pending(kevt_thread* thread);

#endif

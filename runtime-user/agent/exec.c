/*
 * Stands in for execve where the controller follows programs: it is asked to hold on to this thread, which is the new
 * program's first, before that has run anything.  The call may be made between vfork and exec, in the parent's memory
 * and on its stack: nothing but the ask is written.
 */
#include "runtime-user/agent/agent.h"

enum { NR_ACCESS = 21, NR_EXECVE = 59, NR_GETTID = 186 };
enum { X_OK_ = 1 };

/* For how long a free ask is waited for: while asks change, and while none does.  A hostile process may change them. */
#define MOST_NS (60ll * 1000 * 1000 * 1000)
#define UNCHANGED_NS (10ll * 1000 * 1000 * 1000)
#define A_LOOK_NS (50ll * 1000 * 1000)

static kevt_exec_ask* try_to_claim(kevt_session* session) {
  for (int i = 0; i < KEVT_EXEC_ASKS; i++) {
    uint32_t free = KEVT_EXEC_FREE;
    if (__atomic_compare_exchange_n(&session->execs[i].state, &free, KEVT_EXEC_CLAIMED, 0, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED))
      return &session->execs[i];
  }
  return 0;
}

/*
 * More threads may be about to exec than there are asks: the others wait for one that becomes free.  0: none did.  That
 * is nobody's fault, and leaves the process as patient as it was.
 */
static kevt_exec_ask* claim(kevt_session* session, uint32_t tid, uint64_t controller) {
  const int64_t began = kevt_now_ns();
  int64_t changed = began;
  for (uint32_t look = tid;; look++) {
    kevt_exec_ask* const mine = try_to_claim(session);
    if (mine) return mine;
    const kevt_exec_ask* const other = &session->execs[look % KEVT_EXEC_ASKS];
    const uint32_t state = __atomic_load_n(&other->state, __ATOMIC_ACQUIRE);
    if (state != KEVT_EXEC_FREE && !kevt_sleep_on(&other->state, state, A_LOOK_NS, controller)) return 0;
    const int64_t now = kevt_now_ns();
    if (__atomic_load_n(&other->state, __ATOMIC_ACQUIRE) != state) changed = now;
    if (!now || now - changed > UNCHANGED_NS || now - began > MOST_NS) return 0;
  }
}

/* Sets `state` and waits for the controller to set another one; 0: it did not. */
static int set_and_wait(kevt_exec_ask* ask, uint32_t state, uint64_t controller) {
  __atomic_store_n(&ask->state, state, __ATOMIC_RELEASE);
  const kevt_question question = {&ask->state, state, 0, 0};
  return kevt_await_answer(&question, controller);
}

int64_t kevt_execve(uint64_t path, uint64_t arguments, uint64_t environment) {
  const kevt_tables* tables = kevt_state();
  const uint64_t controller = __atomic_load_n(&tables->follower, __ATOMIC_ACQUIRE);
  /* Shells try one folder of PATH after the other: the controller is not asked where there is no program. */
  if (!controller || kevt_own_syscall(NR_ACCESS, path, X_OK_, 0, 0) != 0)
    return kevt_syscall(NR_EXECVE, path, arguments, environment, 0);
  kevt_session* const session = (kevt_session*)tables->session;
  const uint32_t tid = (uint32_t)kevt_syscall(NR_GETTID, 0, 0, 0, 0);
  kevt_exec_ask* const ask = claim(session, tid, controller);
  if (ask) ask->tid = tid;
  const int is_answered = ask && set_and_wait(ask, KEVT_EXEC_ASKED, controller);
  if (!is_answered) __atomic_fetch_add(&session->execs_unanswered, 1, __ATOMIC_RELAXED);
  const int64_t result = kevt_syscall(NR_EXECVE, path, arguments, environment, 0);
  if (!is_answered) __atomic_fetch_sub(&session->execs_unanswered, 1, __ATOMIC_RELAXED); /* it has failed */
  if (ask) set_and_wait(ask, KEVT_EXEC_FAILED, controller);
  return result;
}

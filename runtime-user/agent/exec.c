/*
 * Stands in for execve where the controller follows programs: it is asked to hold on to this thread, which is the new
 * program's first, before that has run anything.  The call may be made between vfork and exec, in the parent's memory
 * and on its stack: nothing but the ask is written.
 */
#include "runtime-user/agent/agent.h"

enum { NR_ACCESS = 21, NR_EXECVE = 59, NR_KILL = 62, NR_GETTID = 186, NR_FUTEX = 202 };
enum { X_OK_ = 1, FUTEX_WAIT_ = 0, ESRCH_ = -3 };
enum { LOOKS = 200, LOOK_NS = 50000000 }; /* 10 s in all */

static kevt_exec_ask* claim(kevt_shared* shared) {
  for (int i = 0; i < KEVT_EXEC_ASKS; i++) {
    uint32_t free = KEVT_EXEC_FREE;
    if (__atomic_compare_exchange_n(&shared->execs[i].state, &free, KEVT_EXEC_CLAIMED, 0, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED))
      return &shared->execs[i];
  }
  return 0;
}

/* Sets `state` and waits for the controller to set another one. */
static void set_and_wait(kevt_exec_ask* ask, uint32_t state, uint64_t controller) {
  const struct { int64_t seconds, nanoseconds; } pause = {0, LOOK_NS};
  __atomic_store_n(&ask->state, state, __ATOMIC_RELEASE);
  for (int i = 0; i < LOOKS && __atomic_load_n(&ask->state, __ATOMIC_ACQUIRE) == state; i++) {
    kevt_syscall(NR_FUTEX, (uint64_t)&ask->state, FUTEX_WAIT_, state, (uint64_t)&pause);
    if (kevt_syscall(NR_KILL, controller, 0, 0, 0) == ESRCH_) return;
  }
}

int64_t kevt_execve(uint64_t path, uint64_t arguments, uint64_t environment) {
  kevt_shared* shared = kevt_state();
  const uint64_t controller = __atomic_load_n(&shared->follower, __ATOMIC_ACQUIRE);
  /* Shells try one folder of PATH after the other: no question where there is nothing. */
  kevt_exec_ask* ask = 0;
  if (controller && kevt_own_syscall(NR_ACCESS, path, X_OK_, 0, 0) == 0) ask = claim(shared);
  if (!ask) return kevt_syscall(NR_EXECVE, path, arguments, environment, 0);
  ask->tid = (uint32_t)kevt_syscall(NR_GETTID, 0, 0, 0, 0);
  set_and_wait(ask, KEVT_EXEC_ASKED, controller);
  const int64_t result = kevt_syscall(NR_EXECVE, path, arguments, environment, 0);
  set_and_wait(ask, KEVT_EXEC_FAILED, controller);
  return result;
}

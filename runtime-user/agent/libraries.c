/*
 * Stands in front of the dynamic linker's _dl_debug_state(), which is called whenever a library has come or gone and
 * before a new one's constructors run.  The controller is asked to look, and waited for: probes that waited for the
 * library are armed before any of its code runs.  Nobody waits for a controller that is gone.
 */
#include "runtime-user/agent/agent.h"

enum {
  NR_KILL = 62,
  NR_FUTEX = 202,
  FUTEX_WAIT = 0,
  ESRCH_NEGATIVE = -3,
  R_STATE_OFFSET = 24, /* of struct r_debug: version, map, brk, state (0: consistent) */
  LOOKS = 200,
  LOOK_NS = 50000000, /* 10 s in all */
};

static int is_consistent(uint64_t r_debug) {
  uint64_t state = 0;
  if (!r_debug) return 1;
  KEVT_LOAD8(state, r_debug + R_STATE_OFFSET, unreadable);
  return (uint32_t)state == 0;
unreadable:
  return 1;
}

KEVT_SERVICE void kevt_libraries_changed(void) {
  kevt_shared* shared = kevt_state();
  const uint64_t controller = __atomic_load_n(&shared->controller, __ATOMIC_ACQUIRE);
  if (!controller || !is_consistent(shared->r_debug)) return;
  const uint64_t report = __atomic_add_fetch(&shared->library_reports, 1, __ATOMIC_ACQ_REL);
  const struct { int64_t seconds, nanoseconds; } pause = {0, LOOK_NS};
  for (int i = 0; i < LOOKS; i++) {
    const uint64_t answered = __atomic_load_n(&shared->library_answers, __ATOMIC_ACQUIRE);
    if (answered >= report) return;
    kevt_own_syscall(NR_FUTEX, (uint64_t)&shared->library_answers, FUTEX_WAIT, (uint32_t)answered, (uint64_t)&pause);
    const int64_t there = kevt_own_syscall(NR_KILL, controller, 0, 0, 0);
    if (there == ESRCH_NEGATIVE || there == KEVT_NOT_CALLED) return;
  }
}

/*
 * Stands in front of the dynamic linker's _dl_debug_state(), which is called whenever a library has come or gone and
 * before a new one's constructors run.  The controller is asked to look, and waited for: probes that waited for the
 * library are armed before any of its code runs.  Nobody waits for a controller that is gone.
 */
#include "runtime-user/agent/agent.h"

enum { R_STATE_OFFSET = 24 }; /* of struct r_debug: version, map, brk, state (0: consistent) */

static int is_consistent(uint64_t r_debug) {
  uint64_t state = 0;
  if (!r_debug) return 1;
  KEVT_LOAD8(state, r_debug + R_STATE_OFFSET, unreadable);
  return (uint32_t)state == 0;
unreadable:
  return 1;
}

KEVT_SERVICE void kevt_libraries_changed(void) {
  const kevt_tables* tables = kevt_state();
  const uint64_t controller = __atomic_load_n(&tables->answerer, __ATOMIC_ACQUIRE);
  if (!controller || !is_consistent(tables->r_debug)) return;
  const uint64_t report =
      1 + __atomic_fetch_add(&((kevt_session*)tables->session)->library_reports, 1, __ATOMIC_ACQ_REL);
  const kevt_question question = {(const uint32_t*)&tables->library_answers, 0, &tables->library_answers, report};
  kevt_await_answer(&question, controller);
}

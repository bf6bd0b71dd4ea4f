/*
 * Waiting for the controller: a thread that asks (exec.c, libraries.c) sleeps on a futex word until it is answered.
 *
 * The answer may never come: the controller died, is stopped, or another process of the session, which may be hostile,
 * has overwritten the question.  The first ask that stays without an answer is waited for 10 s; from then on the whole
 * process waits 100 ms in all.
 */
#include "runtime-user/agent/agent.h"

enum { NR_KILL = 62, NR_FUTEX = 202, NR_CLOCK_GETTIME = 228 };
enum { CLOCK_MONOTONIC_ = 1, FUTEX_WAIT_ = 0, ESRCH_ = -3 };
enum { LOOK_NS = 50 * 1000 * 1000 };
#define FIRST_PATIENCE_NS (10ll * 1000 * 1000 * 1000)
#define LATER_PATIENCE_NS (100ll * 1000 * 1000)

typedef struct time {
  int64_t seconds, nanoseconds;
} time;

int64_t kevt_now_ns(void) {
  time now = {0, 0};
  if (kevt_own_syscall(NR_CLOCK_GETTIME, CLOCK_MONOTONIC_, (uint64_t)&now, 0, 0) < 0) return 0;
  return now.seconds * 1000000000ll + now.nanoseconds;
}

int kevt_sleep_on(const uint32_t* word, uint32_t value, int64_t left_ns, uint64_t asked) {
  const time pause = {0, left_ns < LOOK_NS ? left_ns : LOOK_NS};
  if (kevt_own_syscall(NR_FUTEX, (uint64_t)word, FUTEX_WAIT_, value, (uint64_t)&pause) == KEVT_NOT_CALLED) return 0;
  return asked == KEVT_NOT_SEEN || kevt_own_syscall(NR_KILL, asked, 0, 0, 0) != ESRCH_;
}

/*
 * An ask is answered by any change of its word, since another process may change it to keep us waiting.  A report is
 * answered by the count.
 */
static int is_answered(const kevt_question* question) {
  if (question->report) return __atomic_load_n(question->answers, __ATOMIC_ACQUIRE) >= question->report;
  return __atomic_load_n(question->word, __ATOMIC_ACQUIRE) != question->value;
}

int kevt_await_answer(const kevt_question* question, uint64_t asked) {
  kevt_private* priv = (kevt_private*)kevt_state()->priv;
  const int is_impatient = __atomic_load_n(&priv->unanswered, __ATOMIC_ACQUIRE) != 0;
  const int64_t patience = is_impatient ? __atomic_load_n(&priv->patience_ns, __ATOMIC_RELAXED) : FIRST_PATIENCE_NS;
  const int64_t began = kevt_now_ns();
  int64_t waited = 0;
  while (began && waited < patience) {
    const uint32_t value = question->report ? __atomic_load_n(question->word, __ATOMIC_ACQUIRE) : question->value;
    if (is_answered(question) || !kevt_sleep_on(question->word, value, patience - waited, asked)) break;
    waited = kevt_now_ns() - began;
  }
  const int has_come = is_answered(question);
  if (is_impatient) {
    __atomic_fetch_sub(&priv->patience_ns, waited, __ATOMIC_RELAXED);
  } else if (!has_come && waited >= patience) {
    __atomic_store_n(&priv->patience_ns, LATER_PATIENCE_NS, __ATOMIC_RELAXED);
    __atomic_store_n(&priv->unanswered, 1, __ATOMIC_RELEASE);
  }
  return has_come;
}

/*
 * Injection: an accepted hit may make its function return a given value without running (detour.cpp).  Whether it does
 * is chance, and limited in number; the n-th hit that a process accepts gets the n-th number of a sequence that the
 * seed alone decides, whatever threads there are: a run can be repeated.  A forked child goes on where its parent was,
 * with counts of its own: what another process could write must not decide what runs here.
 */
#include "runtime-user/agent/agent.h"

/* SplitMix64 (Steele, Lea, Flood 2014): number `n` of the sequence of `seed`. */
static uint64_t random_number(uint64_t seed, uint64_t n) {
  uint64_t z = seed + (n + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

/* Counts one more, unless the count has reached `limit`; 1: it has counted. */
static int take_one(uint64_t* count, uint64_t limit) {
  uint64_t now = __atomic_load_n(count, __ATOMIC_RELAXED);
  do {
    if (now >= limit) return 0;
  } while (!__atomic_compare_exchange_n(count, &now, now + 1, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return 1;
}

KEVT_SERVICE int kevt_service_inject(kevt_event* event, uint64_t frame) {
  kevt_injections* counts = &((kevt_private*)kevt_state()->priv)->injections[event->row];
  const uint64_t n = __atomic_fetch_add(&counts->asked, 1, __ATOMIC_RELAXED);
  if (random_number(event->inject_seed, n) > event->inject_below) return 0;
  if (!take_one(&counts->injected, event->inject_times)) return 0;
  *(uint64_t*)(frame + KEVT_FRAME_INJECTED) = 1;
  return 1;
}

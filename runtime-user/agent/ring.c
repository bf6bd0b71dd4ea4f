/*
 * Reserving in a ring when another writer came first.  The extractor tries once by itself; this is
 * the loop behind it.  As there, the place is noted before it is taken, so that a hit that is jumped
 * out of leaves a reservation that can be found (thread.c).
 *
 * A ring is one CPU's, so another writer is rarely in the way twice.  A writer that always is writes nonsense into the
 * head: this hit is lost then.
 */
#include "runtime-user/agent/agent.h"

enum { TRIES = 1000 };

KEVT_SERVICE kevt_record* kevt_service_reserve(kevt_thread* thread, kevt_ring* ring, uint64_t payload) {
  const uint64_t limit = kevt_state()->ring_bytes, room = KEVT_RECORD_ROOM(payload);
  uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
  for (int n = 0; n < TRIES; n++) {
    if (head + room - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) > limit) break;
    uint64_t at = (uint64_t)ring + KEVT_RING_HEADER + (head & (limit - 1));
    __atomic_store_n(&thread->open_word,
                     payload | *(const uint64_t*)((const uint8_t*)ring + KEVT_RING_MARK) | KEVT_RECORD_TAG(head),
                     __ATOMIC_RELEASE);
    if (__atomic_compare_exchange_n(&ring->head, &head, head + room, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return (kevt_record*)at;
  }
  thread->open_word = 0;
  return 0;
}

/*
 * A hit table: where the hits of one thread count by key, for one histogram.  An array of slots of 8-byte words:
 *
 *   key words | count | sums      rounded up to a power of two of bytes
 *
 * Its thread alone writes it, in this order: the words of a new key, sums, the count.  A slot with a count of 0 is
 * free; behind that its key stays as it is and its numbers only grow, so that a reader needs no lock: it takes the
 * difference to what it took before.
 *
 * A key goes to the first free slot of KEVT_HIT_PROBES that its hash names, in their order, and is found there: some in
 * the table's first pages, the near part, which is all that a thread touches with few keys; then some in all of it.
 */
#ifndef KEVT_ABI_HIT_TABLE_H
#define KEVT_ABI_HIT_TABLE_H

#include <stdint.h>

enum {
  KEVT_HIT_TABLE_SHIFT = 18, /* bytes of one thread's: 256 KiB, of which pages exist where something was counted */
  KEVT_HIT_TABLE_BYTES = 1 << KEVT_HIT_TABLE_SHIFT,
  KEVT_HIT_NEAR_BYTES = 16384,
  KEVT_HIT_NEAR_PROBES = 4,
  KEVT_HIT_PROBES = 12,     /* with those of the near part */
  KEVT_HIT_TABLES = 64,     /* of a session: histograms that hits have counted */
  KEVT_HIT_SLOT_WORDS = 64, /* at most */
  KEVT_HIT_TEXT_WORDS = 2,  /* of a key that is a text: with its NUL, and zeros behind it */
};

/* Bytes of a slot with so many words in use. */
static inline uint32_t kevt_hit_slot_bytes(uint32_t words) {
  uint32_t bytes = 16;
  while (bytes < 8 * words) bytes *= 2;
  return bytes;
}

#endif

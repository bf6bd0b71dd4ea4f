/*
 * A hit table: where the hits of one thread, or in the kernel of one CPU, count by key, for one histogram.  An array of
 * slots of 8-byte words:
 *
 *   key words | count | sums      rounded up to a power of two of bytes
 *
 * It is written in this order: the words of a new key, sums, the count.  A slot whose count's
 * word is 0 is free; behind that its key stays as it is and its numbers only grow, so that a reader needs no lock: it
 * takes the difference to what it took before.
 *
 * A thread's table has one writer, and so has a CPU's where hits on it do not interrupt each other.  Hits of user
 * threads do, in the kernel: they share their CPU's table with those that come between.  There numbers are added to
 * atomically, and whoever makes a slot takes it first: its count's word goes from 0 to CLAIMED, and when the key is
 * written to THERE; a slot holds its key only then.  Two slots may come to have the same key: their numbers add up.
 *
 * A key goes to the first free slot of KEVT_HIT_PROBES that its hash names, in their order, and is found there.  In a
 * process some are in the table's first pages, the near part, which is all that a thread touches with few keys; then
 * some in all of it.
 */
#ifndef KEVT_ABI_HIT_TABLE_H
#define KEVT_ABI_HIT_TABLE_H

#include <stdint.h>

enum {
  KEVT_HIT_TABLE_SHIFT = 18, /* bytes of one thread's: 256 KiB, of which pages exist where something was counted */
  KEVT_HIT_TABLE_BYTES = 1 << KEVT_HIT_TABLE_SHIFT,
  KEVT_HIT_BPF_BYTES = 65536, /* of one CPU's: 64 KiB, all of it in memory */
  KEVT_HIT_NEAR_BYTES = 16384,
  KEVT_HIT_NEAR_PROBES = 4,
  KEVT_HIT_PROBES = 12,     /* with those of the near part */
  KEVT_HIT_TABLES = 64,     /* of a session: histograms that hits have counted */
  KEVT_HIT_SLOT_WORDS = 64, /* at most */
  KEVT_HIT_TEXT_WORDS = 2,  /* of a key that is a text: with its NUL, and zeros behind it */
};

/* Bits of the count's word where writers share a table; what else is in it is the count. */
#define KEVT_HIT_CLAIMED (1ull << 62)
#define KEVT_HIT_THERE (1ull << 63)
#define KEVT_HIT_COUNT(word) ((word) & (KEVT_HIT_CLAIMED - 1))

/* Bytes of a slot with so many words in use. */
static inline uint32_t kevt_hit_slot_bytes(uint32_t words) {
  uint32_t bytes = 16;
  while (bytes < 8 * words) bytes *= 2;
  return bytes;
}

#endif

/*
 * A hit table: where the hits of one thread, or in the kernel of one CPU, count by key, for one histogram.  An array of
 * slots of 8-byte words:
 *
 *   key words | count | sums      rounded up to a power of two of bytes
 *
 * A hit writes a slot in this order: the words of a new key, the sums, the count.  A sum may be a greatest word instead
 * (model::Kept).  A slot whose count word is 0 is free.  Once it is not 0, the key stays and the numbers only grow, so
 * a reader needs no lock: it takes the difference to what it read before.
 *
 * A thread's table has one writer, and so has a CPU's table where hits on the CPU do not interrupt each other.  In the
 * kernel, hits of user threads do: they share their CPU's table with the hits that come between.  There numbers are
 * added to atomically, and a hit that makes a slot claims it first: the count word goes from 0 to CLAIMED and, when the
 * key is written, to THERE. Only then does the slot hold its key.  Two slots may come to have the same key: their
 * numbers add up.
 *
 * A key's hash names KEVT_HIT_PROBES slots in order.  The key goes to the first of them that is free, and is found
 * there.  In a process the first few lie in the table's first pages, the near part, which is all that a thread with few
 * keys touches; the rest lie anywhere behind it.
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

/* Bits of the count word where writers share a table; its other bits are the count. */
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

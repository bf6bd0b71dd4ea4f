/* What the hammer and its driver share: one file, mapped by both. */
#ifndef KEVT_TESTS_HAMMER_PAGE_H
#define KEVT_TESTS_HAMMER_PAGE_H

#include <stdint.h>

enum { HAMMER_THREADS = 8 };

typedef struct hammer_page {
  uint32_t stop; /* set by the driver; or the hammer ends after `limit` calls a thread */
  uint32_t spare;
  uint64_t limit;                 /* 0: until stopped */
  uint64_t calls[HAMMER_THREADS]; /* of touch, and as many of touch_short */
  uint64_t wrong[HAMMER_THREADS]; /* results that were not what they must be */
  uint32_t tids[HAMMER_THREADS];
} hammer_page;

#endif

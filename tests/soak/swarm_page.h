/* What the swarm and its driver share: one file, mapped by both. */
#ifndef KEVT_TESTS_SWARM_PAGE_H
#define KEVT_TESTS_SWARM_PAGE_H

#include <stdint.h>

enum { SWARM_THREADS = 8 };

typedef struct swarm_page {
  uint32_t stop; /* set by the driver */
  uint32_t spare;
  uint64_t calls[SWARM_THREADS];
  uint64_t wrong[SWARM_THREADS]; /* answers that were not what they must be */
  uint64_t forks, forks_wrong;   /* children, and those that saw a wrong answer or died */
} swarm_page;

#endif

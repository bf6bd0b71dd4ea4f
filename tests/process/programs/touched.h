/* The function that is probed, and one too short for a jump. */
#ifndef KEVT_TESTS_TOUCHED_H
#define KEVT_TESTS_TOUCHED_H

#include <stddef.h>
#include <stdint.h>

#define NOT_INLINED __attribute__((noinline, noclone, noipa, visibility("default")))

/* Returns 3 * number + 1; `text` and `where` are only for the probes to read. */
long touch(long number, const char* text, const void* where);

/* Returns its argument; 4 bytes of code and the next function right behind: an int3 site. */
long touch_short(long number, const char* text, const void* where);

#endif

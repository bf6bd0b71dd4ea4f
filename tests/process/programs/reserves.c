/* reserves: hits a breakpoint, and then waits in a function that has reserved much of the stack and written to none of
   it: what the breakpoint's signal has left there stays.  Prints "ready"; ends with status 0 when a line comes on
   standard input, 3 when a result was wrong. */
#include <poll.h>
#include <stdio.h>

#include "touched.h"

static volatile long errors;

/* Whether a line has come meanwhile. */
NOT_INLINED int wait_with_room(void) {
  char room[64 * 1024];
  struct pollfd input = {.fd = 0, .events = POLLIN};
  __asm__ volatile("" : : "r"(room) : "memory");
  const int come = poll(&input, 1, 2);
  __asm__ volatile("" : : "r"(room) : "memory");
  return come > 0;
}

int main(void) {
  long n = 0;
  puts("ready");
  fflush(stdout);
  do {
    ++n;
    if (touch_short(n, "reserves", &n) != n) ++errors;
  } while (!wait_with_room());
  return errors ? 3 : 0;
}

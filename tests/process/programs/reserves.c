/* reserves: hits a breakpoint, and then waits in a function that has reserved much of the stack and written to none of
   it: what the breakpoint's signal has left there stays.  With an argument an address is written over the signal's
   number there, as some function's local variable may be.  Prints "ready"; ends with status 0 when a line comes on
   standard input, 3 when a result was wrong. */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>

#include "touched.h"

static volatile long errors;

/* struct rt_sigframe in words: the code segment, and the siginfo's number that the agent has taken out. */
enum { Segments = 24, Number = 39, UserCode = 0x33 };

static void overwrite_numbers(volatile uint64_t* room, size_t words) {
  for (size_t i = 0; i + Number < words; ++i)
    if (room[i] != 0 && (room[i + Segments] & 0xffff) == UserCode && (uint32_t)room[i + Number] == 0)
      room[i + Number] = (uintptr_t)&errors;
}

/* Whether a line has come meanwhile. */
NOT_INLINED int wait_with_room(int overwrites) {
  char room[64 * 1024] __attribute__((aligned(8)));
  struct pollfd input = {.fd = 0, .events = POLLIN};
  __asm__ volatile("" : : "r"(room) : "memory");
  if (overwrites) overwrite_numbers((volatile uint64_t*)room, sizeof room / sizeof(uint64_t));
  const int come = poll(&input, 1, 2);
  __asm__ volatile("" : : "r"(room) : "memory");
  return come > 0;
}

int main(int argc, char** argv) {
  (void)argv;
  long n = 0;
  puts("ready");
  fflush(stdout);
  do {
    ++n;
    if (touch_short(n, "reserves", &n) != n) ++errors;
  } while (!wait_with_room(argc > 1));
  return errors ? 3 : 0;
}

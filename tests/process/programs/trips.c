/* trips: hits a breakpoint nearly all the time.  Prints "ready"; ends with status 0 when a line comes on standard
   input, 3 when a result was wrong: a thread that loses its breakpoint's signal goes on at the second byte of `mov
   %rdi, %rax`, which moves the lower half. */
#include <poll.h>
#include <stdio.h>

#include "touched.h"

int main(void) {
  long errors = 0;
  struct pollfd input = {.fd = 0, .events = POLLIN};
  puts("ready");
  fflush(stdout);
  for (long n = 1; n % 4096 || poll(&input, 1, 0) <= 0; ++n)
    if (touch_short(n | 1l << 40, "trips", &n) != (n | 1l << 40)) ++errors;
  return errors ? 3 : 0;
}

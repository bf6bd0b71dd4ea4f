/* plainly: handlers that ask for no siginfo, which the kernel then leaves out of their frames.  Prints "ready"; "masks"
   and "faults" on standard input raise SIGUSR1, whose handler blocks all signals, and SIGFPE, whose handler blocks
   none: the handler prints "inside" and returns when another line comes, then main prints "back" and how much was
   wrong.  "end". */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "touched.h"

static char line[64];

static const char* next_line(void) { return fgets(line, sizeof line, stdin); }

static void on_signal(int number) {
  (void)number;
  puts("inside");
  fflush(stdout);
  next_line();
}

static int masks_differ(const sigset_t* before) {
  sigset_t now;
  sigprocmask(SIG_BLOCK, 0, &now);
  return memcmp(&now, before, 8) != 0;
}

/* Where nothing has been written yet: the memory of the siginfo is zero. */
NOT_INLINED void raise_deep(int number) {
  char room[64 * 1024];
  __asm__ volatile("" : : "r"(room) : "memory");
  raise(number);
  __asm__ volatile("" : : "r"(room) : "memory");
}

int main(void) {
  struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGFPE, &action, 0);
  sigfillset(&action.sa_mask);
  sigaction(SIGUSR1, &action, 0);
  sigset_t before;
  sigemptyset(&before);
  sigaddset(&before, SIGSEGV);
  sigprocmask(SIG_BLOCK, &before, 0);
  sigprocmask(SIG_BLOCK, 0, &before);
  long n = 0, errors = 0;
  puts("ready");
  fflush(stdout);
  while (next_line() && strcmp(line, "end\n") != 0) {
    const int number = strcmp(line, "masks\n") == 0 ? SIGUSR1 : SIGFPE;
    ++n;
    if (touch_short(n, "plainly", &n) != n) ++errors;
    raise_deep(number);
    errors += masks_differ(&before);
    if (touch_short(n, "plainly", &n) != n) ++errors;
    printf("back %ld\n", errors);
    fflush(stdout);
  }
  return errors ? 3 : 0;
}

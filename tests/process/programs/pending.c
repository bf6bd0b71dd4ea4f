/* pending: sends itself SIGTRAP, SIGBUS and SIGSEGV while they are blocked, unblocks them, and prints how often a
   handler ran for each. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "touched.h"

static volatile int handled[64];

static void on_signal(int signal) { ++handled[signal]; }

int main(void) {
  static const int all[] = {SIGTRAP, SIGBUS, SIGSEGV};
  struct sigaction action = {0};
  sigset_t set, old;
  sigemptyset(&set);
  action.sa_handler = on_signal;
  for (int i = 0; i < 3; ++i) sigaddset(&set, all[i]), sigaction(all[i], &action, NULL);
  touch(1, "before", NULL);
  for (int round = 0; round < 10; ++round) {
    sigprocmask(SIG_BLOCK, &set, &old);
    for (int i = 0; i < 3; ++i) kill(getpid(), all[i]);
    sigprocmask(SIG_SETMASK, &old, NULL);
  }
  for (int i = 0; i < 3; ++i) printf("signal %d handled %d\n", all[i], handled[all[i]]);
  return 0;
}

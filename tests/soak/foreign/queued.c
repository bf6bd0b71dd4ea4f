/* Signals that wait: values, order, descriptors, calls that they interrupt. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "foreign.h"

static volatile sig_atomic_t count;
static volatile int order[64];

static void counts(int signal, siginfo_t* info, void* context) {
  (void)context;
  order[count++ & 63] = signal * 1000 + info->si_value.sival_int;
}

static void says_value(int signal, siginfo_t* info, void* context) {
  (void)context;
  say("%d code %d value %d\n", signal, info->si_code, info->si_value.sival_int);
}

static int suspended(void) {
  sigset_t set = set_of((int[]){SIGUSR1, 0}), none;
  sigemptyset(&none);
  sigprocmask(SIG_BLOCK, &set, NULL);
  handle(SIGUSR1, counts, 0);
  pid_t parent = getpid(), pid = fork();
  if (pid == 0) {
    for (int i = 0; i < 10000 && getppid() == parent; i++) {
      kill(parent, SIGUSR1);
      usleep(1000);
    }
    _exit(0);
  }
  int returned = sigsuspend(&none);
  say("returned %d, %d, count %d\n", returned, errno, count > 0);
  say_mask("after");
  const int before = count;
  for (int i = 0; i < 5000 && count == before; i++) {
    struct timespec little = {0, 1000000};
    pselect(0, NULL, NULL, NULL, &little, &none);
  }
  say("some %d\n", count > before);
  int status;
  kill(pid, SIGKILL);
  waitpid(pid, &status, 0);
  say_ended("child", status);
  return 0;
}

static int waits(void) {
  sigset_t set = set_of((int[]){SIGUSR1, SIGSEGV, SIGTRAP, SIGRTMIN + 2, 0});
  sigprocmask(SIG_BLOCK, &set, NULL);
  say_mask("blocked");
  for (int i = 0; i < 3; i++) {
    sigqueue(getpid(), SIGRTMIN + 2, (union sigval){.sival_int = i});
    sigqueue(getpid(), SIGSEGV, (union sigval){.sival_int = 10 + i});
    sigqueue(getpid(), SIGTRAP, (union sigval){.sival_int = 20 + i});
  }
  siginfo_t info;
  struct timespec none = {0, 0};
  while (sigtimedwait(&set, &info, &none) > 0)
    say("%d code %d value %d self %d\n", info.si_signo, info.si_code, info.si_value.sival_int, info.si_pid == getpid());
  say("errno %d\n", errno);
  raise(SIGUSR1);
  say("waited %d\n", sigwaitinfo(&set, NULL));
  return 0;
}

/* What was sent while it was blocked comes later, with all that was sent with it. */
static int values(void) {
  static const int signals[] = {SIGUSR1, SIGSEGV, SIGBUS, SIGTRAP, 0};
  sigset_t set = set_of(signals), pending, old;
  for (int i = 0; signals[i]; i++) handle(signals[i], says_value, 0);
  sigprocmask(SIG_BLOCK, &set, &old);
  for (int i = 0; signals[i]; i++) sigqueue(getpid(), signals[i], (union sigval){.sival_int = 100 + i});
  sigpending(&pending);
  say_set("pending", &pending);
  for (int i = 0; signals[i]; i++) {
    set = set_of((int[]){signals[i], 0});
    sigprocmask(SIG_UNBLOCK, &set, NULL);
  }
  say_mask("after");
  return 0;
}

static int by_descriptor(void) {
  sigset_t set = set_of((int[]){SIGUSR1, SIGRTMIN, SIGBUS, 0});
  sigprocmask(SIG_BLOCK, &set, NULL);
  int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  for (int i = 0; i < 3; i++) sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 100 + i});
  sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 5});
  sigqueue(getpid(), SIGBUS, (union sigval){.sival_int = 6});
  struct signalfd_siginfo one;
  while (read(fd, &one, sizeof one) == sizeof one)
    say("%u code %d value %d\n", one.ssi_signo, one.ssi_code, one.ssi_int);
  say("fd %d errno %d\n", fd, errno);
  return 0;
}

static int real_time_order(void) {
  sigset_t all, old;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &old);
  struct sigaction action = {.sa_sigaction = counts, .sa_flags = SA_SIGINFO, .sa_mask = all};
  for (int i = 0; i < 5; i++) sigaction(SIGRTMIN + i, &action, NULL);
  sigaction(SIGUSR1, &action, NULL);
  for (int i = 0; i < 20; i++) sigqueue(getpid(), SIGRTMIN + (i * 7) % 5, (union sigval){.sival_int = i});
  sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 999});
  sigprocmask(SIG_SETMASK, &old, NULL);
  for (int i = 0; i < count; i++) say("%d%c", order[i], i + 1 == count ? '\n' : ' ');
  return 0;
}

static int restarted(void) {
  for (int flags = 0; flags < 2; flags++) {
    int ends[2];
    char byte = '-';
    if (pipe(ends)) return 3;
    count = 0;
    handle(SIGUSR1, counts, flags ? SA_RESTART : 0);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
      usleep(50000);
      kill(parent, SIGUSR1);
      usleep(50000);
      _exit(write(ends[1], "b", 1) == 1 ? 0 : 1);
    }
    errno = 0;
    ssize_t got = read(ends[0], &byte, 1);
    say("read %zd %c errno %d handled %d\n", got, byte, got < 0 ? errno : 0, count);
    int status;
    while (waitpid(pid, &status, 0) < 0) continue;
    say_ended("child", status);
  }
  return 0;
}

const struct foreign_case kQueuedCases[] = {{"signal_suspended", suspended},
                                            {"signal_waits", waits},
                                            {"signal_values", values},
                                            {"signal_descriptor", by_descriptor},
                                            {"signal_real_time_order", real_time_order},
                                            {"signal_restarted", restarted},
                                            {NULL, NULL}};

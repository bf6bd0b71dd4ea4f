/* Processes and threads made by the kernel's own calls: what they share, and what they stand on. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foreign.h"

enum { STACK = 65536, THREAD = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM };
static _Alignas(16) char stack[STACK];
static volatile long shared;

static int adds(void* text) {
  shared += (long)libc_strlen(text);
  return 7;
}

static int vm_vfork(void) {
  for (int i = 0; i < 20; i++) {
    long pid = raw_clone(CLONE_VM | CLONE_VFORK | SIGCHLD, stack + STACK, adds, "seven..", NULL, NULL);
    int status;
    if (shared != 7 * (i + 1)) return 3; /* it has ended already */
    if (waitpid((pid_t)pid, &status, 0) != pid || WEXITSTATUS(status) != 7) return 4;
  }
  say("shared %ld\n", shared);
  return 0;
}

static int opens(void* unused) {
  (void)unused;
  return open("/dev/null", O_RDONLY);
}

static int files(void) {
  for (int shares = 0; shares < 2; shares++) {
    long pid = raw_clone((shares ? CLONE_FILES : 0) | SIGCHLD, stack + STACK, opens, NULL, NULL, NULL);
    int status = say_waited("opened", pid);
    int there = fcntl(WEXITSTATUS(status), F_GETFD);
    say("shares %d: %d\n", shares, there);
    if (shares) close(WEXITSTATUS(status));
  }
  return 0;
}

static int moves(void* unused) {
  (void)unused;
  umask(0123);
  return chdir("/usr");
}

static int folders(void) {
  char at[100];
  umask(0);
  if (chdir("/")) return 3;
  for (int shares = 0; shares < 2; shares++) {
    say_waited("moved", raw_clone((shares ? CLONE_FS : 0) | SIGCHLD, stack + STACK, moves, NULL, NULL, NULL));
    mode_t mask = umask(0);
    say("shares %d: %s %o\n", shares, getcwd(at, sizeof at), mask);
  }
  return 0;
}

static void ignore_it(int signal) { shared += signal; }

static int sets_handlers(void* unused) {
  (void)unused;
  signal(SIGUSR1, ignore_it);
  signal(SIGSEGV, ignore_it);
  signal(SIGTRAP, SIG_IGN);
  return 0;
}

/* Dispositions are shared, in both directions. */
static int handlers(void) {
  say_waited("set", raw_clone(CLONE_VM | CLONE_SIGHAND | SIGCHLD, stack + STACK, sets_handlers, NULL, NULL, NULL));
  struct sigaction now;
  sigaction(SIGUSR1, NULL, &now);
  say("usr1 %d\n", now.sa_handler == ignore_it);
  sigaction(SIGSEGV, NULL, &now);
  say("segv %d\n", now.sa_handler == ignore_it);
  sigaction(SIGTRAP, NULL, &now);
  say("trap %d\n", now.sa_handler == SIG_IGN);
  raise(SIGSEGV);
  raise(SIGTRAP);
  say("handled %ld\n", shared);
  return 0;
}

static int leaf(void* number) {
  __atomic_add_fetch(&shared, (long)number, __ATOMIC_SEQ_CST);
  return 0;
}

/* Threads that libc knows nothing of, on 256 bytes each and without a thread pointer. */
static int tiny_stacks(void) {
  static _Alignas(16) char small[8][256];
  int tids[8];
  for (int round = 0; round < 50; round++) {
    for (long i = 0; i < 8; i++) {
      tids[i] = 1;
      if (raw_clone(THREAD | CLONE_SETTLS | CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID, small[i] + 256, leaf, (void*)i,
                    &tids[i], NULL) < 0)
        return 3;
    }
    for (int i = 0; i < 8; i++) wait_cleared(&tids[i]);
  }
  say("sum %ld\n", shared);
  return 0;
}

static int calls_bare(void* text) {
  char copy[64];
  for (int i = 0; i < 100; i++) {
    libc_memcpy(copy, text, 6);
    shared += (long)libc_strlen(copy) + libc_abs(-i);
  }
  return libc_getppid() > 0 ? 0 : 9;
}

/* Functions of libc that need no thread pointer, where there is none. */
static int null_tls(void) {
  int tid = 1;
  if (raw_clone(THREAD | CLONE_SETTLS | CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID, stack + STACK, calls_bare, "five.",
                &tid, NULL) < 0)
    return 3;
  wait_cleared(&tid);
  say("thread %ld\n", shared);
  say_waited("process", raw_clone(CLONE_VM | CLONE_SETTLS | SIGCHLD, stack + STACK, calls_bare, "five.", NULL, NULL));
  say("process %ld\n", shared);
  return 0;
}

/* A thread pointer of the thread's own making: a page of zeros that points to itself. */
static int own_tls(void) {
  static _Alignas(64) uintptr_t block[512];
  uintptr_t* pointer = block + 256;
  pointer[0] = pointer[2] = (uintptr_t)pointer;
  int tid = 1;
  if (raw_clone(THREAD | CLONE_SETTLS | CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID, stack + STACK, calls_bare, "five.",
                &tid, pointer) < 0)
    return 3;
  wait_cleared(&tid);
  long others = 0;
  for (int i = 0; i < 512; i++) others += block[i] != 0 && i != 256 && i != 258;
  say("thread %ld, words written %ld\n", shared, others);
  return 0;
}

static int tids_of(void* word) { return *(int*)word == (int)raw_call(SYS_gettid, 0, 0, 0, 0) ? 5 : 6; }

/* The kernel sets and clears the tid of a child that is a process. */
static int tid_words(void) {
  static int word;
  long pid = raw_clone(CLONE_VM | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID | SIGCHLD,
                       stack + STACK, tids_of, &word, &word, NULL);
  say_waited("told", pid);
  say("cleared %d\n", word == 0);
  return 0;
}

static int pidfd(void) {
  for (int i = 0; i < 5; i++) {
    int fd = -1;
    struct clone_args arguments = {
        .flags = CLONE_PIDFD | CLONE_CLEAR_SIGHAND, .pidfd = (uintptr_t)&fd, .exit_signal = SIGCHLD};
    signal(SIGUSR1, SIG_DFL);
    signal(SIGUSR2, ignore_it);
    long pid = syscall(SYS_clone3, &arguments, sizeof arguments);
    if (pid == 0) {
      raise(i ? SIGUSR1 : SIGUSR2);
      _exit(1);
    }
    siginfo_t info;
    memset(&info, 0, sizeof info);
    if (waitid(P_PIDFD, (id_t)fd, &info, WEXITED)) return 3;
    say("fd %d: code %d status %d same %d\n", fd, info.si_code, info.si_status, info.si_pid == pid);
    close(fd);
  }
  return 0;
}

const struct foreign_case kCloneCases[] = {{"clone_vm_vfork", vm_vfork},
                                           {"clone_files", files},
                                           {"clone_fs", folders},
                                           {"clone_sighand", handlers},
                                           {"clone_tiny_stacks", tiny_stacks},
                                           {"clone_null_tls", null_tls},
                                           {"clone_own_tls", own_tls},
                                           {"clone_tid_words", tid_words},
                                           {"clone3_pidfd", pidfd},
                                           {NULL, NULL}};

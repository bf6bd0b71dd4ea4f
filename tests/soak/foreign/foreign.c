/*
 * foreign CASE | foreign --list: programs in the manner of a record-and-replay debugger's tests, each hard on a tracer
 * in its own way.  campaign.py runs each untraced and with all of libc probed, and compares what they say and how they
 * end.
 */
#define _GNU_SOURCE
#include "foreign.h"

#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

size_t (*volatile const libc_strlen)(const char*) = strlen;
void* (*volatile const libc_memcpy)(void*, const void*, size_t) = memcpy;
int (*volatile const libc_abs)(int) = abs;
int (*volatile const libc_getppid)(void) = getppid;
volatile unsigned long bad_address = 16;

void say(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vdprintf(1, format, arguments);
  va_end(arguments);
}

void say_ended(const char* what, int status) {
  if (WIFEXITED(status)) say("%s: exited %d\n", what, WEXITSTATUS(status));
  if (WIFSIGNALED(status)) say("%s: signal %d\n", what, WTERMSIG(status));
  if (WIFSTOPPED(status)) say("%s: stopped %d\n", what, WSTOPSIG(status));
}

void in_child(const char* what, void (*run)(void)) {
  pid_t pid = fork();
  if (pid == 0) {
    run();
    _exit(0);
  }
  int status = -1;
  if (waitpid(pid, &status, 0) != pid) say("%s: no child\n", what);
  say_ended(what, status);
}

void become(const char* name) {
  execl("/proc/self/exe", "foreign", name, (char*)0);
  say("exec: %m\n");
  _exit(99);
}

void handle(int signal, void (*handler)(int, siginfo_t*, void*), int flags) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
  if (sigaction(signal, &action, NULL)) say("sigaction %d: %m\n", signal);
}

int say_waited(const char* what, long pid) {
  int status = -1;
  if (waitpid((pid_t)pid, &status, 0) != pid) say("%s: %m\n", what);
  say_ended(what, status);
  return status;
}

sigset_t set_of(const int* signals) {
  sigset_t set;
  sigemptyset(&set);
  while (*signals) sigaddset(&set, *signals++);
  return set;
}

void say_set(const char* what, const sigset_t* set) {
  say("%s:", what);
  for (int i = 1; i < 65; i++)
    if (sigismember(set, i) == 1) say(" %d", i);
  say("\n");
}

void say_mask(const char* what) {
  sigset_t now;
  sigprocmask(SIG_BLOCK, NULL, &now);
  say_set(what, &now);
}

void wait_cleared(volatile int* word) {
  for (int now; (now = *word) != 0;) syscall(SYS_futex, word, FUTEX_WAIT, now, NULL, NULL, 0);
}

__asm__(
    ".text\n.globl raw_clone\n.type raw_clone, @function\n"
    "raw_clone:\n"
    "  and $-16, %rsi\n"
    "  sub $16, %rsi\n"
    "  mov %rdx, (%rsi)\n"
    "  mov %rcx, 8(%rsi)\n"
    "  mov %r8, %rdx\n"
    "  mov %r8, %r10\n"
    "  mov %r9, %r8\n"
    "  mov $56, %eax\n"
    "  syscall\n"
    "  test %rax, %rax\n"
    "  jnz 1f\n"
    "  xor %ebp, %ebp\n"
    "  pop %rax\n"
    "  pop %rdi\n"
    "  call *%rax\n"
    "  mov %eax, %edi\n"
    "  mov $60, %eax\n"
    "  syscall\n"
    "1:\n"
    "  ret\n"
    ".size raw_clone, .-raw_clone\n");

int main(int argc, char** argv) {
  const struct foreign_case* const groups[] = {kCloneCases,   kForkCases,     kSignalCases, kQueuedCases,  kStackCases,
                                               kContextCases, kWatchedCases,  kFaultCases,  kProcessCases, kThreadCases,
                                               kMemoryCases,  kRegisterCases, kLibraryCases};
  const size_t count = sizeof groups / sizeof groups[0];
  if (argc != 2) {
    fprintf(stderr, "usage: foreign CASE | foreign --list\n");
    return 2;
  }
  for (size_t i = 0; i < count; i++)
    for (const struct foreign_case* one = groups[i]; one->name; one++) {
      if (!strcmp(argv[1], "--list") && one->name[0] != '_') puts(one->name);
      if (!strcmp(argv[1], one->name)) return one->run();
    }
  return strcmp(argv[1], "--list") ? 2 : 0;
}

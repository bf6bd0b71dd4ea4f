/*
 * holds: blocks SIGTRAP, SIGBUS and SIGSEGV, and does what it is told, one line in, one line out, while tracers come
 * and go.
 *
 *   send N    queues itself each of the three, with the values N, N+1, N+2
 *   pending   those of the three that wait
 *   handle    unblocks them for a moment; signal:code:value of each, as its handler has seen them
 *   take      takes one with sigtimedwait: the same of it
 *   lose      takes one, and has no place for what came with it: errno
 *   divide    divides by zero, without a return; bytes from the function to where its handler is told it was
 *   skip      the same, by an instruction that the handler steps over
 *   overflow  lets its stack overflow: the handler has no room there, and the process ends
 *   stack     whether a handler without SA_ONSTACK runs on the alternate stack, and what its thread computes then
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "touched.h"

static const int kThree[] = {SIGTRAP, SIGBUS, SIGSEGV};
static sigset_t three;
static char seen[200], alternate[1 << 16];
static sigjmp_buf back;
static volatile uintptr_t faulted_at;
static volatile int steps_over, on_alternate;

__attribute__((naked)) int divide(int a, int b) {
  __asm__("cltd; idiv %esi; mov $7, %eax; lea 1(%rax), %eax; ret");
  (void)a, (void)b;
}

static void note(const siginfo_t* info) {
  const size_t length = strlen(seen);
  snprintf(seen + length, sizeof seen - length, " %d:%d:%d", info->si_signo, info->si_code, info->si_value.sival_int);
}

static void on_three(int signal, siginfo_t* info, void* context) {
  char here;
  (void)signal, (void)context;
  on_alternate = &here >= alternate && &here < alternate + sizeof alternate;
  note(info);
}

static void on_divide(int signal, siginfo_t* info, void* context) {
  greg_t* rip = &((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
  (void)signal, (void)info;
  faulted_at = (uintptr_t)*rip;
  if (!steps_over) siglongjmp(back, 1);
  *rip += 2;
}

static void set_handler(int signal, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action = {0};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  sigaction(signal, &action, NULL);
}

static void send_all(int value) {
  for (int i = 0; i < 3; ++i) sigqueue(getpid(), kThree[i], (union sigval){.sival_int = value + i});
}

static void handle(void) {
  seen[0] = 0;
  sigprocmask(SIG_UNBLOCK, &three, NULL);
  sigprocmask(SIG_BLOCK, &three, NULL);
  printf("handle%s\n", seen);
}

static void say_pending(void) {
  sigset_t set;
  sigpending(&set);
  printf("pending");
  for (int i = 0; i < 3; ++i)
    if (sigismember(&set, kThree[i])) printf(" %d", kThree[i]);
  putchar('\n');
}

static void take(void) {
  const struct timespec none = {0, 0};
  siginfo_t info;
  seen[0] = 0;
  if (sigtimedwait(&three, &info, &none) > 0) note(&info);
  printf("take%s\n", seen);
}

static void lose(void) {
  const struct timespec none = {0, 0};
  errno = 0;
  printf("lose %d", sigtimedwait(&three, (siginfo_t*)sizeof(siginfo_t), &none));
  printf(" %d\n", errno);
}

static void divides(int over) {
  volatile int got = 0;
  steps_over = over;
  if (!sigsetjmp(back, 1)) got = divide(5, 0);
  printf("%s %ld %d\n", over ? "skip" : "divide", (long)(faulted_at - (uintptr_t)divide), got);
}

static void say_stack(void) {
  volatile double half = 0.5;
  on_alternate = 2;
  sigprocmask(SIG_UNBLOCK, &three, NULL);
  const double before = half * 3;
  raise(SIGSEGV);
  printf("stack %d %d\n", on_alternate, before + half == 2.0);
  sigprocmask(SIG_BLOCK, &three, NULL);
}

static long overflow(long n) {
  volatile char frame[1024];
  frame[n & 1023] = 1;
  return steps_over < 9 ? overflow(n + 1) + frame[n & 1023] : 0;
}

int main(void) {
  char line[100];
  const stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
  sigemptyset(&three);
  for (int i = 0; i < 3; ++i) sigaddset(&three, kThree[i]), set_handler(kThree[i], on_three);
  set_handler(SIGFPE, on_divide);
  sigaltstack(&stack, NULL);
  sigprocmask(SIG_BLOCK, &three, NULL);
  setvbuf(stdout, NULL, _IOLBF, 0);
  puts("ready");
  for (long n = 0; fgets(line, sizeof line, stdin); ++n) {
    touch(n, line, NULL);
    if (!strncmp(line, "send ", 5)) send_all(atoi(line + 5)), puts("send");
    if (!strcmp(line, "pending\n")) say_pending();
    if (!strcmp(line, "handle\n")) handle();
    if (!strcmp(line, "take\n")) take();
    if (!strcmp(line, "lose\n")) lose();
    if (!strcmp(line, "divide\n")) divides(0);
    if (!strcmp(line, "skip\n")) divides(1);
    if (!strcmp(line, "stack\n")) say_stack();
    if (!strcmp(line, "overflow\n")) printf("%ld\n", overflow(1));
    if (!strcmp(line, "end\n")) return 0;
  }
  return 3;
}

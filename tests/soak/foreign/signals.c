/* Signals: faults, masks, what an exec keeps, what handlers may change. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "foreign.h"

static volatile sig_atomic_t depth, count;
static volatile int order[64];

static int faulting;

static void fault(void) {
  switch (faulting) {
    case SIGSEGV:
      *(volatile int*)bad_address = 1;
      break;
    case SIGILL:
      __asm__ volatile("ud2");
      break;
    case SIGTRAP:
      __asm__ volatile("int3");
      break;
    case SIGFPE: {
      int zero = (int)bad_address - 16;
      __asm__ volatile("movl $1, %%eax; cltd; idivl %0" : : "r"(zero) : "eax", "edx");
    }
  }
}

static void exits(int signal, siginfo_t* info, void* context) {
  (void)info, (void)context;
  _exit(40 + signal);
}

static void fault_blocked(void) {
  sigset_t all;
  sigfillset(&all);
  handle(faulting, exits, 0);
  sigprocmask(SIG_SETMASK, &all, NULL);
  fault();
}

static void fault_ignored(void) {
  signal(faulting, SIG_IGN);
  fault();
}

static void fault_handled(void) {
  handle(faulting, exits, 0);
  fault();
}

/* A fault whose signal is blocked or ignored ends the process, handler or not. */
static int blocked_faults(void) {
  static const int kinds[] = {SIGSEGV, SIGILL, SIGTRAP, SIGFPE};
  for (int i = 0; i < 4; i++) {
    faulting = kinds[i];
    in_child("default", fault);
    in_child("blocked", fault_blocked);
    in_child("ignored", fault_ignored);
    in_child("handled", fault_handled);
  }
  faulting = SIGSEGV;
  fault_blocked();
  return 0;
}

static int say_state(void) {
  sigset_t pending;
  sigpending(&pending);
  say_set("pending", &pending);
  say_mask("blocked");
  static const int asked[] = {SIGUSR1, SIGUSR2, SIGCHLD, SIGPIPE, SIGSEGV, SIGBUS, SIGTRAP};
  for (int i = 0; i < 7; i++) {
    struct sigaction now;
    sigaction(asked[i], NULL, &now);
    say("%d: %s\n", asked[i],
        now.sa_handler == SIG_IGN   ? "ignored"
        : now.sa_handler == SIG_DFL ? "default"
                                    : "handled");
  }
  return 0;
}

static void say_state_child(void) { say_state(); }

/* Pending signals are the process's own: not a child's, but the next program's. */
static int kept_by_exec(void) {
  sigset_t set = set_of((int[]){SIGUSR1, SIGUSR2, SIGRTMIN + 1, 0});
  sigprocmask(SIG_BLOCK, &set, NULL);
  handle(SIGUSR2, exits, 0);
  signal(SIGPIPE, SIG_IGN);
  raise(SIGUSR1);
  raise(SIGRTMIN + 1);
  raise(SIGRTMIN + 1);
  say_state();
  in_child("fork", say_state_child);
  become("_state");
  return 1;
}

/* The same with the three that a tracer in the process needs. */
static int faults_kept_by_exec(void) {
  sigset_t set = set_of((int[]){SIGSEGV, SIGBUS, 0});
  sigprocmask(SIG_BLOCK, &set, NULL);
  signal(SIGTRAP, SIG_IGN);
  raise(SIGSEGV);
  say_state();
  in_child("fork", say_state_child);
  become("_state");
  return 1;
}

static void nests(int signal, siginfo_t* info, void* context) {
  (void)info, (void)context;
  order[count++] = signal;
  if (signal == SIGUSR1) {
    say_mask("in handler");
    raise(SIGSEGV); /* all blocked: they come when this one has returned */
    raise(SIGBUS);
    raise(SIGTRAP);
    raise(SIGUSR2);
    say("seen %d\n", count);
  }
}

static int handler_masks(void) {
  static const int blocked[] = {SIGSEGV, SIGBUS, SIGTRAP, SIGUSR2};
  struct sigaction action = {.sa_sigaction = nests, .sa_flags = SA_SIGINFO}, now;
  for (int i = 0; i < 4; i++) handle(blocked[i], nests, 0);
  for (int i = 0; i < 4; i++) sigaddset(&action.sa_mask, blocked[i]);
  sigaction(SIGUSR1, &action, NULL);
  sigaction(SIGUSR1, NULL, &now);
  say_set("read back", &now.sa_mask);
  for (int i = 0; i < 5; i++) {
    count = 0;
    raise(SIGUSR1);
    say_mask("after");
    int seen = 0;
    for (int k = 0; k < count; k++) seen += order[k];
    say("handled %d, sum %d\n", count, seen);
  }
  return 0;
}

/* With SA_NODEFER handlers nest, without it one comes after the other. */
static volatile int in_turn;
static void again(int signal, siginfo_t* info, void* context) {
  (void)info, (void)context;
  say("handler %d at depth %d\n", signal, depth++);
  if (in_turn ? in_turn++ < 4 : depth < 4) raise(signal);
  depth--;
}

static int resethand_child;
static void reset_once(void) {
  handle(resethand_child, again, SA_RESETHAND | SA_NODEFER);
  depth = 3;
  raise(resethand_child);
  struct sigaction now;
  sigaction(resethand_child, NULL, &now);
  say("default %d\n", now.sa_handler == SIG_DFL);
  raise(resethand_child);
}

static int handler_flags(void) {
  static const int signals[] = {SIGUSR1, SIGSEGV, SIGTRAP, SIGBUS};
  for (int i = 0; i < 4; i++) {
    handle(signals[i], again, SA_NODEFER);
    raise(signals[i]);
    handle(signals[i], again, 0);
    in_turn = 1;
    raise(signals[i]);
    in_turn = 0;
    resethand_child = signals[i];
    in_child("reset", reset_once);
    if (i == 0) signal(signals[i], SIG_DFL);
  }
  return 0;
}

static void changes(int signal, siginfo_t* info, void* context) {
  (void)info;
  REGISTER_OF(context, REG_RAX) = 1000 + signal;
  REGISTER_OF(context, REG_RBX) ^= 0x5555;
  REGISTER_OF(context, REG_EFL) |= 1; /* carry */
  if (signal == SIGILL) RIP_OF(context) += 2;
  if (signal == SIGSEGV) RIP_OF(context) += 3; /* mov (%rcx), %rdx */
  sigaddset(&((ucontext_t*)context)->uc_sigmask, SIGUSR2);
}

static int frames_changed(void) {
  static const int signals[] = {SIGILL, SIGSEGV, SIGTRAP};
  for (int i = 0; i < 3; i++) {
    long ax = 1, bx = 2, carry = 0;
    sigset_t usr2 = set_of((int[]){SIGUSR2, 0});
    sigprocmask(SIG_UNBLOCK, &usr2, NULL);
    handle(signals[i], changes, 0);
    if (i == 0) __asm__ volatile("clc; ud2; sbb %2, %2" : "+a"(ax), "+b"(bx), "+r"(carry)::"memory", "cc");
    if (i == 1)
      __asm__ volatile("clc; mov (%%rcx), %%rdx; sbb %2, %2"
                       : "+a"(ax), "+b"(bx), "+r"(carry)
                       : "c"(bad_address)
                       : "rdx", "memory", "cc");
    if (i == 2) __asm__ volatile("clc; int3; sbb %2, %2" : "+a"(ax), "+b"(bx), "+r"(carry)::"memory", "cc");
    say("rax %ld rbx %lx carry %ld\n", ax, bx, carry);
    say_mask("after");
  }
  return 0;
}

const struct foreign_case kSignalCases[] = {{"signal_blocked_faults", blocked_faults},
                                            {"signal_kept_by_exec", kept_by_exec},
                                            {"signal_faults_kept_by_exec", faults_kept_by_exec},
                                            {"_state", say_state},
                                            {"signal_handler_masks", handler_masks},
                                            {"signal_handler_flags", handler_flags},
                                            {"signal_frames_changed", frames_changed},
                                            {NULL, NULL}};

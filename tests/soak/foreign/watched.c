/* Who is watched by others: a program that is its own debugger, and one under a seccomp filter. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foreign.h"

__attribute__((noinline)) static void known_instructions(void) {
  __asm__ volatile("int3; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; int3" ::: "memory");
}

/* A debugger in the program: steps from one int3 of its child to the next. */
static int debugs(void) {
  pid_t pid = fork();
  if (pid == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    known_instructions();
    _exit((int)libc_strlen("four"));
  }
  int status, steps = 0;
  struct user_regs_struct registers;
  waitpid(pid, &status, 0);
  say_ended("first", status);
  ptrace(PTRACE_CONT, pid, 0, 0);
  waitpid(pid, &status, 0);
  say_ended("int3", status);
  ptrace(PTRACE_GETREGS, pid, 0, &registers);
  long byte = ptrace(PTRACE_PEEKTEXT, pid, registers.rip, 0) & 0xff;
  say("next byte %lx\n", byte);
  do {
    ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
    waitpid(pid, &status, 0);
    ptrace(PTRACE_GETREGS, pid, 0, &registers);
    steps++;
  } while (WIFSTOPPED(status) && (ptrace(PTRACE_PEEKTEXT, pid, registers.rip, 0) & 0xff) != 0xcc && steps < 1000);
  say("steps %d\n", steps);
  ptrace(PTRACE_POKEDATA, pid, registers.rip, (ptrace(PTRACE_PEEKTEXT, pid, registers.rip, 0) & ~0xffL) | 0x90);
  ptrace(PTRACE_CONT, pid, 0, 0);
  waitpid(pid, &status, 0);
  say_ended("end", status);
  return 0;
}

static int syscall_stops(void) {
  pid_t pid = fork();
  if (pid == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    for (int i = 0; i < 3; i++) {
      raw_call(SYS_getppid, 0, 0, 0, 0);
      raw_call(SYS_lseek, 99, i, SEEK_SET, 0);
    }
    raw_call(SYS_exit_group, 5, 0, 0, 0);
  }
  int status, seen = 0;
  waitpid(pid, &status, 0);
  ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL);
  for (;;) {
    ptrace(PTRACE_SYSCALL, pid, 0, 0);
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) break;
    struct user_regs_struct registers;
    ptrace(PTRACE_GETREGS, pid, 0, &registers);
    int number = (int)registers.orig_rax;
    if (number == SYS_getppid || number == SYS_lseek || number == SYS_exit_group)
      say("stop %d: call %d argument %d event %d\n", seen++, number, number == SYS_lseek ? (int)registers.rsi : 0,
          status >> 16);
  }
  say_ended("end", status);
  return 0;
}

/* ---- seccomp --------------------------------------------------------------------------------- */

static unsigned otherwise;

static void set_filter(void) {
  static const unsigned allowed[] = {SYS_write, SYS_exit_group, SYS_exit, SYS_rt_sigreturn, SYS_getpid};
  struct sock_filter code[16] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
  unsigned short n = 1;
  for (unsigned char i = 0; i < 5; i++)
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], (unsigned char)(5 - i), 0);
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {n, code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) say("filter: %m\n");
}

static void on_sys(int signal, siginfo_t* info, void* context) {
  (void)signal;
  REGISTER_OF(context, REG_RAX) = 1000 + info->si_syscall;
}

static void filtered(void) {
  handle(SIGSYS, on_sys, 0);
  set_filter();
  for (int i = 0; i < 50; i++) libc_strlen("seccomp");
  char text[] = "in the filter\n";
  if (write(1, text, libc_strlen(text)) < 0) _exit(1);
  long got = syscall(SYS_getppid);
  _exit(otherwise == SECCOMP_RET_TRAP ? got == 1000 + SYS_getppid : got < 0 ? errno : 0);
}

static void strict(void) {
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  char text[] = "strict\n";
  if (write(1, text, libc_strlen(text)) < 0) raw_call(SYS_exit, 1, 0, 0, 0);
  raw_call(SYS_exit, 6, 0, 0, 0);
}

static int seccomp(void) {
  otherwise = SECCOMP_RET_KILL_PROCESS;
  in_child("kill", filtered);
  otherwise = SECCOMP_RET_TRAP;
  in_child("trap", filtered);
  otherwise = SECCOMP_RET_ERRNO | 77;
  in_child("errno", filtered);
  in_child("strict", strict);
  otherwise = SECCOMP_RET_KILL_PROCESS;
  filtered();
  return 0;
}

const struct foreign_case kWatchedCases[] = {
    {"ptrace_debugs", debugs}, {"ptrace_syscall_stops", syscall_stops}, {"seccomp_filters", seccomp}, {NULL, NULL}};

/*
 * filtered HOW [early]: sets a seccomp filter that ends the process for almost every system call, then calls work()
 * from the main thread and from four that exist by then; "early": the main thread has called it before, too.
 *
 *   prctl      by prctl(PR_SET_SECCOMP)
 *   syscall    by syscall(SYS_seccomp)
 *   strict     SECCOMP_MODE_STRICT: read, write, exit and sigreturn, nothing else; the main thread alone
 *   none       no filter
 *   stay       as "syscall", and then until its standard input ends; "ready" first, a line for each line
 *
 * Ends with status 4.
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 4, CALLS = 1000 };

static atomic_int is_set, started, done;
static atomic_long sum;

__attribute__((noinline)) long work(long n) {
  __asm__ volatile("");
  return n + 1;
}

static void* spin(void* unused) {
  (void)unused;
  started++;
  while (!is_set) {
  }
  for (long i = 0; i < CALLS; i++) sum += work(i);
  done++;
  for (;;) {
  } /* ends with the process: a thread's own end takes more calls than the filter allows */
  return 0;
}

#define ALLOW(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void set_filter(const char* how) {
  struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                               ALLOW(SYS_read),
                               ALLOW(SYS_write),
                               ALLOW(SYS_exit_group),
                               ALLOW(SYS_rt_sigreturn),
                               ALLOW(SYS_restart_syscall),
                               BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  long failed = 0;
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (!strcmp(how, "prctl"))
    failed = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
  else if (!strcmp(how, "strict"))
    failed = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  else if (strcmp(how, "none"))
    failed = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
  if (failed) _exit(9);
}

static void stay(void) {
  static char line[64];
  (void)!write(1, "ready\n", 6);
  for (ssize_t got; (got = read(0, line, sizeof line)) > 0;) {
    for (long i = 0; i < CALLS; i++) sum += work(i);
    (void)!write(1, line, (size_t)got);
  }
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int is_alone = !strcmp(argv[1], "strict") || !strcmp(argv[1], "stay");
  pthread_t thread;
  for (int i = 0; i < THREADS && !is_alone; i++) pthread_create(&thread, 0, spin, 0);
  while (started < THREADS && !is_alone) { /* a thread's beginning takes calls, too */
  }
  if (argc > 2) work(-1);
  set_filter(argv[1]);
  is_set = 1;
  for (long i = 0; i < CALLS; i++) sum += work(i);
  if (!strcmp(argv[1], "stay")) stay();
  while (done < THREADS && !is_alone) {
  }
  (void)!write(1, "done\n", 5);
  syscall(!strcmp(argv[1], "strict") ? SYS_exit : SYS_exit_group, 4);
}

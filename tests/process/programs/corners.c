// Corners of signals and threads, by name. Each mode prints what it has seen and ends as the kernel says.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "touched.h"

static void hit(long n) {
  if (touch(n, "corner", 0) != 3 * n + 1 || touch_short(n, "corner", 0) != n) {
    puts("wrong result");
    exit(9);
  }
}

static void set_action(int signal, void (*handler)(int, siginfo_t*, void*), int flags, int also_blocked) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | flags;
  sigemptyset(&action.sa_mask);
  if (also_blocked) sigaddset(&action.sa_mask, also_blocked);
  sigaction(signal, &action, 0);
}

static void set_simple(int signal, void (*handler)(int)) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  sigaction(signal, &action, 0);
}

static void block(int how, int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(how, &set, 0);
}

static int is_blocked(int signal) {
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, 0, &now);
  return sigismember(&now, signal);
}

/* ---- traps of its own ---- */

static void int3(void) { __asm__ volatile("int3"); }
static void long_int3(void) { __asm__ volatile(".byte 0xcd, 0x03"); }
static void icebp(void) { __asm__ volatile(".byte 0xf1"); }
static void single_step(void) {
  __asm__ volatile("pushfq; orl $0x100, (%%rsp); popfq; nop; nop; nop" : : : "cc", "memory");
}

/* 77: there are machines (some hypervisors) on which icebp is met again and again. */
static volatile long traps;
static void count_trap(int signal, siginfo_t* info, void* context) {
  if (traps == 3) _exit(77);
  const unsigned char* ip = (const unsigned char*)((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
  ((ucontext_t*)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100ll;
  traps++;
  printf("signal %d code %d before %02x\n", signal, info->si_code, ip[-1]);
}

static int trap_by(void (*trap)(void), const char* how) {
  hit(1);
  if (!strcmp(how, "ignored")) set_simple(SIGTRAP, SIG_IGN);
  if (!strcmp(how, "blocked")) block(SIG_BLOCK, SIGTRAP);
  if (!strcmp(how, "handled")) set_action(SIGTRAP, count_trap, 0, 0);
  trap();
  hit(2);
  printf("alive after %ld traps\n", traps);
  return 0;
}

/* ---- faults in a handler that blocks them ---- */

static volatile int* volatile unreadable = (volatile int*)64;
static sigjmp_buf after;
static volatile int in_handler;
static int wanted;

static void on_fault(int signal, siginfo_t* info, void* context) {
  (void)info;
  (void)context;
  printf("signal %d was handled, in a handler %d\n", signal, in_handler);
  siglongjmp(after, 1);
}

static void read_badly(void) {
  if (sigsetjmp(after, 1) == 0) (void)*unreadable;
}

static void fault_in_handler(int signal, siginfo_t* info, void* context) {
  (void)info;
  (void)context;
  in_handler = 1;
  hit(3);
  printf("signal %d blocked inside: %d\n", signal, is_blocked(SIGSEGV));
  read_badly();
  in_handler = 0;
}

static void look_in_handler(int signal, siginfo_t* info, void* context) {
  (void)info;
  ucontext_t* uc = context;
  hit(4);
  printf("signal %d blocked inside: %d, before: %d\n", signal, is_blocked(SIGSEGV),
         sigismember(&uc->uc_sigmask, SIGSEGV));
  if (wanted == 1) sigaddset(&uc->uc_sigmask, SIGSEGV);
  if (wanted == 2) sigdelset(&uc->uc_sigmask, SIGSEGV);
  if (wanted == 3) siglongjmp(after, 1);
}

static int fault_while_masked(void) {
  set_action(SIGSEGV, on_fault, 0, 0);
  set_action(SIGUSR1, fault_in_handler, 0, SIGSEGV);
  read_badly();
  fflush(stdout);
  raise(SIGUSR1);
  puts("alive");
  return 0;
}

static int masks_of_handlers(void) {
  set_action(SIGSEGV, on_fault, 0, 0);
  set_action(SIGUSR1, look_in_handler, 0, SIGSEGV);
  set_action(SIGUSR2, look_in_handler, SA_RESETHAND, SIGSEGV);
  raise(SIGUSR1);
  printf("after: %d\n", is_blocked(SIGSEGV));
  wanted = 1;
  raise(SIGUSR1);
  printf("blocked by the handler: %d\n", is_blocked(SIGSEGV));
  wanted = 2;
  raise(SIGUSR1);
  printf("unblocked by the handler: %d\n", is_blocked(SIGSEGV));
  wanted = 3;
  if (sigsetjmp(after, 1) == 0) raise(SIGUSR1);
  printf("after a jump: %d\n", is_blocked(SIGSEGV));
  if (sigsetjmp(after, 0) == 0) raise(SIGUSR1);
  printf("after a jump that keeps the mask: %d\n", is_blocked(SIGSEGV));
  block(SIG_UNBLOCK, SIGSEGV);
  wanted = 0;
  raise(SIGUSR2);
  struct sigaction now;
  sigaction(SIGUSR2, 0, &now);
  printf("reset: %d, its mask: %d\n", now.sa_handler == SIG_DFL, sigismember(&now.sa_mask, SIGSEGV));
  sigaction(SIGUSR1, 0, &now);
  printf("own handler: %d, its mask: %d\n", now.sa_sigaction == look_in_handler, sigismember(&now.sa_mask, SIGSEGV));
  read_badly();
  return 0;
}

/* In the handler of an own fault: what is blocked, what it goes back to. */
static int masks_of_faults(void) {
  set_action(SIGBUS, look_in_handler, 0, SIGSEGV);
  raise(SIGBUS);
  wanted = 1;
  raise(SIGBUS);
  printf("blocked by the handler: %d\n", is_blocked(SIGSEGV));
  wanted = 2;
  raise(SIGBUS);
  printf("unblocked by the handler: %d\n", is_blocked(SIGSEGV));
  return 0;
}

/* ---- what a hit lives on is forbidden ---- */

static int without_tsc(void) {
  int state = 0;
  hit(1);
  if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV)) return 8;
  for (long n = 2; n < 12; n++) hit(n);
  prctl(PR_GET_TSC, &state);
  printf("forbidden %d\n", state == PR_TSC_SIGSEGV);
  set_action(SIGSEGV, on_fault, 0, 0);
  if (sigsetjmp(after, 1) == 0) __asm__ volatile("rdtsc" : : : "rax", "rdx");
  hit(12);
  return 0;
}

static char stack[64 << 10] __attribute__((aligned(16)));

static int run_without_tls(void* unused) {
  (void)unused;
  long wrong = 0; /* nothing of libc works here */
  for (long n = 0; n < 10; n++)
    if (touch(n, "null", 0) != 3 * n + 1 || touch_short(n, "null", 0) != n) wrong++;
  __asm__ volatile("syscall" : : "a"(SYS_exit), "D"(wrong) : "rcx", "r11", "memory");
  return 0;
}

static int null_tls(void) {
  int status = 0;
  hit(1);
  const pid_t child = clone(run_without_tls, stack + sizeof stack, CLONE_VM | CLONE_SETTLS | SIGCHLD, 0, 0, 0, 0);
  if (child < 0 || waitpid(child, &status, 0) != child) return 8;
  hit(2);
  printf("child %d\n", status);
  return status != 0;
}

/* ---- many that block everything ---- */

/* From here on it may map so much more; it goes on when somebody says so. */
static int wait_with_room_for(long megabytes) {
  char line[16];
  long pages = 0;
  FILE* sizes = fopen("/proc/self/statm", "r");
  if (!sizes || fscanf(sizes, "%ld", &pages) != 1) return 8;
  fclose(sizes);
  const rlim_t most = (rlim_t)pages * 4096 + ((rlim_t)megabytes << 20);
  const struct rlimit limit = {most, most};
  if (setrlimit(RLIMIT_AS, &limit)) return 8;
  puts("ready");
  return fgets(line, sizeof line, stdin) ? 0 : 8;
}

static pthread_barrier_t all_there, all_done;

static void* block_and_hit(void* number) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, 0);
  hit((long)number);
  pthread_barrier_wait(&all_there);
  hit((long)number);
  pthread_barrier_wait(&all_done);
  return 0;
}

static int start_many(int count) {
  pthread_attr_t small;
  pthread_t one;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 32 << 10);
  for (long n = 0; n < count; n++)
    if (pthread_create(&one, &small, block_and_hit, (void*)n)) return 8;
  return 0;
}

static void on_raised(int signal) { printf("signal %d\n", signal); }

static int crowd_that_blocks(int count) {
  pthread_barrier_init(&all_there, 0, (unsigned)count + 1);
  pthread_barrier_init(&all_done, 0, (unsigned)count + 1);
  if (start_many(count)) return 8;
  pthread_barrier_wait(&all_there);
  set_simple(SIGSEGV, on_raised);
  raise(SIGSEGV);
  hit(7);
  pthread_barrier_wait(&all_done);
  puts("all came back");
  return 0;
}

static void* hit_forever(void* number) {
  while (!usleep(10000)) hit((long)number);
  return number;
}

static int crowd_that_stays(int count) {
  pthread_t one;
  for (long n = 0; n < count; n++)
    if (pthread_create(&one, 0, hit_forever, (void*)n)) return 8;
  puts("ready");
  return pause();
}

static void* raise_one(void* unused) {
  pthread_barrier_wait(&all_there);
  hit(5);
  raise(SIGSEGV);
  return unused;
}

/* The last thread of many sends itself a signal whose action is the default one. */
static int crowd_that_raises(int count) {
  pthread_t one;
  pthread_barrier_init(&all_there, 0, (unsigned)count + 2);
  pthread_barrier_init(&all_done, 0, (unsigned)count + 1);
  if (start_many(count) || pthread_create(&one, 0, raise_one, 0)) return 8;
  pthread_barrier_wait(&all_there);
  pthread_join(one, 0);
  puts("alive");
  return 0;
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  const char* how = argc > 2 ? argv[2] : "";
  setvbuf(stdout, 0, _IOLBF, 0);
  if (!strcmp(mode, "int3")) return trap_by(int3, how);
  if (!strcmp(mode, "long_int3")) return trap_by(long_int3, how);
  if (!strcmp(mode, "icebp")) return trap_by(icebp, how);
  if (!strcmp(mode, "single_step")) return trap_by(single_step, how);
  if (!strcmp(mode, "fault_while_masked")) return fault_while_masked();
  if (!strcmp(mode, "masks_of_handlers")) return masks_of_handlers();
  if (!strcmp(mode, "masks_of_faults")) return masks_of_faults();
  if (!strcmp(mode, "without_tsc")) return without_tsc();
  if (!strcmp(mode, "null_tls")) return null_tls();
  if (!strcmp(mode, "crowd_that_stays")) return crowd_that_stays(atoi(how));
  if (!strncmp(mode, "crowd", 5) && wait_with_room_for(atol(argv[3]))) return 8;
  if (!strcmp(mode, "crowd_that_blocks")) return crowd_that_blocks(atoi(how));
  if (!strcmp(mode, "crowd_that_raises")) return crowd_that_raises(atoi(how));
  fprintf(stderr, "no such mode: %s\n", mode);
  return 2;
}

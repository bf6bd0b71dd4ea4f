/*
 * badly MODE: programs that do what is hard on a tracer.  Each calls touch or touch_short (touched.h) with
 * numbers the test knows, and prints what it found; a probe must not change a word of that.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "touched.h"

static void touch_many(long count, const char* text) {
  for (long i = 0; i < count; i++)
    if (touch(i, text, text) != 3 * i + 1) abort();
}

/* Volatile: the compiler shall not reason about it. */
static volatile uintptr_t bad_address = 16;

/* ---- ends ------------------------------------------------------------------------------------ */

static int own_segv(void) {
  touch_many(100, "before");
  *(volatile int*)bad_address = 1;
  return 0;
}

static int own_kill(void) {
  touch_many(100, "before");
  return kill(getpid(), SIGKILL);
}

static int spin(void) {
  printf("%d\n", getpid());
  fflush(stdout);
  for (long i = 0; bad_address; i++) touch(i, "spinning", NULL);
  return 0;
}

static int run_echo(void) {
  touch_many(10, "before exec");
  execl("/bin/echo", "echo", "after", "exec", (char*)0);
  return 1;
}

/* ---- children -------------------------------------------------------------------------------- */

static int children(void) {
  touch_many(5, "parent");
  for (int k = 0; k < 3; k++) {
    pid_t pid = fork();
    if (pid == 0) {
      touch(1000 + k, "child", NULL);
      if (touch_short(2000 + k, "child", (void*)1) != 2000 + k) _exit(9);
      _exit(k);
    }
    int status;
    waitpid(pid, &status, 0);
    printf("%d %d\n", pid, WEXITSTATUS(status));
  }
  touch_many(5, "parent");
  return 0;
}

extern char** environ;

static int spawned(void) {
  char* words[] = {"true", NULL};
  for (int k = 0; k < 20; k++) {
    touch(k, "spawner", NULL);
    pid_t pid;
    int status = -1;
    if (posix_spawn(&pid, "/bin/true", NULL, NULL, words, environ)) return 4;
    waitpid(pid, &status, 0);
    if (status) return 5;
  }
  if (system("exit 3") != 3 << 8) return 6;
  puts("spawned");
  return 0;
}

/* The first hit is the child's, in its parent's memory; by a bare fork system call there is a copy of it. */
static int first_hit_in_child(void) {
  pid_t first = vfork();
  if (first == 0) {
    touch(1, "vforked", NULL);
    _exit(0);
  }
  waitpid(first, NULL, 0);
  touch(getpid(), "parent", NULL);
  pid_t second = (pid_t)syscall(SYS_fork);
  if (second == 0) {
    for (int i = 0; i < 3; i++) touch(getpid(), "forked", NULL);
    _exit(0);
  }
  waitpid(second, NULL, 0);
  touch(getpid(), "parent", NULL);
  return 0;
}

static void last_words(int signal) {
  (void)signal;
  _exit(42);
}

/* The child's own dispositions and mask do not become the parent's, though they share its memory. */
static int spawned_with_handler(void) {
  char* words[] = {"true", NULL};
  struct sigaction action = {.sa_handler = last_words}, now;
  sigset_t bus, all;
  posix_spawnattr_t attributes;
  sigaction(SIGSEGV, &action, NULL);
  sigemptyset(&bus);
  sigaddset(&bus, SIGBUS);
  sigprocmask(SIG_BLOCK, &bus, NULL);
  sigfillset(&all);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  for (int i = 0; i < 3; i++) {
    pid_t pid;
    int status = -1;
    touch(i, "spawner", NULL);
    if (posix_spawn(&pid, "/bin/true", NULL, i ? &attributes : NULL, words, environ)) return 4;
    waitpid(pid, &status, 0);
    if (status) return 5;
    sigaction(SIGSEGV, NULL, &now);
    if (now.sa_handler != last_words) return 6;
    sigprocmask(SIG_BLOCK, NULL, &bus);
    if (!sigismember(&bus, SIGBUS) || sigismember(&bus, SIGSEGV) || sigismember(&bus, SIGTRAP)) return 7;
  }
  *(volatile int*)bad_address = 1;
  return 8;
}

/* ---- threads --------------------------------------------------------------------------------- */

static void* short_lived(void* argument) {
  touch(gettid(), "thread", argument);
  touch_short(gettid(), "thread", argument);
  return NULL;
}

/* One after the other: the stack and thread pointer of each are the next one's. */
static int threads(void) {
  for (long i = 0; i < 600; i++) {
    pthread_t one;
    if (pthread_create(&one, NULL, short_lived, (void*)i) || pthread_join(one, NULL)) return 4;
  }
  for (long round = 0; round < 20; round++) {
    pthread_t some[16];
    for (int i = 0; i < 16; i++)
      if (pthread_create(&some[i], NULL, short_lived, (void*)round)) return 4;
    for (int i = 0; i < 16; i++) pthread_join(some[i], NULL);
  }
  puts("joined");
  return 0;
}

/* ---- signals --------------------------------------------------------------------------------- */

static sigjmp_buf back;
static volatile sig_atomic_t seen_signal, seen_code, handled, in_handler_blocked;
static void* volatile seen_address;

static void on_fault(int signal, siginfo_t* info, void* context) {
  (void)context;
  sigset_t now;
  sigprocmask(SIG_BLOCK, NULL, &now);
  in_handler_blocked = sigismember(&now, signal) + 2 * sigismember(&now, SIGUSR1);
  seen_signal = signal;
  seen_code = info->si_code;
  seen_address = info->si_addr;
  handled++;
  touch(handled, "handler", (void*)1);
  if (signal != SIGTRAP) siglongjmp(back, 1);
}

static int handlers(void) {
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, old;
  sigaddset(&action.sa_mask, SIGUSR1);
  for (int s = 0; s < 3; s++) {
    const int signals[3] = {SIGSEGV, SIGTRAP, SIGBUS};
    if (sigaction(signals[s], &action, &old) || old.sa_handler != SIG_DFL) return 4;
    if (sigaction(signals[s], NULL, &old) || old.sa_sigaction != on_fault || !(old.sa_flags & SA_SIGINFO)) return 5;
    if (!sigismember(&old.sa_mask, SIGUSR1) || sigismember(&old.sa_mask, SIGUSR2)) return 6;
  }
  for (volatile long i = 0; i < 50; i++) {
    if (!sigsetjmp(back, 1)) *(volatile int*)(0x1000 + 8 * i) = 1;
    if (seen_signal != SIGSEGV || seen_code != SEGV_MAPERR || seen_address != (void*)(0x1000 + 8 * i)) return 7;
    if (in_handler_blocked != 3) return 8;
    touch_short(i, "between", (void*)1);
    __asm__ volatile("int3");
    if (seen_signal != SIGTRAP || handled != 2 * (i + 1)) return 9;
  }
  raise(SIGTRAP);
  if (handled != 101 || seen_code != SI_TKILL) return 10;
  if (!sigsetjmp(back, 1)) kill(getpid(), SIGSEGV);
  if (handled != 102 || seen_code != SI_USER) return 11;
  signal(SIGSEGV, SIG_IGN);
  raise(SIGSEGV);
  printf("handled %d\n", (int)handled);
  return 0;
}

static int blocked(void) {
  sigset_t all, now, none;
  sigfillset(&all);
  sigemptyset(&none);
  for (int i = 0; i < 100; i++) {
    sigprocmask(SIG_SETMASK, &all, NULL);
    touch(i, (const char*)0x10, (void*)0x20);
    if (touch_short(i, (const char*)0x10, (void*)-16) != i) return 4;
    sigprocmask(SIG_SETMASK, &none, &now);
    for (int s = 1; s < 32; s++)
      if (s != SIGKILL && s != SIGSTOP && !sigismember(&now, s)) return 5;
    sigprocmask(SIG_SETMASK, NULL, &now);
    if (sigismember(&now, SIGSEGV) || sigismember(&now, SIGTRAP) || sigismember(&now, SIGINT)) return 6;
  }
  puts("never blocked for good");
  return 0;
}

static void count_handled(int signal) { handled += signal == SIGSEGV; }

static int held_back(void) {
  sigset_t segv;
  signal(SIGSEGV, count_handled);
  sigemptyset(&segv);
  sigaddset(&segv, SIGSEGV);
  for (int i = 0; i < 10; i++) {
    sigprocmask(SIG_BLOCK, &segv, NULL);
    raise(SIGSEGV);
    touch(i, "pending", (void*)1);
    if (handled != i) return 4;
    sigprocmask(SIG_UNBLOCK, &segv, NULL);
    if (handled != i + 1) return 5;
  }
  puts("delivered late");
  return 0;
}

static void on_overflow(int signal) {
  (void)signal;
  touch(77, "alternate stack", NULL);
  static const char text[] = "overflow caught\n";
  if (write(1, text, sizeof text - 1) < 0) _exit(4);
  _exit(3);
}

NOT_INLINED long endless(long n) {
  volatile char frame[512];
  frame[n & 511] = (char)touch(n, "deep", NULL);
  return (bad_address ? endless(n + 1) : 0) + frame[n & 511];
}

static int overflow(void) {
  stack_t other = {.ss_sp = malloc(65536), .ss_size = 65536};
  struct sigaction action = {.sa_handler = on_overflow, .sa_flags = SA_ONSTACK};
  sigaltstack(&other, NULL);
  sigaction(SIGSEGV, &action, NULL);
  return (int)endless(1);
}

/* Signals land inside hits; the handler's own calls are hits or counted misses. */
static volatile long* alarms;

static void on_alarm(int signal) {
  touch(-signal, "alarm", NULL);
  ++*alarms;
}

static int interrupted(void) {
  alarms = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  signal(SIGUSR1, on_alarm);
  pid_t parent = getpid(), pid = fork();
  if (pid == 0) {
    while (*alarms < 2000) kill(parent, SIGUSR1);
    _exit(0);
  }
  int status;
  long turns = 0;
  for (; *alarms < 2000; turns++)
    if (touch(turns, "main", NULL) != 3 * turns + 1) return 4;
  waitpid(pid, &status, 0);
  printf("%ld %ld\n", *alarms, turns);
  return status;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int bad_pointers(void) {
  long page = sysconf(_SC_PAGESIZE);
  char* two = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(two + page, (size_t)page, PROT_NONE);
  memset(two, 'x', (size_t)page);
  memcpy(two + page - 4, "end", 4);
  touch(1, two + page - 4, two + page - 8); /* "end" ends with its page; 8 bytes can be read */
  touch(2, two + page, two + page - 4);     /* unreadable; 4 of 8 bytes can be read */
  two[page - 1] = '!';
  touch(3, two + page - 4, two + page); /* no NUL before the end of the page */
  touch(4, NULL, NULL);
  touch(5, (char*)0x8000000000000000, (void*)0xdead000000000000); /* not canonical */
  touch(6, "fine", "12345678");
  touch_short(7, two + page, two + page);
  return 0;
}

/* ---- jumps and depth ------------------------------------------------------------------------- */

static jmp_buf out;

NOT_INLINED long escape(long n) {
  if (n % 3) longjmp(out, (int)(n % 3));
  return touch(n, "returned", NULL);
}

NOT_INLINED long deeper(long n, long at) {
  if (at) return deeper(n, at - 1) + 1;
  return escape(n);
}

static int jumps(void) {
  volatile long returned = 0, jumped = 0;
  for (volatile long n = 0; n < 6000; n++) {
    if (setjmp(out)) {
      jumped++;
      continue;
    }
    if (deeper(n, n % 17) != 3 * n + 1 + n % 17) return 4;
    returned++;
  }
  printf("returned %ld jumped %ld\n", returned, jumped);
  return 0;
}

NOT_INLINED long recurse(long depth) {
  volatile long rest = depth ? recurse(depth - 1) : 0;
  return rest + 1;
}

static int recursion(void) {
  for (int i = 0; i < 10; i++)
    if (recurse(100) != 101) return 4;
  if (recurse(1000) != 1001) return 5;
  puts("recursed");
  return 0;
}

static int plainly(void) {
  touch_many(1000, "plain");
  puts("done");
  return 0;
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    int (*run)(void);
  } modes[] = {{"segv", own_segv},
               {"kill", own_kill},
               {"spin", spin},
               {"exec", run_echo},
               {"fork", children},
               {"spawn", spawned},
               {"vfork", first_hit_in_child},
               {"spawn_handler", spawned_with_handler},
               {"threads", threads},
               {"handlers", handlers},
               {"blocked", blocked},
               {"held_back", held_back},
               {"overflow", overflow},
               {"interrupted", interrupted},
               {"pointers", bad_pointers},
               {"longjmp", jumps},
               {"recurse", recursion},
               {"plain", plainly}};
  for (size_t i = 0; argc == 2 && i < sizeof modes / sizeof modes[0]; i++)
    if (!strcmp(argv[1], modes[i].name)) return modes[i].run();
  return 2;
}

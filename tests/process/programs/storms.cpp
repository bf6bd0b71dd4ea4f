// storms: everything that makes attaching and leaving hard, at once, until a line comes on standard
// input. Prints "ready", and at the end how much of each happened; status 3 when a result was wrong.
//
//   nested   recursion through touch(), exceptions out of it
//   timers   SIGALRM in any thread, its handler hits too, on an alternate stack
//   jumps    siglongjmp out of the handler of an own fault
//   threads  that live for one call
//   masks    sigprocmask and sigaction all the time
//   children fork, and posix_spawn, which shares our memory until its exec
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

extern "C" {
#include "touched.h"
}

extern "C" NOT_INLINED long deep(int levels, long n) {
  if (levels) return deep(levels - 1, n) + 1;
  if (n % 3 == 0) throw n;
  return touch(n, "deep", &n);
}

namespace {

std::atomic<bool> ending = false;
std::atomic<long> errors = 0, alarms = 0, nested = 0, jumps = 0, lives = 0, masks = 0, children = 0;
thread_local sigjmp_buf after_fault;

// touch_short() gets numbers of more than 32 bits: a thread that loses its breakpoint's signal goes on at the second
// byte of `mov %rdi, %rax`, which moves the lower half.

// Safe in a signal handler.
void wrong(int line) {
  char text[] = "storms.cpp:....: a wrong result\n";
  for (int at = 14, rest = line; at > 10; --at, rest /= 10) text[at] = static_cast<char>('0' + rest % 10);
  if (write(STDERR_FILENO, text, sizeof text - 1) > 0) ++errors;
}

volatile int* volatile unreadable = reinterpret_cast<volatile int*>(64);

void on_alarm(int, siginfo_t*, void*) {
  const int saved = errno;
  if (touch(-7, "alarm", nullptr) != -20) wrong(__LINE__);
  if (touch_short(-7, "alarm", nullptr) != -7) wrong(__LINE__);
  ++alarms;
  errno = saved;
}

void on_fault(int, siginfo_t*, void*) { siglongjmp(after_fault, 1); }

void own_stack() {
  stack_t stack = {};
  stack.ss_size = 64 << 10;
  stack.ss_sp = new char[stack.ss_size];
  sigaltstack(&stack, nullptr);
}

void nest() {
  own_stack();
  for (long n = 0; !ending; ++n, ++nested) {
    const int levels = static_cast<int>(n % 20);
    try {
      if (deep(levels, n) != 3 * n + 1 + levels || n % 3 == 0) wrong(__LINE__);
    } catch (long thrown) {
      if (thrown != n) wrong(__LINE__);
    }
  }
}

void jump() {
  own_stack();
  while (!ending) {
    if (sigsetjmp(after_fault, 1) == 0) {
      (void)**&unreadable;
      wrong(__LINE__);
    }
    ++jumps;
    usleep(100);
  }
}

void live_and_die() {
  while (!ending) {
    std::thread([] {
      if (touch(11, "short life", nullptr) != 34) wrong(__LINE__);
      ++lives;
    }).join();
  }
}

void change_masks() {
  for (long n = 0; !ending; ++n, ++masks) {
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, n % 2 ? SIGSEGV : SIGTRAP);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_SETMASK, &set, nullptr);
    if (touch(n, reinterpret_cast<const char*>(16), nullptr) != 3 * n + 1) wrong(__LINE__);
    if (touch_short(n | 1l << 40, "masked", nullptr) != (n | 1l << 40)) wrong(__LINE__);
    pthread_sigmask(SIG_BLOCK, nullptr, &old);
    if (!sigismember(&old, n % 2 ? SIGSEGV : SIGTRAP) || sigismember(&old, n % 2 ? SIGTRAP : SIGSEGV)) wrong(__LINE__);
    struct sigaction action = {}, seen = {};
    action.sa_handler = SIG_DFL;
    sigaddset(&action.sa_mask, n % 2 ? SIGBUS : SIGUSR2);
    sigaction(SIGUSR1, &action, nullptr);
    sigaction(SIGUSR1, nullptr, &seen);
    if (sigismember(&seen.sa_mask, SIGBUS) != n % 2) wrong(__LINE__);
  }
}

void have_children() {
  char program[] = "/bin/true";
  char* arguments[] = {program, nullptr};
  while (!ending) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) _exit(touch(2, "child", nullptr) == 7 ? 0 : 1);
    if (waitpid(child, &status, 0) != child || status) wrong(__LINE__);
    if (posix_spawn(&child, program, nullptr, nullptr, arguments, nullptr)) wrong(__LINE__);
    if (waitpid(child, &status, 0) != child || status) wrong(__LINE__);
    ++children;
  }
}

}  // namespace

int main() {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
  action.sa_sigaction = on_alarm;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval often = {{0, 500}, {0, 500}};
  setitimer(ITIMER_REAL, &often, nullptr);
  std::vector<std::thread> all;
  for (auto* work : {nest, nest, jump, live_and_die, change_masks, have_children}) all.emplace_back(work);
  while (!alarms || !nested || !jumps || !lives || !masks || !children) sched_yield();
  puts("ready");
  char line[16];
  while (!fgets(line, sizeof line, stdin) && !feof(stdin)) clearerr(stdin);
  ending = true;
  for (std::thread& one : all) one.join();
  printf("alarms %ld nested %ld jumps %ld lives %ld masks %ld children %ld errors %ld\n", alarms.load(), nested.load(),
         jumps.load(), lives.load(), masks.load(), children.load(), errors.load());
  return errors ? 3 : 0;
}

// stays: a program that runs until it is told to end, for tracers that come and go. Commands on
// standard input, one a line, answers on standard output:
//
//   ready           printed first: every thread is where it belongs
//   counts          "counts TICKS FAULTS ERRORS": hits of touch(), its own faults handled, wrong results
//   call, throw     a thread enters hold_and_throw() ("inside"); lets it go on by an exception ("caught 1")
//   wake            ends every blocking call; one line for each: NAME RESULT ERRNO
//   masks           what the blocked thread's signal mask is, as it sees it
//   end             ends with status 0, 3 when a result was wrong
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include "touched.h"
}

extern "C" NOT_INLINED int hold_and_throw(int fd) {
  char byte;
  if (read(fd, &byte, 1) != 1) return 1;
  throw std::runtime_error("out");
}

namespace {

std::atomic<long> ticks = 0, faults = 0, errors = 0;
std::atomic<bool> ending = false, woken = false;
std::atomic<int> sleeping = 0;  // threads that are where they belong
int wake_pipe[2], call_pipe[2];
int futex_word = 0;
int semaphores = -1;
volatile int* volatile unreadable = reinterpret_cast<volatile int*>(64);
thread_local sigjmp_buf after_fault;

void on_fault(int, siginfo_t* info, void*) {
  if (info->si_addr != reinterpret_cast<void*>(64)) _exit(9);
  siglongjmp(after_fault, 1);
}

// Its own faults, and hits with signals as they are.
void tick() {
  ++sleeping;
  for (long i = 0; !ending; ++i) {
    if (touch(i, "tick", &i) != 3 * i + 1) ++errors;
    if (touch_short(i, "tick", nullptr) != i) ++errors;
    if (i % 64 == 0) {
      if (sigsetjmp(after_fault, 1) == 0)
        ++errors, (void)**&unreadable;
      else
        --errors, ++faults;
    }
    ++ticks;
    const timespec pause = {0, 200'000};
    nanosleep(&pause, nullptr);
  }
}

std::atomic<long> wrong_masks = 0;

// Everything blocked: an int3 or an unreadable string would end the program if the signals were not taken over.
void tick_blocked() {
  sigset_t all, seen;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  ++sleeping;
  for (long i = 0; !ending; ++i) {
    if (touch(-i, reinterpret_cast<const char*>(16), nullptr) != -3 * i + 1) ++errors;
    if (touch_short(i, reinterpret_cast<const char*>(16), nullptr) != i) ++errors;
    pthread_sigmask(SIG_BLOCK, nullptr, &seen);
    if (!sigismember(&seen, SIGSEGV) || !sigismember(&seen, SIGTRAP)) ++wrong_masks;
    ++ticks;
    const timespec pause = {0, 200'000};
    nanosleep(&pause, nullptr);
  }
}

struct Blocked {
  const char* name;
  long (*call)();
  long result = 0;
  int error = 0;
  pthread_t thread = 0;
};

long wait_read() {
  char byte;
  return read(wake_pipe[0], &byte, 1);
}
long wait_poll() {
  pollfd one = {wake_pipe[0], POLLIN, 0};
  return poll(&one, 1, -1);
}
long wait_epoll() {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event = {};
  event.events = EPOLLIN;
  epoll_ctl(epoll, EPOLL_CTL_ADD, wake_pipe[0], &event);
  const long result = epoll_wait(epoll, &event, 1, -1);
  const int error = errno;
  close(epoll);
  errno = error;
  return result;
}
long wait_futex() { return syscall(SYS_futex, &futex_word, FUTEX_WAIT, 0, nullptr, nullptr, 0); }
long wait_semop() {
  sembuf take = {0, -1, 0};
  return semop(semaphores, &take, 1);
}
long wait_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  return sigwaitinfo(&set, nullptr);
}
long wait_condition() {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 2;
  pthread_mutex_lock(&mutex);
  const int result = pthread_cond_timedwait(&condition, &mutex, &until);
  pthread_mutex_unlock(&mutex);
  return result == ETIMEDOUT ? 1 : -result;
}
long wait_sleep() {
  timespec before, after;
  const timespec time = {2, 0};
  clock_gettime(CLOCK_MONOTONIC, &before);
  const int result = nanosleep(&time, nullptr);
  const int error = errno;
  clock_gettime(CLOCK_MONOTONIC, &after);
  errno = error;
  const double passed = double(after.tv_sec - before.tv_sec) + double(after.tv_nsec - before.tv_nsec) / 1e9;
  return result ? result : passed >= 2.0;
}

Blocked blocked[] = {{"read", wait_read},           {"poll", wait_poll},   {"epoll", wait_epoll},
                     {"futex", wait_futex},         {"semop", wait_semop}, {"signal", wait_signal},
                     {"condition", wait_condition}, {"sleep", wait_sleep}};

void* run_blocked(void* argument) {
  auto* one = static_cast<Blocked*>(argument);
  ++sleeping;
  one->result = one->call();
  one->error = one->result < 0 ? errno : 0;
  while (!woken) usleep(1000);  // threads and their stacks stay until then
  return nullptr;
}

void wake() {
  woken = true;
  (void)!write(wake_pipe[1], "abc", 3);
  futex_word = 1;
  syscall(SYS_futex, &futex_word, FUTEX_WAKE, 64, nullptr, nullptr, 0);
  sembuf give = {0, 1, 0};
  semop(semaphores, &give, 1);
  kill(getpid(), SIGUSR2);
  for (Blocked& one : blocked) {
    pthread_join(one.thread, nullptr);
    printf("%s %ld %d\n", one.name, one.result, one.error);
  }
}

void call_and_catch() {
  try {
    puts("inside");
    hold_and_throw(call_pipe[0]);
  } catch (const std::runtime_error&) {
    puts("caught 1");
  }
}

}  // namespace

int main() {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  if (pipe2(wake_pipe, O_CLOEXEC) || pipe2(call_pipe, O_CLOEXEC)) return 2;
  semaphores = semget(IPC_PRIVATE, 1, 0600);
  sigset_t usr2;
  sigemptyset(&usr2);
  sigaddset(&usr2, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &usr2, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaddset(&action.sa_mask, SIGTRAP);
  sigaction(SIGSEGV, &action, nullptr);
  action.sa_sigaction = [](int, siginfo_t*, void*) {};
  sigfillset(&action.sa_mask);
  sigaction(SIGUSR1, &action, nullptr);
  signal(SIGBUS, SIG_IGN);

  std::thread ticker(tick), blocked_ticker(tick_blocked), caller;
  for (Blocked& one : blocked) pthread_create(&one.thread, nullptr, run_blocked, &one);
  while (sleeping < 2 + static_cast<int>(sizeof blocked / sizeof blocked[0])) sched_yield();
  puts("ready");
  char line[64];
  while (fgets(line, sizeof line, stdin) && strcmp(line, "end\n")) {
    const std::string word(line, strcspn(line, "\n"));
    if (word == "counts") printf("counts %ld %ld %ld\n", ticks.load(), faults.load(), errors.load());
    if (word == "masks") printf("masks %ld\n", wrong_masks.load());
    if (word == "wake") wake();
    if (word == "call") caller = std::thread(call_and_catch);
    if (word == "throw" && write(call_pipe[1], "x", 1) == 1) caller.join();
  }
  ending = true;
  ticker.join();
  blocked_ticker.join();
  semctl(semaphores, 0, IPC_RMID);
  return errors || wrong_masks ? 3 : 0;
}

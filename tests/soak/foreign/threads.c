/* Threads: mutexes whose owners die, cancellation, ends and execs in the middle of them. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "foreign.h"

static pthread_mutex_t mutex;
static volatile long counter;
static sem_t ready;

static void* locks_and_ends(void* unused) {
  pthread_mutex_lock(&mutex);
  return unused;
}

/* An owner that is gone: a thread, a process, one that was killed. */
static int robust(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&mutex, &attributes);
  for (int i = 0; i < 20; i++) {
    pthread_t one;
    pthread_create(&one, NULL, locks_and_ends, NULL);
    pthread_join(one, NULL);
    int got = pthread_mutex_lock(&mutex);
    if (got != EOWNERDEAD || pthread_mutex_consistent(&mutex) || pthread_mutex_unlock(&mutex)) return 3;
  }
  pthread_mutex_t* shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_mutex_init(shared, &attributes);
  for (int i = 0; i < 10; i++) {
    pid_t pid = fork();
    if (pid == 0) {
      pthread_mutex_lock(shared);
      if (i & 1) raise(SIGKILL);
      _exit(0);
    }
    waitpid(pid, NULL, 0);
    int got = pthread_mutex_lock(shared);
    if (i < 2) say("%s\n", strerror(got));
    pthread_mutex_consistent(shared);
    pthread_mutex_unlock(shared);
  }
  pthread_mutex_lock(shared);
  say("still fine %d\n", pthread_mutex_trylock(shared) == EBUSY);
  return 0;
}

static void* adds(void* unused) {
  for (int i = 0; i < 500; i++) {
    pthread_mutex_lock(&mutex);
    counter = counter + 1;
    pthread_mutex_unlock(&mutex);
  }
  return unused;
}

static int inherits(void) {
  pthread_mutexattr_t attributes;
  pthread_t all[6];
  pthread_mutexattr_init(&attributes);
  say("protocol %d\n", pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT));
  pthread_mutex_init(&mutex, &attributes);
  for (int i = 0; i < 6; i++) pthread_create(&all[i], NULL, adds, NULL);
  for (int i = 0; i < 6; i++) pthread_join(all[i], NULL);
  say("counter %ld\n", counter);
  return 0;
}

static volatile int words[2];
static void* wakes(void* unused) {
  for (int i = 1; i <= 200; i++) {
    while (words[0] != i) syscall(SYS_futex, &words[0], FUTEX_WAIT_PRIVATE, i - 1, NULL, NULL, 0);
    words[1] = i;
    syscall(SYS_futex, &words[1], FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  }
  return unused;
}

static int futexes(void) {
  pthread_t one;
  pthread_create(&one, NULL, wakes, NULL);
  for (int i = 1; i <= 200; i++) {
    words[0] = i;
    syscall(SYS_futex, &words[0], FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    while (words[1] != i) syscall(SYS_futex, &words[1], FUTEX_WAIT_PRIVATE, i - 1, NULL, NULL, 0);
  }
  pthread_join(one, NULL);
  struct timespec soon = {0, 1000000};
  long got = syscall(SYS_futex, &words[0], FUTEX_WAIT, 200, &soon, NULL, 0);
  say("late %ld %d\n", got, errno);
  got = syscall(SYS_futex, &words[0], FUTEX_WAIT, 7, NULL, NULL, 0);
  say("other value %ld %d\n", got, errno);
  got = syscall(SYS_futex, 3L, FUTEX_WAIT, 7, NULL, NULL, 0);
  say("bad address %ld %d\n", got, errno);
  return 0;
}

static void cleans(void* number) { __atomic_add_fetch(&counter, (intptr_t)number, __ATOMIC_SEQ_CST); }

static void* waits(void* how) {
  pthread_cleanup_push(cleans, (void*)1);
  pthread_cleanup_push(cleans, (void*)100);
  sem_post(&ready);
  char byte;
  struct timespec long_time = {1000, 0};
  int ends[2];
  if (pipe(ends)) return NULL;
  switch ((intptr_t)how) {
    case 0:
      pause();
      break;
    case 1:
      nanosleep(&long_time, NULL);
      break;
    case 2:
      if (read(ends[0], &byte, 1)) return NULL;
      break;
    default:
      for (;;) pthread_testcancel();
  }
  pthread_cleanup_pop(0);
  pthread_cleanup_pop(0);
  return NULL;
}

static int cancelled(void) {
  sem_init(&ready, 0, 0);
  int dead = 0;
  for (intptr_t i = 0; i < 20; i++) {
    pthread_t one;
    void* result;
    pthread_create(&one, NULL, waits, (void*)(i % 4));
    sem_wait(&ready);
    pthread_cancel(one);
    pthread_join(one, &result);
    dead += result == PTHREAD_CANCELED;
  }
  say("cancelled %d, cleaned up %ld\n", dead, counter);
  return 0;
}

static void* spins(void* unused) {
  pthread_cleanup_push(cleans, (void*)1);
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  sem_post(&ready);
  for (volatile long i = 0;; i++) libc_abs((int)i);
  pthread_cleanup_pop(0);
  return unused;
}

/* Anywhere: in the middle of a hit, too. */
static int cancelled_anywhere(void) {
  sem_init(&ready, 0, 0);
  int dead = 0;
  for (int i = 0; i < 50; i++) {
    pthread_t one;
    void* result;
    pthread_create(&one, NULL, spins, NULL);
    sem_wait(&ready);
    pthread_cancel(one);
    pthread_join(one, &result);
    dead += result == PTHREAD_CANCELED;
  }
  say("cancelled %d, cleaned up %ld\n", dead, counter);
  return 0;
}

static pthread_t main_thread;
static void* outlives(void* unused) {
  say("main joined %d\n", pthread_join(main_thread, NULL));
  for (int i = 0; i < 100; i++) free(malloc(100));
  say("main's value is gone, %s\n", unused ? "not" : "nothing");
  exit(5);
}

static int main_ends(void) {
  pthread_t one;
  main_thread = pthread_self();
  pthread_create(&one, NULL, outlives, NULL);
  pthread_exit(NULL);
}

static void* works(void* unused) {
  sem_post(&ready);
  for (;;) free(malloc(libc_strlen("a thread that works")));
  return unused;
}

static void* execs(void* unused) {
  become("_hello");
  return unused;
}

static void start_workers(int count) {
  sem_init(&ready, 0, 0);
  for (int i = 0; i < count; i++) {
    pthread_t one;
    pthread_create(&one, NULL, works, NULL);
    sem_wait(&ready);
  }
}

static int exec_of_a_thread(void) {
  pthread_t one;
  start_workers(3);
  pthread_create(&one, NULL, execs, NULL);
  pthread_join(one, NULL);
  return 9;
}

static int exec_with_many(void) {
  start_workers(24);
  become("_hello");
  return 9;
}

static int exit_with_many(void) {
  start_workers(12);
  exit(11);
}

static int killed_with_many(void) {
  start_workers(12);
  *(volatile int*)bad_address = 1;
  return 9;
}

/* ---- of a thread's own ----------------------------------------------------------------------- */

static pthread_key_t keys[3];
static __thread long mine[100];

static void destroys(void* value) {
  __atomic_add_fetch(&counter, (intptr_t)value, __ATOMIC_SEQ_CST);
  if ((intptr_t)value == 1) pthread_setspecific(keys[0], (void*)2); /* once more */
}

static void* has_keys(void* number) {
  for (int i = 0; i < 3; i++) pthread_setspecific(keys[i], (void*)(intptr_t)(i + 1));
  for (int i = 0; i < 100; i++) mine[i] += (intptr_t)number;
  return (void*)mine[99];
}

static int destructors(void) {
  for (int i = 0; i < 3; i++) pthread_key_create(&keys[i], destroys);
  long sum = 0;
  for (intptr_t round = 0; round < 40; round++) {
    pthread_t all[5];
    void* got;
    for (int i = 0; i < 5; i++) pthread_create(&all[i], NULL, has_keys, (void*)round);
    for (int i = 0; i < 5; i++) {
      pthread_join(all[i], &got);
      sum += (long)got;
    }
  }
  say("destroyed %ld, sum %ld, main's %ld\n", counter, sum, mine[99]);
  return 0;
}

static void on_usr1(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  mine[0] += info->si_value.sival_int;
}

static void* receives(void* number) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  if ((intptr_t)number & 1) pthread_sigmask(SIG_BLOCK, &set, NULL);
  sem_post(&ready);
  while (!counter) libc_strlen("waits");
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  return (void*)mine[0];
}

static int own_signals(void) {
  pthread_t all[6];
  sem_init(&ready, 0, 0);
  handle(SIGUSR1, on_usr1, 0);
  for (intptr_t i = 0; i < 6; i++) pthread_create(&all[i], NULL, receives, (void*)i);
  for (int i = 0; i < 6; i++) sem_wait(&ready);
  for (int i = 0; i < 6; i++) pthread_sigqueue(all[i], SIGUSR1, (union sigval){.sival_int = 10 + i});
  counter = 1;
  for (int i = 0; i < 6; i++) {
    void* got;
    pthread_join(all[i], &got);
    if (i & 1) say("thread %d got %ld\n", i, (long)got); /* the others may look before it comes */
  }
  return 0;
}

static void before(void) { say("before\n"); }
static void in_parent(void) { counter += 10; }
static void in_forked(void) { counter += 100; }

static int at_fork(void) {
  pthread_atfork(before, in_parent, in_forked);
  pthread_atfork(NULL, in_parent, NULL);
  pid_t pid = fork();
  if (pid == 0) {
    say("child %ld\n", counter);
    _exit(0);
  }
  waitpid(pid, NULL, 0);
  say("parent %ld\n", counter);
  return 0;
}

const struct foreign_case kThreadCases[] = {{"thread_robust", robust},
                                            {"thread_inherits", inherits},
                                            {"thread_futexes", futexes},
                                            {"thread_cancelled", cancelled},
                                            {"thread_cancelled_anywhere", cancelled_anywhere},
                                            {"thread_main_ends", main_ends},
                                            {"thread_execs", exec_of_a_thread},
                                            {"thread_exec_with_many", exec_with_many},
                                            {"thread_exit_with_many", exit_with_many},
                                            {"thread_killed_with_many", killed_with_many},
                                            {"thread_destructors", destructors},
                                            {"thread_own_signals", own_signals},
                                            {"thread_at_fork", at_fork},
                                            {NULL, NULL}};

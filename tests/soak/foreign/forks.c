/* Children: storms of them, vfork, posix_spawn, the death of a parent. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foreign.h"

extern char** environ;
static volatile long shared;

static int storm_below(int depth) {
  int sum = 1;
  for (int i = 0; depth > 0 && i < 3; i++) {
    pid_t pid = fork();
    if (pid == 0) _exit(storm_below(depth - 1));
    char* some = malloc(100 + (size_t)i);
    int status;
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) _exit(255);
    sum += WEXITSTATUS(status);
    free(some);
  }
  return sum;
}

static int fork_storm(void) {
  say("processes %d\n", storm_below(4));
  int children = 0, status;
  for (int i = 0; i < 60; i++)
    if (fork() == 0) _exit(i);
  for (long sum = 0;; children++) {
    if (wait(&status) < 0) {
      say("children %d, sum %ld\n", children, sum);
      return 0;
    }
    sum += WEXITSTATUS(status);
  }
}

static void* forks(void* number) {
  long sum = 0;
  for (int i = 0; i < 10; i++) {
    pid_t pid = fork();
    int status;
    if (pid == 0) {
      void* some = malloc(5000);
      free(some);
      _exit((int)(intptr_t)number + i);
    }
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return NULL;
    sum += WEXITSTATUS(status);
  }
  return (void*)sum;
}

static int fork_in_threads(void) {
  pthread_t all[8];
  for (long i = 0; i < 8; i++) pthread_create(&all[i], NULL, forks, (void*)i);
  for (int i = 0; i < 8; i++) {
    void* sum;
    pthread_join(all[i], &sum);
    say("%ld\n", (long)sum);
  }
  return 0;
}

static int vforks(void) {
  volatile int sum = 0;
  int status;
  for (volatile int i = 0; i < 100; i++) {
    pid_t pid = vfork();
    if (pid == 0) {
      shared++;
      _exit(i & 1);
    }
    waitpid(pid, &status, 0);
    sum = sum + WEXITSTATUS(status);
  }
  volatile int error = 0;
  pid_t pid = vfork();
  if (pid == 0) {
    execl("/nowhere/at/all", "all", (char*)0);
    error = errno;
    execl("/bin/sh", "sh", "-c", "exit 6", (char*)0);
    _exit(7);
  }
  say_waited("shell", pid);
  say("shared %ld sum %d error %d\n", shared, sum, error);
  return 0;
}

static int spawn(void) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR2);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 5, "spawned", O_CREAT | O_WRONLY, 0644);
  posix_spawn_file_actions_adddup2(&actions, 5, 2);
  posix_spawn_file_actions_addclose(&actions, 5);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &mask);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  char* words[] = {"sh", "-c", "echo to a file >&2; grep SigBlk /proc/self/status; ls /proc/self/fd; exit 3", NULL};
  pid_t pid;
  int error = posix_spawn(&pid, "/bin/sh", &actions, &attributes, words, environ);
  say_waited("shell", pid); /* it writes to the same place */
  say("error %d\n", error);
  say("error %d\n", posix_spawnp(&pid, "no-such-program-at-all", &actions, &attributes, words, environ));
  return 0;
}

/* The last words of a grandchild whose parent ends. */
static int parent_death(void) {
  int ready[2], said[2];
  char byte = 0;
  if (pipe(ready) || pipe(said)) return 3;
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  sigprocmask(SIG_BLOCK, &usr1, NULL);
  pid_t child = fork();
  if (child == 0) {
    if (fork() == 0) {
      int signal;
      prctl(PR_SET_PDEATHSIG, SIGUSR1);
      if (write(ready[1], "r", 1) != 1 || sigwait(&usr1, &signal) || write(said[1], "o", 1) != 1) _exit(1);
      _exit(0);
    }
    _exit(read(ready[0], &byte, 1) == 1 ? 0 : 1);
  }
  say_waited("parent", child);
  close(said[1]);
  ssize_t got = read(said[0], &byte, 1);
  say("got %zd %c\n", got, byte);
  return 0;
}

const struct foreign_case kForkCases[] = {
    {"fork_storm", fork_storm}, {"fork_in_threads", fork_in_threads}, {"vfork", vforks},
    {"posix_spawn", spawn},     {"parent_death", parent_death},       {NULL, NULL}};

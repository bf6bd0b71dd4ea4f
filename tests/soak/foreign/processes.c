/* Processes among others: stops, waits, groups, limits, core files, a tracer of their own, seccomp. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foreign.h"

static int stopped(void) {
  pid_t pid = fork();
  if (pid == 0)
    for (;;) free(malloc(libc_strlen("working")));
  for (int i = 0; i < 20; i++) {
    siginfo_t info;
    memset(&info, 0, sizeof info);
    kill(pid, SIGSTOP);
    if (waitid(P_PID, (id_t)pid, &info, WSTOPPED)) return 3;
    if (i < 2) say("code %d status %d\n", info.si_code, info.si_status);
    kill(pid, SIGCONT);
    if (waitid(P_PID, (id_t)pid, &info, WCONTINUED)) return 4;
    if (i < 2) say("code %d status %d\n", info.si_code, info.si_status);
  }
  int status;
  kill(pid, SIGTERM);
  waitpid(pid, &status, 0);
  say_ended("child", status);
  return 0;
}

static int waits(void) {
  siginfo_t info;
  struct rusage usage;
  int status;
  for (int i = 0; i < 4; i++) {
    pid_t pid = fork();
    if (pid == 0) {
      setpgid(0, 0);
      if (i == 3) abort();
      _exit(10 + i);
    }
    memset(&info, 0, sizeof info);
    int asked = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    say("%d code %d status %d same %d\n", asked, info.si_code, info.si_status, info.si_pid == pid);
    int again = waitid(P_PGID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
    say("%d same %d\n", again, info.si_pid == pid);
    if (i & 1)
      say("wait4 %d\n", wait4(-1, &status, 0, &usage) == pid);
    else
      say("waitpid %d\n", waitpid(-pid, &status, 0) == pid);
    say_ended("child", status);
  }
  say("none %d %d\n", waitpid(-1, &status, WNOHANG), errno);
  signal(SIGCHLD, SIG_IGN); /* they vanish by themselves */
  if (fork() == 0) _exit(1);
  say("vanished %d %d\n", waitpid(-1, &status, 0), errno);
  return 0;
}

static volatile sig_atomic_t groups;
static void of_group(int signal) { groups += signal; }

static int group(void) {
  int ends[2], sum = 0, status;
  char byte;
  if (pipe(ends)) return 3;
  pid_t leader = 0;
  for (int i = 0; i < 5; i++) {
    pid_t pid = fork();
    if (pid == 0) {
      setpgid(0, leader);
      sigset_t set, old;
      sigemptyset(&set);
      sigaddset(&set, SIGUSR1);
      sigprocmask(SIG_BLOCK, &set, &old);
      signal(SIGUSR1, of_group);
      if (write(ends[1], "r", 1) != 1) _exit(9);
      while (!groups) sigsuspend(&old);
      _exit(groups);
    }
    setpgid(pid, leader);
    if (!leader) leader = pid;
  }
  for (int i = 0; i < 5; i++)
    if (read(ends[0], &byte, 1) != 1) return 4;
  say("sent %d\n", kill(-leader, SIGUSR1));
  for (int i = 0; i < 5; i++) {
    waitpid(-leader, &status, 0);
    sum += WEXITSTATUS(status);
  }
  say("sum %d, nobody left %d\n", sum, kill(-leader, 0) && errno == ESRCH);
  return 0;
}

static void dies(int how) {
  int status;
  pid_t pid = fork();
  if (pid == 0) {
    struct rlimit limit = {how == 1 ? 0 : RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_CORE, &limit);
    if (how == 2) prctl(PR_SET_DUMPABLE, 0);
    if (how == 3) prctl(PR_SET_NO_NEW_PRIVS, 1);
    if (how == 4) *(volatile int*)bad_address = 1;
    if (how == 5) raise(SIGTRAP);
    abort();
  }
  waitpid(pid, &status, 0);
  char name[40] = "core", magic[4] = "";
  if (access(name, F_OK)) snprintf(name, sizeof name, "core.%d", pid);
  int fd = open(name, O_RDONLY);
  if (fd >= 0 && read(fd, magic, 4) != 4) magic[0] = 0;
  say("%d: signal %d dumped %d a core file %d\n", how, WTERMSIG(status), WCOREDUMP(status) != 0,
      !memcmp(magic, "\177ELF", 4));
  if (fd >= 0) close(fd);
  unlink(name);
}

static int cores(void) {
  char folder[] = "cores-XXXXXX";
  if (!mkdtemp(folder) || chdir(folder)) return 3;
  for (int how = 0; how < 6; how++) dies(how);
  return chdir("..") || rmdir(folder);
}

static int not_dumpable(void) {
  say("set %d\n", prctl(PR_SET_DUMPABLE, 0));
  say("is %d\n", prctl(PR_GET_DUMPABLE));
  pid_t pid = fork();
  if (pid == 0) {
    for (int i = 0; i < 100; i++) free(malloc(10));
    _exit(prctl(PR_GET_DUMPABLE));
  }
  int status;
  waitpid(pid, &status, 0);
  say_ended("child", status);
  become("_hello");
  return 1;
}

static int hello(void) {
  say("hello, dumpable %d\n", prctl(PR_GET_DUMPABLE));
  return 0;
}

static long deep(long n) {
  volatile char frame[4096];
  frame[0] = (char)n;
  return bad_address == 16 && n < 1000 ? deep(n + 1) + frame[0] : frame[0];
}

static void little_stack(void) {
  struct rlimit limit = {256 * 1024, 256 * 1024};
  setrlimit(RLIMIT_STACK, &limit);
  deep(0);
}

static int limits(void) {
  in_child("little stack", little_stack);
  struct rlimit limit = {1 << 20, RLIM_INFINITY}, old;
  getrlimit(RLIMIT_AS, &old);
  setrlimit(RLIMIT_AS, &limit);
  void* map = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  say("map %d %d\n", map == MAP_FAILED, errno);
  void* much = malloc(64 << 20);
  say("malloc %d %d\n", much == NULL, errno);
  setrlimit(RLIMIT_AS, &old);
  getrlimit(RLIMIT_NOFILE, &old);
  limit = (struct rlimit){5, old.rlim_max};
  setrlimit(RLIMIT_NOFILE, &limit);
  for (int i = 0; i < 4; i++) {
    errno = 0;
    int fd = open("/dev/null", O_RDONLY);
    say("fd %d errno %d\n", fd, errno);
  }
  setrlimit(RLIMIT_NOFILE, &old);
  limit = (struct rlimit){100, RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &limit);
  signal(SIGXFSZ, SIG_IGN);
  char bytes[300] = "";
  int fd = open("limited", O_CREAT | O_WRONLY, 0600);
  ssize_t first = write(fd, bytes, 300), second = write(fd, bytes, 300);
  say("written %zd %zd %d\n", first, second, errno);
  return 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

static void* named(void* name) {
  char got[20] = "";
  prctl(PR_SET_NAME, name);
  pthread_getname_np(pthread_self(), got, sizeof got);
  return strdup(got);
}

static int names(void) {
  char text[40] = "";
  char* words[] = {"short", "exactly-fifteen", "more than fifteen bytes of name", "", "new\nline"};
  for (int i = 0; i < 5; i++) {
    pthread_t one;
    void* got = NULL;
    pthread_create(&one, NULL, named, words[i]);
    pthread_join(one, &got);
    prctl(PR_SET_NAME, words[i]);
    int fd = open("/proc/self/comm", O_RDONLY);
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    say("%s|%.*s", (char*)got, (int)length, text);
  }
  return 0;
}

const struct foreign_case kProcessCases[] = {{"process_stopped", stopped},
                                             {"process_waits", waits},
                                             {"process_group", group},
                                             {"process_cores", cores},
                                             {"process_not_dumpable", not_dumpable},
                                             {"_hello", hello},
                                             {"process_limits", limits},

                                             {"process_names", names},
                                             {NULL, NULL}};

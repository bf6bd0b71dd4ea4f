/* See sigtrap.h. A question is a long (how many), an answer a double (nanoseconds). */
#define _GNU_SOURCE
#include "sigtrap.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

extern char** environ;

static void on_trap(int signal) { (void)signal; }

int sigtrap_serve(void) {
  struct sigaction action = {.sa_handler = on_trap};
  if (sigaction(SIGTRAP, &action, NULL) != 0) return 1;
  long calls;
  while (read(STDIN_FILENO, &calls, sizeof calls) == (ssize_t)sizeof calls) {
    const double start = bench_now_ns();
    for (long i = 0; i < calls; i++) __asm__ volatile("int3");
    const double spent = bench_now_ns() - start;
    if (write(STDOUT_FILENO, &spent, sizeof spent) != (ssize_t)sizeof spent) return 1;
  }
  return 0;
}

struct sigtrap_helper sigtrap_start(void) {
  struct sigtrap_helper helper = {-1, -1, -1};
  int question[2], answer[2];
  if (pipe2(question, O_CLOEXEC) != 0) return helper;
  if (pipe2(answer, O_CLOEXEC) != 0) {
    close(question[0]);
    close(question[1]);
    return helper;
  }
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, question[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, answer[1], STDOUT_FILENO);
  char* argv[] = {"kevt_bench", "--serve", NULL};
  const int failed = posix_spawn(&helper.pid, "/proc/self/exe", &files, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&files);
  close(question[0]);
  close(answer[1]);
  if (failed) {
    close(question[1]);
    close(answer[0]);
    return helper;
  }
  helper.to = question[1];
  helper.from = answer[0];
  return helper;
}

double sigtrap_slice(const struct sigtrap_helper* helper, long calls) {
  double spent;
  if (write(helper->to, &calls, sizeof calls) != (ssize_t)sizeof calls) return -1;
  if (read(helper->from, &spent, sizeof spent) != (ssize_t)sizeof spent) return -1;
  return spent;
}

void sigtrap_stop(struct sigtrap_helper* helper) {
  if (helper->to < 0) return;
  close(helper->to);
  close(helper->from);
  waitpid(helper->pid, NULL, 0);
  helper->to = helper->from = -1;
}

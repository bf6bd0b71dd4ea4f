/*
 * Calls step(i) and other(i) when it is told to: a line "FROM TO THREADS" makes each of so many threads call both for i
 * from FROM on, below TO. "done" says that all have.
 *
 * "0 0 -1" forks a child, which stays; from then on "FROM TO 0" is for the child.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

struct range {
  long from, to;
};
static struct range range;
static volatile long sink;
static int to_child = -1, from_child = -1;

__attribute__((noinline)) void step(long i) { sink = i; }
__attribute__((noinline)) void other(long i) { sink = -i; }

static void* run(void* unused) {
  for (long i = range.from; i < range.to; i++) {
    step(i);
    other(i);
  }
  return unused;
}

static int run_in_threads(int count) {
  enum { MOST = 16 };
  pthread_t threads[MOST];
  if (count > MOST) return -1;
  for (int i = 0; i < count; i++)
    if (pthread_create(&threads[i], NULL, run, NULL)) return -1;
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  return 0;
}

static int fork_child(void) {
  int orders[2], answers[2];
  if (pipe(orders) || pipe(answers)) return -1;
  const pid_t pid = fork();
  if (pid == 0) {
    close(orders[1]);
    while (read(orders[0], &range, sizeof range) == sizeof range) {
      run(NULL);
      if (write(answers[1], "", 1) != 1) break;
    }
    _exit(0);
  }
  close(orders[0]);
  to_child = orders[1];
  from_child = answers[0];
  return pid < 0 ? -1 : 0;
}

static int run_in_child(void) {
  char answer;
  if (write(to_child, &range, sizeof range) != sizeof range) return -1;
  return read(from_child, &answer, 1) == 1 ? 0 : -1;
}

int main(void) {
  int count = 0, failed = 0;
  while (!failed && scanf("%ld %ld %d", &range.from, &range.to, &count) == 3) {
    failed = count < 0 ? fork_child() : count == 0 ? run_in_child() : run_in_threads(count);
    puts(failed ? "failed" : "done");
    fflush(stdout);
  }
  close(to_child);
  while (wait(NULL) > 0) continue;
  return failed != 0;
}

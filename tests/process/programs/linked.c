/* One program to be linked in every way: dynamic, static, static-pie, by glibc and by musl (linked_test.py).
 * Threads, signals, a bad pointer, fork, and what the calls add up to. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kThreads = 3, kCalls = 1000 };

__attribute__((noipa)) long work(int number, const char* text) {
  return number + (text < (const char*)4096 ? 0 : (long)strlen(text));
}

static void* in_thread(void* unused) {
  (void)unused;
  long sum = 0;
  for (int i = 0; i < kCalls; i++) sum += work(i, "from a thread");
  return (void*)sum;
}

static volatile sig_atomic_t signals;
static void on_signal(int number) {
  work(number, "in a handler");
  signals++;
}

int main(void) {
  pthread_t threads[kThreads];
  long sum = 0;
  struct sigaction action = {.sa_handler = on_signal};
  sigfillset(&action.sa_mask);
  sigaction(SIGUSR1, &action, NULL);
  raise(SIGUSR1);
  for (int i = 0; i < kThreads; i++) pthread_create(&threads[i], NULL, in_thread, NULL);
  for (int i = 0; i < kThreads; i++) {
    void* result;
    pthread_join(threads[i], &result);
    sum += (long)result;
  }
  work(-1, (const char*)16);
  const pid_t child = fork();
  if (child == 0) _exit((int)work(2, "child"));
  int status = 0;
  waitpid(child, &status, 0);
  char* copy = strdup("main");
  printf("%ld %d %d\n", sum + work(1, copy), (int)signals, WEXITSTATUS(status));
  free(copy);
  return 5;
}

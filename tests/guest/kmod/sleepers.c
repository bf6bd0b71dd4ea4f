/* sleepers THREADS ROUNDS: in each round one thread sleeps in msgrcv() while each of the others
 * calls msgrcv() once and returns. A return probe on msgrcv() with maxactive 1 so has ROUNDS hits
 * and ROUNDS * (THREADS - 1) misses, whatever the scheduler does. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WAKE = 1, NEVER_SENT = 2 };

struct message {
  long type;
  char text[8];
};

static int queue;
static atomic_int holder;

static void* sleep_in_it(void* unused) {
  struct message got;

  atomic_store(&holder, gettid());
  return msgrcv(queue, &got, sizeof got.text, WAKE, 0) < 0 ? &queue : unused;
}

static void* pass_through(void* unused) {
  struct message got;

  return msgrcv(queue, &got, sizeof got.text, NEVER_SENT, IPC_NOWAIT) == -1 && errno == ENOMSG ? unused : &queue;
}

/* Returns once the thread sleeps in msgrcv(): while a thread runs, /proc names no call of it. */
static void await_sleep(int tid) {
  char name[64], call[32];
  int asleep = 0;

  snprintf(name, sizeof name, "/proc/self/task/%d/syscall", tid);
  while (!asleep) {
    FILE* stream = fopen(name, "r");
    if (!stream) exit(3);
    asleep = fgets(call, sizeof call, stream) && atoi(call) == SYS_msgrcv;
    fclose(stream);
    sched_yield();
  }
}

static int play(int count) {
  const struct message wake = {WAKE, "wake"};
  pthread_t threads[64];
  void* wrong = NULL;
  int failed = 0;

  atomic_store(&holder, 0);
  if (pthread_create(&threads[0], NULL, sleep_in_it, NULL) != 0) return 1;
  while (!atomic_load(&holder)) sched_yield();
  await_sleep(atomic_load(&holder));
  for (int i = 1; i < count; i++)
    if (pthread_create(&threads[i], NULL, pass_through, NULL) != 0) return 1;
  for (int i = 1; i < count; i++) failed |= pthread_join(threads[i], &wrong) || wrong;
  failed |= msgsnd(queue, &wake, sizeof wake.text, 0);
  return failed | (pthread_join(threads[0], &wrong) || wrong);
}

int main(int argc, char** argv) {
  int count = argc > 2 ? atoi(argv[1]) : 8;
  int rounds = argc > 2 ? atoi(argv[2]) : 10;
  int failed = 0;

  if (count < 2 || count > 64 || (queue = msgget(IPC_PRIVATE, 0600)) < 0) return 2;
  for (int i = 0; i < rounds && !failed; i++) failed = play(count);
  msgctl(queue, IPC_RMID, NULL);
  return failed;
}

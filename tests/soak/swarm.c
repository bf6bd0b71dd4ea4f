/*
 * swarm FILE [US]: 8 threads call touch in a tight loop, and touch_short, an int3 site, each 256th time, and rest then
 * for US microseconds; the first thread forks children that do the same for a moment.  Each answer is checked.  Ends
 * with status 7 when FILE says so.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "swarm_page.h"
#include "touched.h"

static swarm_page* page;
static unsigned rest_us;
static const char* const texts[4] = {"anvil", "a", "", "a text of some length"};

static int is_stopped(void) { return __atomic_load_n(&page->stop, __ATOMIC_ACQUIRE) != 0; }

static uint64_t call_both(long number) {
  uint64_t wrong = touch(number, texts[number & 3], page) != 3 * number + 1;
  if (number % 256 == 0) wrong += touch_short(number, texts[1], page) != number;
  return wrong;
}

static void* work(void* argument) {
  const long me = (long)argument;
  for (long number = me; !is_stopped(); number++) {
    page->wrong[me] += call_both(number);
    __atomic_store_n(&page->calls[me], page->calls[me] + 1, __ATOMIC_RELEASE);
    if (rest_us && number % 256 == 0) usleep(rest_us);
  }
  return NULL;
}

static int child(void) {
  uint64_t wrong = 0;
  for (long number = 0; number < 2000; number++) wrong += call_both(number);
  return wrong ? 1 : 0;
}

static void fork_children(void) {
  while (!is_stopped()) {
    const pid_t made = fork();
    if (made == 0) _exit(child());
    int status = 0;
    if (made < 0 || waitpid(made, &status, 0) != made || status != 0) page->forks_wrong++;
    page->forks++;
    usleep(2000);
  }
}

int main(int argc, char** argv) {
  const int file = argc >= 2 ? open(argv[1], O_RDWR) : -1;
  if (file < 0) return 2;
  if (argc == 3) rest_us = (unsigned)strtoul(argv[2], NULL, 10);
  page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) return 2;
  pthread_t threads[SWARM_THREADS];
  for (long i = 0; i < SWARM_THREADS; i++)
    if (pthread_create(&threads[i], NULL, work, (void*)i)) return 2;
  fork_children();
  for (int i = 0; i < SWARM_THREADS; i++) pthread_join(threads[i], NULL);
  return 7;
}

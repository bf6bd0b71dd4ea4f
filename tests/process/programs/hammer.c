/*
 * hammer FILE: 8 threads on at most 2 CPUs call touch and touch_short in a tight loop, check each result and
 * count, all in the page that FILE holds (hammer_page.h).  number = turn << 8 | thread, so that a record tells
 * who made it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hammer_page.h"
#include "touched.h"

static hammer_page* page;
static const char* const texts[4] = {"anvil", "a", "", "a text of some length"};

static void stay_on_two_cpus(void) {
  cpu_set_t mine, two;
  CPU_ZERO(&two);
  if (sched_getaffinity(0, sizeof mine, &mine)) return;
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&two) < 2; cpu++)
    if (CPU_ISSET(cpu, &mine)) CPU_SET(cpu, &two);
  sched_setaffinity(0, sizeof two, &two);
}

static void* work(void* argument) {
  long me = (long)argument;
  page->tids[me] = (uint32_t)gettid();
  for (uint64_t turn = 0; !__atomic_load_n(&page->stop, __ATOMIC_ACQUIRE); turn++) {
    if (page->limit && turn == page->limit) break;
    long number = (long)(turn << 8) | me;
    if (touch(number, texts[turn & 3], page) != 3 * number + 1) page->wrong[me]++;
    if (touch_short(number, texts[turn & 3], page) != number) page->wrong[me]++;
    page->calls[me]++;
  }
  return NULL;
}

int main(int argc, char** argv) {
  int file = argc == 2 ? open(argv[1], O_RDWR) : -1;
  if (file < 0) return 2;
  page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) return 2;
  stay_on_two_cpus();
  pthread_t threads[HAMMER_THREADS];
  for (long i = 0; i < HAMMER_THREADS; i++)
    if (pthread_create(&threads[i], NULL, work, (void*)i)) return 3;
  for (int i = 0; i < HAMMER_THREADS; i++) pthread_join(threads[i], NULL);
  return 7;
}

/*
 * shared_table KIND [FILE]: a program that ticks, and another process that shares its descriptor table (CLONE_FILES)
 * but not its memory, and does this with every low descriptor, all the time:
 *
 *   none        nothing: there is no such process
 *   exchange    puts FILE there, takes it away
 *   stuff       puts a socket there whose buffer is full
 *   hangup      puts a socket there whose other end is closed
 *   truncate    cuts off, punches holes into, seals and overwrites what can be
 *
 * Prints "ready"; answers "counts" by "counts TICKS ERRORS", ends with "end".
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/falloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "touched.h"

enum { LOWEST = 3, HIGHEST = 12, KEPT = 500 };

static const char *kind, *file;
static volatile long ticks, errors;
static volatile int is_ending;

static int full_socket(void) {
  static char bytes[65536];
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) return -1;
  while (send(pair[0], bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
  }
  dup2(pair[1], KEPT + 1);
  return pair[0];
}

static int closed_socket(void) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) return -1;
  close(pair[1]);
  return pair[0];
}

/* What is put in the place of others; -1: nothing. */
static int replacement(void) {
  if (!strcmp(kind, "exchange")) return open(file, O_RDWR);
  if (!strcmp(kind, "stuff")) return full_socket();
  if (!strcmp(kind, "hangup")) return closed_socket();
  return -1;
}

static void spoil(int fd) {
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0) return; /* no memfd */
  ftruncate(fd, 0);
  fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1 << 20);
  for (int seal = 1; seal <= F_SEAL_FUTURE_WRITE; seal *= 2)
    if (seal != F_SEAL_SEAL) fcntl(fd, F_ADD_SEALS, seal);
  pwrite(fd, "spoilt", 6, 4096);
  void* mapped = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return;
  memset(mapped, 0xcc, 1 << 16);
  munmap(mapped, 1 << 16);
}

static int interfere(void* nothing) {
  (void)nothing;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int put = replacement() < 0 ? -1 : dup2(replacement(), KEPT);
  for (unsigned n = 0;; n++) {
    const int fd = LOWEST + (int)(n % (HIGHEST - LOWEST + 1));
    if (put < 0)
      spoil(fd);
    else if (n / 16 % 2)
      close(fd);
    else
      dup2(put, fd);
  }
  return 0;
}

static void* tick(void* nothing) {
  for (long n = 0; !is_ending; n++) {
    if (touch(n, "tick", &n) != 3 * n + 1 || touch_short(n, "tick", &n) != n) errors++;
    ticks++;
    usleep(200);
  }
  return nothing;
}

int main(int argc, char** argv) {
  char line[64];
  pthread_t ticker;
  kind = argc > 1 ? argv[1] : "none";
  file = argc > 2 ? argv[2] : "";
  setvbuf(stdout, NULL, _IOLBF, 0);
  pthread_create(&ticker, NULL, tick, NULL);
  char* stack = malloc(1 << 16);
  if (strcmp(kind, "none") && clone(interfere, stack + (1 << 16), CLONE_FILES | SIGCHLD, NULL) < 0) return 2;
  puts("ready");
  while (fgets(line, sizeof line, stdin) && strcmp(line, "end\n"))
    if (!strcmp(line, "counts\n")) printf("counts %ld %ld\n", ticks, errors);
  is_ending = 1;
  pthread_join(ticker, NULL);
  return errors ? 3 : 0;
}

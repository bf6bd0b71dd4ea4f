/*
 * truncates PID: spoils every memory file that this process and its children have open, through /proc/PID/fd, until the
 * process has ended.  Prints "opened N cut N", how many it could open and cut off.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/falloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Less than that a file has that the tracer has not made yet, but this program has written to. */
enum { HIGHEST = 40, LEAST_BYTES = 1 << 16 };

static long opened, cut;

static void spoil(pid_t pid, int fd) {
  char path[64], name[16] = "";
  struct stat status;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
  if (readlink(path, name, sizeof name - 1) < 0 || strncmp(name, "/memfd:", 7)) return; /* not a file of others */
  const int file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return;
  if (fcntl(file, F_GET_SEALS) >= 0) {
    opened++;
    if (fstat(file, &status) == 0 && status.st_size >= LEAST_BYTES && ftruncate(file, 0) == 0) cut++;
    fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1 << 20);
    if (pwrite(file, "spoilt", 6, 4096) < 0) fcntl(file, F_ADD_SEALS, F_SEAL_WRITE);
  }
  close(file);
}

static pid_t child_of(pid_t pid) {
  char path[64], text[64] = "";
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0 || read(file, text, sizeof text - 1) < 0) text[0] = 0;
  if (file >= 0) close(file);
  return atoi(text);
}

static int has_ended(pid_t pid) {
  char path[64], text[512] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 1;
  if (read(file, text, sizeof text - 1) < 0) text[0] = 0;
  close(file);
  const char* name_end = strrchr(text, ')');
  return !name_end || name_end[2] == 'Z';
}

int main(int argc, char** argv) {
  const pid_t pid = argc > 1 ? atoi(argv[1]) : 0;
  while (!has_ended(pid)) {
    const pid_t child = child_of(pid);
    for (int turn = 0; turn < 20; turn++)
      for (int fd = 3; fd <= HIGHEST; fd++) {
        if (turn == 0) spoil(pid, fd);
        if (child) spoil(child, fd);
      }
  }
  printf("opened %ld cut %ld\n", opened, cut);
  return 0;
}

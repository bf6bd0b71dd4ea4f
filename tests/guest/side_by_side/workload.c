/* Calls the functions that the definitions probe, from one thread on one CPU: workload FOLDER ROUNDS. Stops itself
 * before the first call; SIGCONT lets it go on. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int run(const char* program) {
  char* words[] = {(char*)program, "first word", "second", NULL};
  pid_t child = vfork();
  int status = 1;

  if (child == 0) {
    execv(program, words);
    _exit(127);
  }
  return child < 0 || waitpid(child, &status, 0) != child ? -1 : status;
}

int main(int argc, char** argv) {
  cpu_set_t cpus;
  char path[256], text[64];
  int rounds = argc > 2 ? atoi(argv[2]) : 4;

  CPU_ZERO(&cpus);
  CPU_SET(0, &cpus);
  if (argc < 3 || sched_setaffinity(0, sizeof cpus, &cpus) != 0 || raise(SIGSTOP) != 0) return 2;
  for (int i = 0; i < rounds; i++) {
    snprintf(path, sizeof path, "%s/file-%d.txt", argv[1], i % 3);
    int fd = open(path, O_RDWR | O_CREAT, 0640);
    if (fd < 0) return 1;
    int length = snprintf(text, sizeof text, "round %d of %d", i, rounds);
    if (write(fd, text, length + 1) < 0 || pread(fd, text, sizeof text, i % 5) < 0) return 1;
    close(fd);
    if (open("/no/such/file", O_RDONLY) >= 0 || run("/bin/true") != 0) return 1;
  }
  return 0;
}

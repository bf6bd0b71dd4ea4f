/*
 * contained IN OUT FILE COMMAND…: runs COMMAND as root of a container: user, mount and PID namespaces of its own. Asks
 * come from the descriptor IN, answers go to OUT, one a line:
 *
 *   contained PID   first: the container's init, as the outside sees it
 *   hold PID        a process of another user with that number, in the container, has FILE open on low descriptors;
 *                   answer "hold PID", or "hold -ERRNO"
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { USER = 1000, HIGHEST = 63 };

static char** words;
static int in, out;

static void put(pid_t pid, const char* name, const char* text) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
  const int file = open(path, O_WRONLY);
  if (file < 0 || write(file, text, strlen(text)) < 0) fprintf(stderr, "contained: %s: %s\n", path, strerror(errno));
  if (file >= 0) close(file);
}

static void map_users(pid_t init) {
  char map[64] = "0 0 65536";
  if (geteuid() != 0) {
    snprintf(map, sizeof map, "0 %d 1", geteuid());
    put(init, "setgroups", "deny");
  }
  put(init, "uid_map", map);
  if (geteuid() != 0) snprintf(map, sizeof map, "0 %d 1", getegid());
  put(init, "gid_map", map);
}

static pid_t numbered_child(pid_t wanted) {
  struct clone_args arguments = {.exit_signal = SIGCHLD, .set_tid = (uint64_t)&wanted, .set_tid_size = 1};
  return (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
}

static void hold(pid_t wanted, int file) {
  const pid_t pid = numbered_child(wanted);
  if (pid == 0) {
    for (int fd = 3; fd <= HIGHEST; fd++)
      if (fd != file) dup2(file, fd);
    if (setresuid(USER, USER, USER)) errno = 0; /* not mapped: it stays root */
    for (;;) pause();
  }
  dprintf(out, "hold %d\n", pid < 0 ? -errno : pid);
}

static int run_init(void* go) {
  char byte;
  if (read(((int*)go)[0], &byte, 1) != 1) return 1;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
  if (mount("proc", "/proc", "proc", 0, NULL)) return 2;
  const int file = open(words[3], O_RDWR | O_CLOEXEC);
  if (fork() == 0) {
    close(in);
    close(out);
    execv(words[4], words + 4);
    _exit(127);
  }
  FILE* asks = fdopen(in, "r");
  char line[64];
  dprintf(out, "begun\n");
  while (fgets(line, sizeof line, asks)) {
    pid_t wanted;
    if (sscanf(line, "hold %d", &wanted) == 1) hold(wanted, file);
  }
  return 0;
}

int main(int argc, char** argv) {
  int go[2];
  if (argc < 5 || pipe(go)) return 2;
  words = argv;
  in = atoi(argv[1]);
  out = atoi(argv[2]);
  char* stack = malloc(1 << 16);
  const pid_t init = clone(run_init, stack + (1 << 16), CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, go);
  if (init < 0) return 77;
  map_users(init);
  dprintf(out, "contained %d\n", init);
  if (write(go[1], "x", 1) != 1) return 2;
  int status = 0;
  waitpid(init, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

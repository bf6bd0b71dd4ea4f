/* becomes HOW: runs `cat /dev/null` in one of the ways there are. */
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;
static char* const kCat[] = {"cat", "/dev/null", NULL};

static void* exec_in_thread(void* nothing) {
  execve("/bin/cat", kCat, environ);
  return nothing;
}

static int wait_for(pid_t pid) {
  int status = 0;
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  if (!strcmp(how, "execve")) return execve("/bin/cat", kCat, environ);
  if (!strcmp(how, "execvp")) return execvp("cat", kCat);
  if (!strcmp(how, "posix_spawn")) {
    pid_t pid = 0;
    return posix_spawnp(&pid, "cat", NULL, NULL, kCat, environ) ? 98 : wait_for(pid);
  }
  if (!strcmp(how, "vfork")) {
    const pid_t pid = vfork();
    if (pid == 0) {
      execve("/bin/cat", kCat, environ);
      _exit(97);
    }
    return wait_for(pid);
  }
  if (!strcmp(how, "thread")) { /* not the first one: the others end, and it becomes the process */
    pthread_t thread;
    pthread_create(&thread, NULL, exec_in_thread, NULL);
    pthread_join(thread, NULL);
    return 96;
  }
  if (!strcmp(how, "failing")) { /* executable, but no program */
    char name[] = "/tmp/kevt-becomes-XXXXXX";
    const int file = mkstemp(name);
    if (file < 0 || write(file, "\177ELF", 4) != 4 || fchmod(file, 0755)) return 95;
    close(file);
    for (int i = 0; i < 3; i++) execve(name, kCat, environ);
    unlink(name);
    return execve("/bin/cat", kCat, environ);
  }
  if (!strcmp(how, "system")) return system("cat /dev/null");
  return 2;
}

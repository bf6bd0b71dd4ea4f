/* Loads a library, calls its twice(), unloads it, loads another one at its place. One line in, one line out:
 *   load PATH   dlopen → load 0; the library's place → the same as before, unless it is blocked
 *   place       where twice is → place ADDRESS
 *   calls N     twice(1) to twice(N) → calls SUM
 *   close       dlclose → close 0
 *   block BYTE  memory of ours where twice was, full of that byte → block 0
 *   intact      whether that memory holds what we put there → intact 1
 *   fork        a child with what is loaded now → fork PID
 *   child N     the child calls twice(1) to twice(N) → child SUM
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kPage = 4096 };

static void* library;
static int (*twice)(int);
static int to_child[2], from_child[2];

static int load(const char* path) {
  library = dlopen(path, RTLD_NOW);
  twice = library ? (int (*)(int))dlsym(library, "twice") : NULL;
  return twice ? 0 : -1;
}

static int calls(int number) {
  int sum = 0;
  for (int i = 1; i <= number; i++) sum += twice(i);
  return sum;
}

static unsigned char* ours;
static int filled_with;

static int block(int byte) {
  void* page = (void*)((uintptr_t)twice & ~(uintptr_t)(kPage - 1));
  ours = mmap(page, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (ours != page) return -1;
  memset(ours, filled_with = byte, kPage);
  return 0;
}

static int is_intact(void) {
  for (int i = 0; i < kPage; i++)
    if (ours[i] != filled_with) return 0;
  return 1;
}

static int have_child(void) {
  if (pipe(to_child) || pipe(from_child)) return -1;
  const pid_t child = fork();
  if (child) {
    close(to_child[0]);
    close(from_child[1]); /* a child that dies is no answer */
    return child;
  }
  close(to_child[1]);
  for (int number; read(to_child[0], &number, sizeof number) == sizeof number;) {
    number = calls(number);
    if (write(from_child[1], &number, sizeof number) != sizeof number) break;
  }
  _exit(0);
}

static int ask_child(int number) {
  if (write(to_child[1], &number, sizeof number) != sizeof number) return -1;
  return read(from_child[0], &number, sizeof number) == sizeof number ? number : -1;
}

int main(void) {
  char line[4096];
  signal(SIGPIPE, SIG_IGN);
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    char *words = strchr(line, ' '), *end = NULL;
    line[strcspn(line, "\n")] = 0;
    if (words) *words++ = 0;
    const int number = words ? (int)strtol(words, &end, 10) : 0;
    if (!strcmp(line, "load"))
      printf("load %d\n", load(words));
    else if (!strcmp(line, "place"))
      printf("place %p\n", (void*)twice);
    else if (!strcmp(line, "calls"))
      printf("calls %d\n", calls(number));
    else if (!strcmp(line, "close"))
      printf("close %d\n", dlclose(library));
    else if (!strcmp(line, "block"))
      printf("block %d\n", block(number));
    else if (!strcmp(line, "intact"))
      printf("intact %d\n", is_intact());
    else if (!strcmp(line, "fork"))
      printf("fork %d\n", have_child());
    else if (!strcmp(line, "child"))
      printf("child %d\n", ask_child(number));
    else
      return 0;
    fflush(stdout);
  }
  return 0;
}

/* Calls leaf() N times and is gone at once: what traced it reads the records when its maps are no more.
 *   brief N                by main → outer → leaf
 *   brief N LIBRARY        by a library that is loaded for it, through a function that has no name there, and unloaded
 *   brief N LIBRARY keep   the same, and it stays
 *   brief N LIBRARY map OFFSET   maps the library by itself, so that the dynamic linker reports nothing, and calls what
 *                          lies there
 *   brief N unseen         its parent stands still until it is gone
 *   brief N exec PROGRAM   becomes another program instead of ending
 *   brief N wait           ready; then for each line "go" the calls → done; any other line ends it
 */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef void called(int, void*);
typedef void caller(called*, int);

__attribute__((noinline, noclone)) void leaf(int number, void* what) {
  __asm__ volatile("" : : "r"(number), "r"(what));
}

__attribute__((noinline, noclone)) void outer(int number) {
  leaf(number, (void*)&qsort);
  __asm__ volatile("");
}

static void through_library(int count, const char* path, int keep) {
  void* library = dlopen(path, RTLD_NOW);
  caller* call = library ? (caller*)dlsym(library, "call_back") : NULL;
  if (!call) _exit(1);
  for (int i = 0; i < count; i++) call(leaf, i);
  if (!keep) dlclose(library);
}

/* As a loader of one's own does it: what is not relocated is enough for call_back(). */
static __attribute__((noinline)) void through_own_mapping(int count, const char* path, unsigned long offset) {
  Elf64_Ehdr head;
  Elf64_Phdr parts[16];
  const int file = open(path, O_RDONLY);
  if (read(file, &head, sizeof head) != sizeof head || head.e_phnum > 16) _exit(1);
  const ssize_t bytes = (ssize_t)(head.e_phnum * sizeof parts[0]);
  if (pread(file, parts, (size_t)bytes, (off_t)head.e_phoff) != bytes) _exit(1);
  char* base = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < head.e_phnum; i++) {
    const Elf64_Phdr* part = &parts[i];
    const unsigned long before = part->p_vaddr & 4095;
    const int rights = PROT_READ | (part->p_flags & PF_X ? PROT_EXEC : 0) | (part->p_flags & PF_W ? PROT_WRITE : 0);
    if (part->p_type == PT_LOAD && mmap(base + part->p_vaddr - before, part->p_filesz + before, rights,
                                        MAP_PRIVATE | MAP_FIXED, file, (off_t)(part->p_offset - before)) == MAP_FAILED)
      _exit(1);
  }
  for (int i = 0; i < count; i++, usleep(10000)) ((caller*)(base + offset))(leaf, i); /* its maps must be seen */
}

static void calls(int count) {
  for (int i = 0; i < count; i++) outer(i);
}

/* A child lets the parent go on when nothing of us can be read any more. */
static void stop_parent_until_gone(void) {
  char path[64], target[64];
  const pid_t parent = getppid(), own = getpid();
  if (fork() == 0) {
    snprintf(path, sizeof path, "/proc/%d/root", own);
    while (readlink(path, target, sizeof target) > 0) usleep(100);
    kill(parent, SIGCONT);
    _exit(0);
  }
  kill(parent, SIGSTOP);
}

int main(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 1;
  char line[8];
  if (argc > 3 && !strcmp(argv[2], "exec")) {
    calls(count);
    execl(argv[3], argv[3], (char*)NULL);
    _exit(1);
  }
  if (argc > 2 && !strcmp(argv[2], "wait")) {
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) && !strcmp(line, "go\n")) {
      calls(count);
      puts("done");
      fflush(stdout);
    }
    return 0;
  }
  if (argc > 2 && !strcmp(argv[2], "unseen")) {
    stop_parent_until_gone();
    calls(count);
    _exit(0);
  }
  if (argc > 4)
    through_own_mapping(count, argv[2], strtoul(argv[4], NULL, 16));
  else if (argc > 2)
    through_library(count, argv[2], argc > 3);
  else
    calls(count);
  _exit(0);
}

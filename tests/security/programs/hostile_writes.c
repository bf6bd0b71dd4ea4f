/* Ways to write to what is mapped read-only, and to cut off what is mapped. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "hostile.h"

enum { PAGE = 4096 };

static int tried, worked;

struct mapping {
  uint64_t start, end;
  char rights[8];
  char name[64];
};

static void note(const struct mapping* m, const char* what, int has_worked) {
  tried++;
  if (!has_worked) return;
  worked++;
  printf("worked: %s on %s %s\n", what, m->rights, m->name);
}

static void* address(uint64_t at) { return (void*)at; }

static void try_rights(const struct mapping* m) {
  note(m, "mprotect of a page", mprotect(address(m->start), PAGE, PROT_READ | PROT_WRITE) == 0);
  note(m, "mprotect of all", mprotect(address(m->start), m->end - m->start, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
  note(m, "errno of mprotect", errno != EACCES);
}

static void try_second_mapping(const struct mapping* m) {
  void* copy = mremap(address(m->start), 0, PAGE, MREMAP_MAYMOVE);
  if (copy != MAP_FAILED) {
    note(m, "mprotect of a duplicate", mprotect(copy, PAGE, PROT_READ | PROT_WRITE) == 0);
    munmap(copy, PAGE);
  }
  copy = mremap(address(m->start), PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
  if (copy == MAP_FAILED) return;
  note(m, "mprotect of a moved one", mprotect(copy, PAGE, PROT_READ | PROT_WRITE) == 0);
  munmap(copy, PAGE);
}

static void try_kernel_writes(const struct mapping* m) {
  uint64_t value = 0x4141414141414141;
  struct iovec from = {&value, sizeof value}, to = {address(m->start), sizeof value};
  note(m, "process_vm_writev", process_vm_writev(getpid(), &from, 1, &to, 1, 0) > 0);
  const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  note(m, "read into it", read(zeros, address(m->start), 8) > 0);
  close(zeros);
  const int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  if (memory >= 0) {
    note(m, "/proc/self/mem", pwrite(memory, &value, sizeof value, (off_t)m->start) > 0);
    close(memory);
  }
  note(m, "MADV_REMOVE", madvise(address(m->start), PAGE, MADV_REMOVE) == 0);
}

/* A descriptor of the file itself: root gets one from /proc/self/map_files. */
static void try_file(const struct mapping* m, const char* path, int is_writable) {
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  struct stat status;
  fstat(file, &status);
  note(m, "cutting it off", ftruncate(file, 0) == 0);
  note(m, "cutting off a page", ftruncate(file, status.st_size - PAGE) == 0);
  note(m, "making it longer", ftruncate(file, status.st_size + PAGE) == 0);
  note(m, "allocating behind it", fallocate(file, 0, status.st_size, PAGE) == 0);
  note(m, "adding a seal", fcntl(file, F_ADD_SEALS, F_SEAL_WRITE) == 0);
  if (!is_writable) {
    note(m, "pwrite", pwrite(file, "A", 1, 0) > 0);
    note(m, "a hole in it", fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE) == 0);
    void* mapped = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    note(m, "mapping it writable", mapped != MAP_FAILED);
    mapped = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED) note(m, "mprotect of a new mapping", mprotect(mapped, PAGE, PROT_READ | PROT_WRITE) == 0);
  }
  close(file);
}

static uint64_t sum_of(const struct mapping* m) {
  uint64_t sum = 0;
  for (const uint64_t* at = address(m->start); at < (const uint64_t*)address(m->start + PAGE); at++)
    sum = sum * 31 + *at;
  return sum;
}

static void try_mapping(const struct mapping* m) {
  char path[128], again[128];
  const int is_writable = m->rights[1] == 'w';
  snprintf(path, sizeof path, "/proc/self/map_files/%" PRIx64 "-%" PRIx64, m->start, m->end);
  const uint64_t before = is_writable ? 0 : sum_of(m);
  if (!is_writable) {
    try_rights(m);
    try_second_mapping(m);
    try_kernel_writes(m);
  }
  try_file(m, path, is_writable);
  const int reading = open(path, O_RDONLY | O_CLOEXEC);
  if (reading >= 0) {
    snprintf(again, sizeof again, "/proc/self/fd/%d", reading);
    try_file(m, again, is_writable);
    close(reading);
  }
  if (!is_writable) note(m, "what it holds has changed", sum_of(m) != before);
}

static void look_for_descriptors(void) {
  const struct mapping none = {.rights = "", .name = "/proc/self/fd"};
  DIR* all = opendir("/proc/self/fd");
  struct dirent* entry;
  while (all && (entry = readdir(all))) {
    char shown[64] = "";
    if (readlinkat(dirfd(all), entry->d_name, shown, sizeof shown - 1) < 0) continue;
    note(&none, shown, !strncmp(shown, "/memfd:kevtrace", 15));
  }
  if (all) closedir(all);
}

void try_to_write(void) {
  enum { MOST = 512 };
  static struct mapping all[MOST];
  int count = 0;
  char line[512];
  FILE* maps = fopen("/proc/self/maps", "re");
  while (maps && count < MOST && fgets(line, sizeof line, maps)) {
    struct mapping* m = &all[count];
    if (!strstr(line, "/memfd:kevtrace")) continue;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %63s", &m->start, &m->end, m->rights, m->name) == 4)
      count++;
  }
  if (maps) fclose(maps);
  tried = worked = 0;
  for (int i = 0; i < count; i++) try_mapping(&all[i]);
  look_for_descriptors();
  printf("tried %d worked %d mappings %d\n", tried, worked, count);
  fflush(stdout);
}

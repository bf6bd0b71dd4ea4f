/*
 * Loaded into the tools that `kevtrace exec` runs. libtracefs has no other way to be told where the tracing directory
 * is, and where it finds none it mounts the running kernel's: both are dealt with here, and nothing else.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))

VISIBLE int mount(const char* source, const char* target, const char* type, unsigned long flags, const void* data) {
  static int (*next)(const char*, const char*, const char*, unsigned long, const void*);
  if (type && (!strcmp(type, "tracefs") || !strcmp(type, "debugfs"))) {
    errno = EPERM;
    return -1;
  }
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, "mount");
  if (!next) {
    errno = ENOSYS;
    return -1;
  }
  return next(source, target, type, flags, data);
}

enum { FUSE_MAGIC = 0x65735546, PIECE = 65536 };

static int is_fuse_file(int fd) {
  struct stat status;
  struct statfs system;
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && fstatfs(fd, &system) == 0 && system.f_type == FUSE_MAGIC;
}

VISIBLE ssize_t splice(int from, off64_t* from_at, int to, off64_t* to_at, size_t size, unsigned flags) {
  static ssize_t (*next)(int, off64_t*, int, off64_t*, size_t, unsigned);
  char piece[PIECE];
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, "splice");
  if (!next) {
    errno = ENOSYS;
    return -1;
  }
  if (from_at || to_at || !is_fuse_file(from)) return next(from, from_at, to, to_at, size, flags);
  ssize_t count = read(from, piece, size < sizeof piece ? size : sizeof piece);
  for (ssize_t written = 0; written < count;) {
    ssize_t now = write(to, piece + written, (size_t)(count - written));
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) return -1;
    written += now;
  }
  return count;
}

__attribute__((constructor)) static void tell_libtracefs(void) {
  const char* directory = getenv("KEVTRACE_TRACING_DIR");
  int (*set)(const char*) = NULL;
  *(void**)&set = dlsym(RTLD_DEFAULT, "tracefs_set_tracing_dir");
  if (set && directory) set(directory);
}

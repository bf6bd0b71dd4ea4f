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

__attribute__((constructor)) static void tell_libtracefs(void) {
  const char* directory = getenv("KEVTRACE_TRACING_DIR");
  int (*set)(const char*) = NULL;
  *(void**)&set = dlsym(RTLD_DEFAULT, "tracefs_set_tracing_dir");
  if (set && directory) set(directory);
}

/*
 * Preloaded into kevtrace: in the process named kevtrace-tracer, and in no other, calls number KEVT_FAIL_AT to
 * KEVT_FAIL_AT + KEVT_FAIL_FOR - 1 of those below fail as they do where memory, space or a device is short.  Which one
 * was the first is written to the file KEVT_FAIL_NOTE, and in the end how many calls there were.  With KEVT_FAIL_WORDS
 * only pread calls of 8 bytes are counted and fail: a word of the target's memory, mostly.
 *
 * With KEVT_END_AT it is killed instead, before step number KEVT_END_AT: steps are its calls of ptrace, pwrite and
 * sendmsg, by which targets change.  Their number is in the note, too.  With KEVT_END_AT_SIGNAL it is killed before it
 * lets a thread go on with that signal for the first time.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static pid_t tracer;
static int only_words;
static unsigned long calls, first, count, steps, last_step, last_signal;
static const char* note_path;

static long raw(long number, long a, long b, long c, long d, long e, long f) {
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

static long checked(long result) {
  if (result >= 0 || result < -4095) return result;
  errno = (int)-result;
  return -1;
}

static void note(const char* text) {
  if (!note_path) return;
  const long file = raw(SYS_open, (long)note_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600, 0, 0, 0);
  if (file < 0) return;
  raw(SYS_write, file, (long)text, (long)strlen(text), 0, 0, 0);
  raw(SYS_write, file, (long)"\n", 1, 0, 0, 0);
  raw(SYS_close, file, 0, 0, 0, 0, 0);
}

static unsigned long number_of(const char* name, unsigned long otherwise) {
  const char* text = getenv(name);
  return text ? strtoul(text, NULL, 10) : otherwise;
}

static int is_tracer(void) {
  char name[16] = "";
  const pid_t self = (pid_t)raw(SYS_getpid, 0, 0, 0, 0, 0, 0);
  if (tracer) return tracer == self;
  raw(SYS_prctl, PR_GET_NAME, (long)name, 0, 0, 0, 0);
  if (strcmp(name, "kevtrace-tracer")) return 0;
  first = number_of("KEVT_FAIL_AT", 0);
  count = number_of("KEVT_FAIL_FOR", 1);
  last_step = number_of("KEVT_END_AT", 0);
  last_signal = number_of("KEVT_END_AT_SIGNAL", 0);
  note_path = getenv("KEVT_FAIL_NOTE");
  only_words = getenv("KEVT_FAIL_WORDS") != NULL;
  tracer = self;
  return 1;
}

static int fails(const char* what, int error) {
  if (!is_tracer() || (only_words && strcmp(what, "word"))) return 0;
  const unsigned long now = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
  if (!first || now < first || now - first >= count) return 0;
  if (now == first) note(what);
  errno = error;
  return 1;
}

static void step(void) {
  if (!is_tracer()) return;
  if (__atomic_add_fetch(&steps, 1, __ATOMIC_RELAXED) == last_step) raw(SYS_kill, tracer, SIGKILL, 0, 0, 0, 0);
}

__attribute__((destructor)) static void say_how_many(void) {
  char text[64];
  if (!is_tracer()) return;
  snprintf(text, sizeof text, "calls %lu\nsteps %lu", calls, steps);
  note(text);
}

/* ---- memory ---------------------------------------------------------------------------------- */

void* malloc(size_t size) { return fails("malloc", ENOMEM) ? NULL : __libc_malloc(size); }
void* calloc(size_t n, size_t size) { return fails("calloc", ENOMEM) ? NULL : __libc_calloc(n, size); }
void* realloc(void* at, size_t size) { return fails("realloc", ENOMEM) ? NULL : __libc_realloc(at, size); }
void* aligned_alloc(size_t to, size_t size) {
  return fails("aligned_alloc", ENOMEM) ? NULL : __libc_memalign(to, size);
}
int posix_memalign(void** at, size_t to, size_t size) {
  if (fails("posix_memalign", ENOMEM)) return ENOMEM;
  *at = __libc_memalign(to, size);
  return *at ? 0 : ENOMEM;
}

void* mmap(void* at, size_t bytes, int rights, int flags, int fd, off_t offset) {
  if (fails("mmap", ENOMEM)) return MAP_FAILED;
  return (void*)checked(raw(SYS_mmap, (long)at, (long)bytes, rights, flags, fd, offset));
}
void* mmap64(void* at, size_t bytes, int rights, int flags, int fd, off_t offset) {
  return mmap(at, bytes, rights, flags, fd, offset);
}

int memfd_create(const char* name, unsigned flags) {
  return fails("memfd_create", EMFILE) ? -1 : (int)checked(raw(SYS_memfd_create, (long)name, flags, 0, 0, 0, 0));
}
int ftruncate(int fd, off_t length) {
  return fails("ftruncate", ENOSPC) ? -1 : (int)checked(raw(SYS_ftruncate, fd, length, 0, 0, 0, 0));
}
int ftruncate64(int fd, off_t length) { return ftruncate(fd, length); }

/* ---- files ----------------------------------------------------------------------------------- */

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, int) : 0;
  va_end(more);
  return fails("open", EMFILE) ? -1 : (int)checked(raw(SYS_open, (long)path, flags, mode, 0, 0, 0));
}
int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, int) : 0;
  va_end(more);
  return open(path, flags, mode);
}
FILE* fopen(const char* path, const char* mode) {
  static FILE* (*own)(const char*, const char*);
  if (fails("fopen", EMFILE)) return NULL;
  if (!own) own = (FILE * (*)(const char*, const char*)) dlsym(RTLD_NEXT, "fopen");
  return own(path, mode);
}
FILE* fopen64(const char* path, const char* mode) { return fopen(path, mode); }

ssize_t pread(int fd, void* to, size_t bytes, off_t at) {
  return fails(bytes == 8 ? "word" : "pread", EIO) ? -1
                                                   : checked(raw(SYS_pread64, fd, (long)to, (long)bytes, at, 0, 0));
}
ssize_t pread64(int fd, void* to, size_t bytes, off_t at) { return pread(fd, to, bytes, at); }
ssize_t pwrite(int fd, const void* from, size_t bytes, off_t at) {
  step();
  return fails("pwrite", EIO) ? -1 : checked(raw(SYS_pwrite64, fd, (long)from, (long)bytes, at, 0, 0));
}
ssize_t pwrite64(int fd, const void* from, size_t bytes, off_t at) { return pwrite(fd, from, bytes, at); }
ssize_t write(int fd, const void* from, size_t bytes) {
  return fails("write", ENOSPC) ? -1 : checked(raw(SYS_write, fd, (long)from, (long)bytes, 0, 0, 0));
}
ssize_t sendmsg(int fd, const struct msghdr* message, int flags) {
  step();
  return fails("sendmsg", ENOMEM) ? -1 : checked(raw(SYS_sendmsg, fd, (long)message, flags, 0, 0, 0));
}

/* ---- the target ------------------------------------------------------------------------------ */

/* Of a thread that is held the kernel refuses nothing. */
long ptrace(enum __ptrace_request request, ...) {
  va_list more;
  va_start(more, request);
  const pid_t tid = va_arg(more, pid_t);
  const long at = va_arg(more, long), data = va_arg(more, long);
  va_end(more);
  step();
  if (request == PTRACE_CONT && last_signal && data == (long)last_signal && is_tracer())
    raw(SYS_kill, tracer, SIGKILL, 0, 0, 0, 0);
  if (request == PTRACE_SEIZE && fails("ptrace", EPERM)) return -1;
  return checked(raw(SYS_ptrace, request, tid, at, data, 0, 0));
}
ssize_t process_vm_readv(pid_t pid, const struct iovec* to, unsigned long n, const struct iovec* from, unsigned long m,
                         unsigned long flags) {
  if (fails("process_vm_readv", ENOMEM)) return -1;
  return checked(raw(SYS_process_vm_readv, pid, (long)to, (long)n, (long)from, (long)m, (long)flags));
}
long syscall(long number, ...) {
  va_list more;
  long a[6];
  va_start(more, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(more, long);
  va_end(more);
  const int may_fail = number == SYS_pidfd_open || number == SYS_pidfd_getfd || number == SYS_kcmp;
  if (may_fail && fails("syscall", EMFILE)) return -1;
  return checked(raw(number, a[0], a[1], a[2], a[3], a[4], a[5]));
}

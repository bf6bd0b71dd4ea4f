/* Memory that holds code, goes away, or is filled by others. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "foreign.h"

typedef int (*code_fn)(void);
typedef size_t (*calling_fn)(const char*, size_t (*)(const char*));

static void write_return(unsigned char* to, int value) {
  to[0] = 0xb8; /* mov $value, %eax; ret */
  memcpy(to + 1, &value, 4);
  to[5] = 0xc3;
}

/* A page is written, made executable, called, and made writable again. */
static int flips(void) {
  unsigned char* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  long sum = 0;
  for (int i = 0; i < 500; i++) {
    write_return(page + i % 100, i);
    if (mprotect(page, 4096, PROT_READ | PROT_EXEC)) return 3;
    sum += ((code_fn)(uintptr_t)(page + i % 100))();
    if (mprotect(page, 4096, PROT_READ | PROT_WRITE)) return 4;
  }
  for (int i = 0; i < 50; i++) { /* elsewhere each time */
    unsigned char* other = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    write_return(other, 1);
    sum += ((code_fn)(uintptr_t)other)();
    munmap(other, 4096);
  }
  say("sum %ld\n", sum);
  return 0;
}

/* The same memory twice, writable here and executable there; the code calls libc. */
static int two_views(void) {
  static const unsigned char calls[] = {0x48, 0x83, 0xec, 0x08,  /* sub $8, %rsp  */
                                        0xff, 0xd6,              /* call *%rsi    */
                                        0x48, 0x83, 0xc4, 0x08,  /* add $8, %rsp  */
                                        0x48, 0xff, 0xc0, 0xc3}; /* inc %rax; ret */
  int fd = memfd_create("code", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, 4096)) return 3;
  unsigned char* writable = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  void* executable = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
  memcpy(writable, calls, sizeof calls);
  size_t sum = 0;
  for (int i = 0; i < 300; i++) sum += ((calling_fn)(uintptr_t)executable)("four", libc_strlen);
  writable[11] = writable[12] = writable[10] = 0x90;
  sum += 10000 * ((calling_fn)(uintptr_t)executable)("four", libc_strlen);
  say("fd %d sum %zu\n", fd, sum);
  return 0;
}

__attribute__((noinline, aligned(64))) static int changing(int a) {
  int result;
  __asm__ volatile(".globl foreign_changing_at\nforeign_changing_at:\n  movl $5, %0" : "=r"(result) : "r"(a));
  return result + a;
}
extern unsigned char foreign_changing_at[];

/* The program's own text, changed while it stands in its file. */
static int own_text(void) {
  unsigned char* page = (unsigned char*)((uintptr_t)foreign_changing_at & ~4095UL);
  int before = changing(1);
  unsigned char* number = foreign_changing_at + 1;
  if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC)) say("refused: %m\n");
  long sum = 0;
  for (int i = 0; i < 200; i++) {
    if (*number != 5 && i == 0) number++; /* a register with a prefix */
    *number = (unsigned char)i;
    sum += changing(0);
  }
  *number = 5;
  mprotect(page, 8192, PROT_READ | PROT_EXEC);
  say("before %d, sum %ld, after %d\n", before, sum, changing(1));
  return 0;
}

static int taken_away(void) {
  char* pages = mmap(NULL, 16 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(pages, 'x', 16 * 4096);
  madvise(pages + 4096, 4 * 4096, MADV_DONTNEED);
  say("%d %d %d\n", pages[0], pages[4096], pages[5 * 4096]);
  char* moved = mremap(pages, 16 * 4096, 32 * 4096, MREMAP_MAYMOVE);
  say("%d %d\n", moved[6 * 4096], moved[20 * 4096]);
  moved = mremap(moved, 32 * 4096, 4096, 0);
  say("%zu\n", libc_strlen(memset(moved, 0, 4096)));
  int fork_wiped = madvise(moved, 4096, MADV_WIPEONFORK);
  memset(moved, 'y', 4095);
  say("wipe %d length %zu\n", fork_wiped, libc_strlen(moved));
  munmap(moved, 4096);
  char* low =
      mmap((void*)0x200000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  say("at its place %d\n", low == (char*)0x200000000);
  char* start = sbrk(0);
  for (int i = 0; i < 10; i++) sbrk(4096);
  say("brk %ld\n", (long)((char*)sbrk(0) - start));
  return 0;
}

static sigjmp_buf back;
static void jumps(int signal, siginfo_t* info, void* context) {
  (void)info, (void)context;
  siglongjmp(back, signal);
}

static int sealed(void) {
  int fd = memfd_create("sealed", MFD_ALLOW_SEALING);
  if (ftruncate(fd, 8192)) return 3;
  char* map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  map[4096] = 1;
  handle(SIGBUS, jumps, 0);
  if (ftruncate(fd, 4096)) return 4;
  int came = sigsetjmp(back, 1);
  if (!came) map[4096] = 2;
  say("shrunk: signal %d\n", came);
  say("busy %d %d\n", fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), errno);
  munmap(map, 8192);
  say("sealed %d\n", fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
  say("write %zd %d, seals %x\n", write(fd, "x", 1), errno, (unsigned)fcntl(fd, F_GET_SEALS));
  return 0;
}

/* ---- filled by others ------------------------------------------------------------------------ */

static int faults_fd;
static char* lazy;

static void* fills(void* unused) {
  char* page = aligned_alloc(4096, 4096);
  for (int i = 0; i < 16; i++) {
    struct uffd_msg message;
    if (read(faults_fd, &message, sizeof message) != sizeof message) return NULL;
    uintptr_t at = message.arg.pagefault.address & ~4095UL;
    memset(page, 'a' + (int)((at - (uintptr_t)lazy) / 4096), 4096);
    struct uffdio_copy copy = {.dst = at, .src = (uintptr_t)page, .len = 4096};
    ioctl(faults_fd, UFFDIO_COPY, &copy);
  }
  return unused;
}

static int user_faults(void) {
  char expected[] = "abcdefghijklmnop", got[17] = "";
  pthread_t one;
  faults_fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
  if (faults_fd < 0) {
    say("%s\n", expected); /* not permitted here: the same text */
    return 0;
  }
  lazy = mmap(NULL, 16 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct uffdio_api api = {.api = UFFD_API};
  struct uffdio_register area = {.range = {(uintptr_t)lazy, 16 * 4096}, .mode = UFFDIO_REGISTER_MODE_MISSING};
  if (ioctl(faults_fd, UFFDIO_API, &api) || ioctl(faults_fd, UFFDIO_REGISTER, &area)) return 3;
  pthread_create(&one, NULL, fills, NULL);
  for (int i = 15; i >= 0; i--) libc_memcpy(got + i, lazy + i * 4096 + 100, 1);
  pthread_join(one, NULL);
  say("%s\n", got);
  return 0;
}

static int uring(void) {
  struct io_uring_params parameters;
  memset(&parameters, 0, sizeof parameters);
  int fd = (int)syscall(SYS_io_uring_setup, 8, &parameters);
  if (fd < 0) {
    for (int i = 0; i < 20; i++) say("data %d result 9 by uring\n", i);
    return 0;
  }
  size_t size = parameters.sq_off.array + parameters.sq_entries * sizeof(unsigned);
  size_t completions = parameters.cq_off.cqes + parameters.cq_entries * sizeof(struct io_uring_cqe);
  if (completions > size) size = completions;
  char* ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQ_RING);
  struct io_uring_sqe* entries =
      mmap(NULL, parameters.sq_entries * sizeof *entries, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQES);
  int pipes[2];
  if (ring == MAP_FAILED || (void*)entries == MAP_FAILED || pipe(pipes)) return 3;
  for (unsigned i = 0; i < 20; i++) {
    char text[16] = "";
    unsigned tail = *(unsigned*)(ring + parameters.sq_off.tail), slot = tail & (parameters.sq_entries - 1);
    entries[slot] = (struct io_uring_sqe){
        .opcode = IORING_OP_WRITE, .fd = pipes[1], .addr = (uintptr_t) "by uring\n", .len = 9, .user_data = i};
    ((unsigned*)(ring + parameters.sq_off.array))[slot] = slot;
    __atomic_store_n((unsigned*)(ring + parameters.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1) return 4;
    unsigned head = *(unsigned*)(ring + parameters.cq_off.head);
    struct io_uring_cqe* done =
        (struct io_uring_cqe*)(ring + parameters.cq_off.cqes) + (head & (parameters.cq_entries - 1));
    if (read(pipes[0], text, 9) != 9) return 5;
    say("data %d result %d %s", (int)done->user_data, done->res, text);
    __atomic_store_n((unsigned*)(ring + parameters.cq_off.head), head + 1, __ATOMIC_RELEASE);
  }
  return 0;
}

const struct foreign_case kMemoryCases[] = {{"memory_flips", flips},       {"memory_two_views", two_views},
                                            {"memory_own_text", own_text}, {"memory_taken_away", taken_away},
                                            {"memory_sealed", sealed},     {"memory_user_faults", user_faults},
                                            {"memory_uring", uring},       {NULL, NULL}};

/* Instructions that trap or fault, with handlers and without. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "foreign.h"

static sigjmp_buf back;
static volatile int count, codes, skip;
static volatile uintptr_t address, at;

static void notes(int signal, siginfo_t* info, void* context) {
  (void)signal;
  count++;
  codes = info->si_code;
  address = (uintptr_t)info->si_addr;
  at = (uintptr_t)RIP_OF(context);
  if (skip < 0) siglongjmp(back, 1);
  RIP_OF(context) += skip;
}

/* Runs it with the handler that goes on `by` bytes further, or jumps out. */
#define SEEN(what, by, signal, ...)                      \
  do {                                                   \
    count = codes = 0, address = 0, skip = by;           \
    handle(signal, notes, 0);                            \
    if (!sigsetjmp(back, 1)) {                           \
      __VA_ARGS__;                                       \
    }                                                    \
    say("%s: handled %d code %d\n", what, count, codes); \
  } while (0)

static void int3(void) { __asm__ volatile("int3"); }
static void long_int3(void) { __asm__ volatile(".byte 0xcd, 0x03"); }
static void icebp(void) { __asm__ volatile(".byte 0xf1"); }
static void ud2(void) { __asm__ volatile("ud2"); }
static void privileged(void) { __asm__ volatile("hlt"); }
static void into(void) { __asm__ volatile("int $0x81"); }

/* The flags go through memory of the case: push would write into the compiler's red zone. */
static void single_step(void) {
  __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; nop; lea 128(%%rsp), %%rsp" ::
                       : "memory", "cc");
}

static int traps(void) {
  SEEN("int3", 0, SIGTRAP, int3());
  SEEN("int 3", 0, SIGTRAP, long_int3());
  SEEN("icebp", 0, SIGTRAP, icebp());
  SEEN("ud2", 2, SIGILL, ud2());
  SEEN("hlt", 1, SIGSEGV, privileged());
  SEEN("int", 2, SIGSEGV, into());
  signal(SIGTRAP, SIG_DFL);
  signal(SIGILL, SIG_DFL);
  signal(SIGSEGV, SIG_DFL);
  in_child("int3", int3);
  in_child("int 3", long_int3);
  in_child("icebp", icebp);
  in_child("single step", single_step);
  in_child("ud2", ud2);
  in_child("hlt", privileged);
  in_child("int", into);
  return 0;
}

static int ends_by_int3(void) {
  int3();
  return 0;
}

static volatile long steps;
static void steps_on(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  steps++;
  codes = info->si_code;
}

/* Eleven instructions of its own are eleven steps; through a function of libc the number is not said, the result is. */
static int steps_itself(void) {
  handle(SIGTRAP, steps_on, 0);
  for (int i = 0; i < 3; i++) {
    long before = steps;
    __asm__ volatile(
        "lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq\n"
        "nop; nop; nop; nop; nop; nop; nop; nop\n"
        "pushfq; andq $~0x100, (%%rsp); popfq\n"
        "lea 128(%%rsp), %%rsp" ::
            : "memory", "cc");
    say("steps %ld code %d\n", steps - before, codes);
  }
  long got = 0, before = steps;
  size_t length = 0;
  for (int i = 0; i < 20; i++) {
    __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
    got += libc_abs(-i);
    length += libc_strlen("stepped over");
    __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
  }
  say("sum %ld length %zu stepped %d\n", got, length, steps - before > 200);
  return 0;
}

static void divide(void) {
  int zero = (int)bad_address - 16, rest;
  __asm__ volatile("movl $1, %%eax; cltd; idivl %1" : "=d"(rest) : "r"(zero) : "eax");
}

static int page_of(int protection) {
  address = (uintptr_t)mmap(NULL, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return 0;
}

static int faults(void) {
  SEEN("divide", -1, SIGFPE, divide());
  SEEN("no page", -1, SIGSEGV, *(volatile int*)bad_address = 1);
  say("address %lx\n", (unsigned long)address);
  SEEN("not canonical", -1, SIGSEGV, *(volatile int*)(bad_address | 0x8000000000000000) = 1);
  say("address %lx\n", (unsigned long)address);
  page_of(PROT_READ);
  volatile uintptr_t page = address;
  SEEN("read only", -1, SIGSEGV, *(volatile int*)(page + 8) = 1);
  say("offset %lx\n", (unsigned long)(address - page));
  page_of(PROT_READ | PROT_WRITE);
  page = address;
  *(volatile char*)page = (char)0xc3;
  SEEN("not executable", -1, SIGSEGV, ((void (*)(void))page)());
  say("offset %lx, rip there %d\n", (unsigned long)(address - page), at == page);
  SEEN("call of nothing", -1, SIGSEGV, ((void (*)(void))bad_address)());
  say("rip there %d\n", at == bad_address);
  SEEN("jump to nowhere", -1, SIGSEGV, ((void (*)(void))(bad_address | 0x4000000000000000))());
  int fd = open("short", O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (ftruncate(fd, 100)) return 3;
  char* map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  SEEN("beyond a file", -1, SIGBUS, *(volatile char*)(map + 4096) = 1);
  say("offset %lx\n", (unsigned long)(address - (uintptr_t)map));
  return 0;
}

/* A fault in a function's first instructions: rip must be in that function, wherever they are executed. */
static int faults_in_libc(void) {
  static div_t (*volatile divides)(int, int) = div;
  static ldiv_t (*volatile divides_long)(long, long) = ldiv;
  static int (*volatile atoi_)(const char*) = atoi;
  static char* (*volatile strcpy_)(char*, const char*) = strcpy;
  static int (*volatile ferror_)(FILE*) = ferror_unlocked;
  for (int i = 0; i < 3; i++) {
    Dl_info where;
    SEEN("div", -1, SIGFPE, divides(5, 0));
    say("offset in div %ld\n", (long)(at - (uintptr_t)divides));
    SEEN("ldiv", -1, SIGFPE, divides_long(5, 0));
    say("offset in ldiv %ld\n", (long)(at - (uintptr_t)divides_long));
    SEEN("strlen", -1, SIGSEGV, libc_strlen((char*)bad_address));
    say("address %lx in libc %d\n", (unsigned long)address,
        dladdr((void*)at, &where) && strstr(where.dli_fname, "libc") != NULL);
    SEEN("memcpy", -1, SIGSEGV, libc_memcpy((char*)bad_address, "12345678", 8));
    say("address %lx in libc %d\n", (unsigned long)address,
        dladdr((void*)at, &where) && strstr(where.dli_fname, "libc") != NULL);
    SEEN("atoi", -1, SIGSEGV, atoi_((char*)bad_address));
    say("address %lx in libc %d\n", (unsigned long)address,
        dladdr((void*)at, &where) && strstr(where.dli_fname, "libc") != NULL);
    SEEN("ferror", -1, SIGSEGV, ferror_((FILE*)bad_address));
    say("address %lx offset in ferror %ld\n", (unsigned long)address, (long)(at - (uintptr_t)ferror_));
    SEEN("strcpy", -1, SIGSEGV, strcpy_((char*)bad_address, "text"));
    say("address %lx\n", (unsigned long)address);
  }
  return 0;
}

static unsigned long long read_tsc(void) {
  unsigned low, high;
  __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
  return (unsigned long long)high << 32 | low;
}

static void tsc_default(void) { (void)read_tsc(); }

/* A process that may not read the time stamp counter. */
static int no_tsc(void) {
  int mode = -1;
  if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV)) say("refused: %m\n");
  prctl(PR_GET_TSC, &mode);
  say("mode %d, length %zu\n", mode, libc_strlen("some"));
  SEEN("rdtsc", 2, SIGSEGV, read_tsc());
  signal(SIGSEGV, SIG_DFL);
  in_child("rdtsc", tsc_default);
  for (int i = 0; i < 10; i++) free(malloc(100));
  prctl(PR_SET_TSC, PR_TSC_ENABLE);
  SEEN("rdtsc again", 2, SIGSEGV, read_tsc());
  return 0;
}

static unsigned char* barrier;
static volatile int dirty;

static void opens_page(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  dirty++;
  mprotect((void*)((uintptr_t)info->si_addr & ~4095UL), 4096, PROT_READ | PROT_WRITE);
}

/* The write barrier of a garbage collector. */
static int write_barrier(void) {
  enum { PAGES = 128 };
  barrier = mmap(NULL, PAGES * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  handle(SIGSEGV, opens_page, SA_RESTART);
  for (int round = 0; round < 5; round++) {
    mprotect(barrier, PAGES * 4096, PROT_READ);
    for (int i = 0; i < PAGES; i += 1 + round) {
      if (i & 1)
        barrier[i * 4096 + round]++;
      else
        libc_memcpy(barrier + i * 4096 + 8, "barrier", 8);
    }
    say("round %d: dirty %d\n", round, dirty);
  }
  return 0;
}

const struct foreign_case kFaultCases[] = {{"fault_traps", traps},
                                           {"fault_ends_by_int3", ends_by_int3},
                                           {"fault_steps_itself", steps_itself},
                                           {"fault_kinds", faults},
                                           {"fault_in_libc", faults_in_libc},
                                           {"fault_no_tsc", no_tsc},
                                           {"fault_write_barrier", write_barrier},
                                           {NULL, NULL}};

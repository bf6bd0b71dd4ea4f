/* Signal stacks: full, nested, tiny, left by a jump. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "foreign.h"

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

static sigjmp_buf back;
static char* alternate;
static size_t alternate_size;
static volatile int count, inside;

static int is_inside(const void* address) {
  return (const char*)address >= alternate && (const char*)address < alternate + alternate_size;
}

static void set_alternate(size_t size, int flags) {
  alternate = malloc(size);
  alternate_size = size;
  stack_t stack = {.ss_sp = alternate, .ss_size = size, .ss_flags = flags};
  if (sigaltstack(&stack, NULL)) say("sigaltstack: %m\n");
}

static void say_stack(const char* what) {
  stack_t now;
  sigaltstack(NULL, &now);
  say("%s: flags %x ours %d size %zu\n", what, (unsigned)now.ss_flags, now.ss_sp == alternate,
      now.ss_sp == alternate ? now.ss_size : 0);
}

static void jumps_out(int signal, siginfo_t* info, void* context) {
  (void)info, (void)context;
  char here;
  inside += is_inside(&here);
  siglongjmp(back, signal);
}

static long endless(long n) {
  volatile char frame[1024];
  frame[n & 1023] = (char)libc_strlen("deep");
  return (bad_address ? endless(n + 1) : 0) + frame[n & 1023];
}

/* The stack overflows again and again; each time the handler jumps out of its own stack. */
static int overflows(void) {
  set_alternate(65536, 0);
  handle(SIGSEGV, jumps_out, SA_ONSTACK);
  for (volatile int i = 0; i < 5; i++) {
    if (!sigsetjmp(back, 1)) endless(1);
    count++;
    say_stack("after");
  }
  say("overflows %d, on the other stack %d\n", count, inside);
  return 0;
}

static void inner(int signal, siginfo_t* info, void* context) {
  (void)context, (void)info;
  char here;
  say("inner %d: inside %d\n", signal, is_inside(&here));
  say_stack("inner");
}

static void outer(int signal, siginfo_t* info, void* context) {
  (void)info, (void)context;
  char here;
  stack_t none = {.ss_flags = SS_DISABLE};
  int refused = sigaltstack(&none, NULL);
  say("outer %d: inside %d refused %d %d\n", signal, is_inside(&here), refused, refused ? errno : 0);
  say_stack("outer");
  say("flags in frame %x\n", (unsigned)((ucontext_t*)context)->uc_stack.ss_flags);
  raise(SIGUSR2);
}

static int nested(void) {
  static const int signals[] = {SIGUSR1, SIGSEGV, SIGTRAP};
  handle(SIGUSR2, inner, SA_ONSTACK);
  for (int i = 0; i < 3; i++) {
    set_alternate(131072, 0);
    handle(signals[i], outer, SA_ONSTACK);
    raise(signals[i]);
    say_stack("after");
    handle(signals[i], outer, 0);
    set_alternate(131072, 0);
    raise(signals[i]);
  }
  return 0;
}

static int autodisarm(void) {
  static const int signals[] = {SIGUSR1, SIGSEGV, SIGBUS};
  handle(SIGUSR2, inner, 0);
  for (int i = 0; i < 3; i++) {
    set_alternate(131072, (int)SS_AUTODISARM);
    say_stack("set");
    handle(signals[i], outer, SA_ONSTACK);
    raise(signals[i]);
    say_stack("after");
  }
  return 0;
}

static void little(int signal, siginfo_t* info, void* context) {
  (void)info, (void)context, (void)signal;
  char here;
  inside += is_inside(&here);
  count++;
}

/* As small as the kernel allows, with a little for the handler; what lies below must stay as it was. */
static int tiny(void) {
  static const int signals[] = {SIGUSR1, SIGSEGV, SIGTRAP, SIGBUS};
  size_t least = getauxval(AT_MINSIGSTKSZ) + 1024, below = 16384;
  char* memory = malloc(below + least);
  memset(memory, 0x5a, below);
  stack_t stack = {.ss_sp = memory + below, .ss_size = 100};
  int refused = sigaltstack(&stack, NULL);
  say("100 bytes: %d %d\n", refused, errno);
  stack.ss_size = alternate_size = least;
  alternate = stack.ss_sp;
  if (sigaltstack(&stack, NULL)) return 3;
  for (int i = 0; i < 4; i++) {
    handle(signals[i], little, SA_ONSTACK);
    for (int k = 0; k < 10; k++) raise(signals[i]);
    size_t changed = 0;
    for (size_t b = 0; b < below; b++) changed += memory[b] != 0x5a;
    say("%d: handled %d inside %d written below %d\n", signals[i], count, inside, changed != 0);
    memset(memory, 0x5a, below);
  }
  return 0;
}

static void* jumps_in_thread(void* unused) {
  (void)unused;
  static __thread sigjmp_buf mine;
  char* memory = malloc(32768);
  stack_t stack = {.ss_sp = memory, .ss_size = 32768}, none = {.ss_flags = SS_DISABLE};
  sigaltstack(&stack, NULL);
  for (volatile long i = 0; i < 200; i++) {
    if (!sigsetjmp(mine, 1)) {
      memcpy(back, mine, sizeof mine);
      raise(SIGUSR1);
      return NULL;
    }
  }
  sigaltstack(&none, NULL);
  free(memory);
  return (void*)1;
}

static int jumps_out_of_it(void) {
  set_alternate(65536, 0);
  handle(SIGSEGV, jumps_out, SA_ONSTACK);
  handle(SIGUSR1, jumps_out, SA_ONSTACK);
  for (volatile int i = 0; i < 1000; i++) {
    int came = sigsetjmp(back, 1);
    if (came == 0) {
      if (i & 1) raise(SIGUSR1);
      *(volatile int*)bad_address = 1;
    }
    count += came;
  }
  say("sum %d inside %d\n", count, inside);
  for (int i = 0; i < 5; i++) {
    pthread_t one;
    void* fine = NULL;
    pthread_create(&one, NULL, jumps_in_thread, NULL);
    pthread_join(one, &fine);
    say("thread %d\n", fine != NULL);
  }
  return 0;
}

const struct foreign_case kStackCases[] = {{"altstack_overflows", overflows},           {"altstack_nested", nested},
                                           {"altstack_autodisarm", autodisarm},         {"altstack_tiny", tiny},
                                           {"altstack_jumped_out_of", jumps_out_of_it}, {NULL, NULL}};

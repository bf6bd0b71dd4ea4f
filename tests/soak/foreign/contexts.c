/* Contexts, jumps over frames of libc, stacks that were switched by hand or are walked. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <ftw.h>
#include <search.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#include "foreign.h"

static volatile int count;

static ucontext_t contexts[5];
static volatile long turns[5];

static void turn(int which) {
  for (int i = 0; i < 250; i++) {
    char text[32] = "0123456789";
    turns[which] += (long)libc_strlen(text + which) == 10 - which;
    swapcontext(&contexts[which], &contexts[1 + which % 4]);
  }
}

static int ping_pong(void) {
  for (int i = 1; i < 5; i++) {
    getcontext(&contexts[i]);
    contexts[i].uc_stack.ss_sp = malloc(65536);
    contexts[i].uc_stack.ss_size = 65536;
    contexts[i].uc_link = &contexts[0];
    makecontext(&contexts[i], (void (*)(void))turn, 1, i);
  }
  swapcontext(&contexts[0], &contexts[1]);
  say("turns %ld %ld %ld %ld\n", turns[1], turns[2], turns[3], turns[4]);
  volatile int again = 0;
  getcontext(&contexts[0]);
  if (again++ < 100) setcontext(&contexts[0]);
  say("again %d\n", again);
  return 0;
}

static void goes_on(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)info, (void)context;
  count++;
  setcontext(&contexts[0]);
}

/* A handler that leaves by setcontext(): the mask of the context comes back. */
static int context_of_handler(void) {
  static const int signals[] = {SIGUSR1, SIGSEGV, SIGTRAP};
  for (volatile int i = 0; i < 3; i++) {
    sigset_t now;
    volatile int first = 1;
    handle(signals[i], goes_on, 0);
    getcontext(&contexts[0]);
    if (first) {
      first = 0;
      raise(signals[i]);
    }
    sigprocmask(SIG_BLOCK, NULL, &now);
    say("%d: handled %d blocked %d\n", signals[i], count, sigismember(&now, signals[i]));
  }
  return 0;
}

/* ---- out of libc's frames -------------------------------------------------------------------- */

static jmp_buf out;
static volatile int compared;

static int compare(const void* a, const void* b) {
  if (++compared % 50 == 0) longjmp(out, 1);
  return *(const int*)a - *(const int*)b;
}

static int visit(const char* path, const struct stat* status, int kind, struct FTW* walk) {
  (void)path, (void)status, (void)kind, (void)walk;
  longjmp(out, 2);
}

static void walk_tree(const void* node, VISIT which, int level) {
  (void)node, (void)which, (void)level;
  if (++compared % 7 == 0) longjmp(out, 3);
}

static int out_of_callbacks(void) {
  volatile int jumped[4] = {0, 0, 0, 0};
  static int numbers[64];
  for (volatile int i = 0; i < 2000; i++) {
    for (int k = 0; k < 64; k++) numbers[k] = (k * 37 + i) % 64;
    int came = setjmp(out);
    jumped[came]++;
    if (came) continue;
    if (i % 500 == 1) nftw("/usr/include", visit, 4, 0);
    if (i & 1) {
      int key = i % 64;
      qsort(numbers, 1 + (size_t)i % 64, sizeof(int), compare);
      bsearch(&key, numbers, 64, sizeof(int), compare);
    } else {
      void* root = NULL;
      for (int k = 0; k < 5; k++) tsearch(&numbers[k], &root, compare);
      twalk(root, walk_tree);
    }
  }
  say("went through %d, jumped %d %d %d\n", jumped[0], jumped[1], jumped[2], jumped[3]);
  return 0;
}

/* ---- by hand --------------------------------------------------------------------------------- */

static int orders(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }

static long sort_there(void* numbers) {
  qsort(numbers, 40, sizeof(int), orders);
  return ((int*)numbers)[39];
}

static int switched(void) {
  int numbers[40];
  char* memory = malloc(65536);
  long got = 0;
  for (int round = 0; round < 100; round++) {
    for (int k = 0; k < 40; k++) numbers[k] = (k * 17 + round) % 40 + round;
    void *top = memory + 65536 - 64, *argument = numbers;
    __asm__ volatile("mov %%rsp, %%rbx; mov %3, %%rsp; and $-16, %%rsp; call *%2; mov %%rbx, %%rsp"
                     : "=a"(got), "+D"(argument)
                     : "r"(sort_there), "r"(top)
                     : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2",
                       "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
                       "xmm14", "xmm15");
    if (got != numbers[39]) return 3;
  }
  say("greatest %ld\n", got);
  return 0;
}

__attribute__((noinline)) static int trace_at(int levels) {
  void* frames[100];
  volatile int result = levels ? trace_at(levels - 1) : backtrace(frames, 100);
  return result;
}

static int depth_in_callback;
static int compare_tracing(const void* a, const void* b) {
  void* frames[100];
  depth_in_callback = backtrace(frames, 100);
  return *(const int*)a - *(const int*)b;
}

/* Its own stack, as the program itself sees it: above main() there may be more or less, below not. */
static int backtraces(void) {
  int none = trace_at(0), numbers[2] = {2, 1};
  say("frames %d %d\n", trace_at(10) - none, trace_at(40) - none);
  qsort(numbers, 2, sizeof(int), compare_tracing);
  say("frames in a callback of qsort beyond that: %d\n", depth_in_callback - none);
  return 0;
}

typedef _Unwind_Reason_Code (*walk_fn)(_Unwind_Trace_Fn, void*);
static walk_fn walk;

static _Unwind_Reason_Code counts_frame(struct _Unwind_Context* context, void* frames) {
  (void)context;
  ++*(int*)frames;
  return _URC_NO_REASON;
}

static int compare_walking(const void* a, const void* b) {
  depth_in_callback = 0;
  walk(counts_frame, &depth_in_callback);
  return *(const int*)a - *(const int*)b;
}

/* The same by an unwinder that is loaded when the program has run for a while, as a plug-in in C++ brings it. */
static int late_unwinder(void) {
  int numbers[2] = {2, 1}, none = 0;
  void* library = dlopen("libgcc_s.so.1", RTLD_NOW);
  walk = library ? (walk_fn)dlsym(library, "_Unwind_Backtrace") : NULL;
  if (!walk) return 3;
  walk(counts_frame, &none);
  qsort(numbers, 2, sizeof(int), compare_walking);
  say("frames in a callback of qsort beyond those: %d\n", depth_in_callback - none);
  return 0;
}

const struct foreign_case kContextCases[] = {{"context_ping_pong", ping_pong},
                                             {"context_of_handler", context_of_handler},
                                             {"jump_out_of_callbacks", out_of_callbacks},
                                             {"stack_switched", switched},
                                             {"stack_backtraces", backtraces},
                                             {"stack_late_unwinder", late_unwinder},
                                             {NULL, NULL}};

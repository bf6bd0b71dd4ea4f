/* The twins without a writer of their own: see work.h. */
#include "work.h"

#include <string.h>

#define PLAIN_TWIN(name)                                                                        \
  BENCH_TWIN long name(int a, long b, const char* s, long d) { return bench_body(a, b, s, d); } \
  BENCH_LOOP(name)

PLAIN_TWIN(work_base)
PLAIN_TWIN(work_control)
PLAIN_TWIN(work_accepted)
PLAIN_TWIN(work_rejected)
PLAIN_TWIN(work_counted)
PLAIN_TWIN(work_measured)
PLAIN_TWIN(work_loglinear)
PLAIN_TWIN(work_extremes)
PLAIN_TWIN(work_named)
PLAIN_TWIN(work_entry)
PLAIN_TWIN(work_return)

/* Called below so many frames that its stack has 20 with those of main and of the C library. */
enum { FRAMES_BELOW = 12 };
BENCH_TWIN long work_stacked(int a, long b, const char* s, long d) { return bench_body(a, b, s, d); }
static __attribute__((noipa)) long stacked_below(int frames, long calls, const char* text, enum bench_order order) {
  long sum = 0, last = 1;
  if (frames > 0) {
    sum = stacked_below(frames - 1, calls, text, order);
    __asm__ volatile("" ::: "memory"); /* no tail call */
    return sum;
  }
  for (long i = 0; i < calls; i++) {
    last = work_stacked((int)((order == BENCH_CHAINED ? last : i) & 0xffff), i, text, i);
    sum += last;
  }
  return sum;
}
long loop_work_stacked(long calls, const char* text, enum bench_order order) {
  return stacked_below(FRAMES_BELOW, calls, text, order);
}
PLAIN_TWIN(work_text)
PLAIN_TWIN(work_integer)
PLAIN_TWIN(work_floating)

/* Its text is that of a std::string, as libstdc++ has it. */
BENCH_TWIN long work_object(int a, long b, const char* s, long d) { return bench_body(a, b, s, d); }
long loop_work_object(long calls, const char* text, enum bench_order order) {
  const struct {
    const char* text;
    unsigned long length;
    char room[16];
  } object = {text, strlen(text), ""};
  long sum = 0, last = 1;
  for (long i = 0; i < calls; i++) {
    last = work_object((int)((order == BENCH_CHAINED ? last : i) & 0xffff), i, (const char*)&object, i);
    sum += last;
  }
  return sum;
}
PLAIN_TWIN(kernel_accepted)
PLAIN_TWIN(kernel_rejected)
PLAIN_TWIN(kernel_return)

/* The branch back to 1: is never taken (the string is not NULL), but no one can know: the second
 * instruction, at offset 1, is a jump target, and a 5-byte jump over it is not safe. */
#define INT3_TWIN(name)                   \
  __asm__(                                \
      ".pushsection .text\n"              \
      ".globl " #name                     \
      "\n"                                \
      ".balign 64\n"                      \
      ".type " #name ",@function\n" #name \
      ":\n"                               \
      "  push %rbp\n"                     \
      "1:mov %rsp, %rbp\n"                \
      "  test %rdx, %rdx\n"               \
      "  jz 1b\n"                         \
      "  movslq %edi, %rdi\n"             \
      "  movsbq (%rdx), %rax\n"           \
      "  add %rdi, %rsi\n"                \
      "  add %rsi, %rax\n"                \
      "  add %rcx, %rax\n"                \
      "  pop %rbp\n"                      \
      "  ret\n"                           \
      ".size " #name ", . - " #name       \
      "\n"                                \
      ".popsection\n");

INT3_TWIN(work_int3)
INT3_TWIN(work_int3_base)
BENCH_LOOP(work_int3)
BENCH_LOOP(work_int3_base)

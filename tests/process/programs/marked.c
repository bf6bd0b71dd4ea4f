/*
 * marked [ROUNDS]: markers (USDT) with an argument of every form, written as <sys/sdt.h> writes them.  One line in, or
 * ROUNDS rounds; each round prints "NUMBER semaphore VALUE".  "fork": a child prints one round, too.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A note about the `nop` where it stands; `semaphore` is a symbol or 0. */
#define MARKER(name, semaphore, arguments, ...)                       \
  __asm__ volatile(                                                   \
      "990: nop\n"                                                    \
      ".pushsection .note.stapsdt,\"?\",\"note\"\n"                   \
      ".balign 4\n .4byte 992f-991f, 994f-993f, 3\n"                  \
      "991: .asciz \"stapsdt\"\n 992: .balign 4\n"                    \
      "993: .8byte 990b, _.stapsdt.base, " semaphore                  \
      "\n"                                                            \
      ".asciz \"marked\"\n .asciz \"" name "\"\n .asciz \"" arguments \
      "\"\n"                                                          \
      "994: .balign 4\n .popsection\n" __VA_ARGS__)

__asm__(
    ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
    ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"
    ".size _.stapsdt.base, 1\n.popsection");

__attribute__((section(".probes"), used)) volatile uint16_t marked_guarded_semaphore;
int32_t marked_counter = -77;

static __attribute__((noinline)) void registers(uint64_t number, int32_t negative, const char* text) {
  MARKER("registers", "0", "8@%%rdi -4@%%esi 8@%%rdx 1@%%dil 2@%%si",
         :
         : "D"(number), "S"((int64_t)negative), "d"(text));
}

static __attribute__((noinline)) void memory(int64_t number) {
  volatile struct {
    int64_t words[2];
    int32_t small;
    const char* text;
  } here = {{number, -number}, (int32_t)-number, "in memory"};
  MARKER("memory", "0", "8@(%%rax) -8@8(%%rax) -4@0x10(%%rax) 8@24(%%rax) -4@$-42 8@$7 -4@marked_counter(%%rip)",
         :
         : "a"(&here)
         : "memory");
}

static __attribute__((noinline)) void indexed(int64_t* table, int64_t index) {
  MARKER("indexed", "0", "8@%%rsi 8@(%%rdi,%%rsi,8)", : : "D"(table), "S"(index) : "memory");
}

static __attribute__((noinline)) void measured(double exact, float coarse) {
  const volatile double there = exact;
  register double first __asm__("xmm0") = exact;
  register float second __asm__("xmm1") = coarse;
  MARKER("measured", "0", "-8f@%%xmm0 4f@%%xmm1 8f@(%%rax)", : : "x"(first), "x"(second), "a"(&there) : "memory");
}

/* The same marker at two places, with its argument elsewhere. */
static __attribute__((noinline)) void twice(int64_t number) {
  MARKER("twice", "0", "-8@%%rbx", : : "b"(number));
  MARKER("twice", "0", "-8@%%rcx", : : "c"(number + 1000));
}

static __attribute__((noinline)) void guarded(int64_t number) {
  if (marked_guarded_semaphore) MARKER("guarded", "marked_guarded_semaphore", "8@%%rax", : : "a"(number));
}

static void play(int64_t number) {
  int64_t table[4] = {10, 11, 12, 13};
  registers((uint64_t)number, (int32_t)-number, "a text");
  memory(number);
  indexed(table, number & 3);
  measured((double)number + 0.1, 1.5f * (float)number);
  twice(number);
  guarded(number);
  printf("%lld semaphore %u\n", (long long)number, marked_guarded_semaphore);
  fflush(stdout);
}

int main(int argc, char** argv) {
  if (argc > 1) {
    for (int64_t n = 1; n <= atoll(argv[1]); n++) play(n);
    return 0;
  }
  setvbuf(stdin, NULL, _IONBF, 0); /* a child has no lines that its parent has read ahead */
  char line[64];
  for (int64_t n = 1; fgets(line, sizeof line, stdin); n++) {
    if (!strncmp(line, "fork", 4)) {
      const pid_t child = fork();
      if (child) {
        waitpid(child, NULL, 0);
        continue;
      }
      if (!fgets(line, sizeof line, stdin)) _exit(1);
      play(n);
      _exit(0);
    }
    play(n);
  }
  return 0;
}

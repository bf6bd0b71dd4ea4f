/* Functions made at run time, which call one another and functions of this file. None of this file keeps a frame
 * pointer, and none that the stack needs is in %rbp.
 *
 *   leaf <- inner, made <- evaluate <- middle, made as CPython makes its trampolines <- relay <- outer, made <- main
 *
 *   jit_stacks ROUNDS   waits for a line on standard input; calls outer(); a second line ends it */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef void (*plain)(void);

static void (*inner)(plain callee);
static void (*outer)(plain callee);
static void (*middle)(long state, long frame, long how, plain evaluator);
static volatile int called;

/* Behind it %rbp holds nothing of use. */
#define SPOIL_FRAME_POINTER() __asm__ volatile("mov $0x1234567, %%ebp" ::: "rbp")

__attribute__((noinline)) void leaf(void) { called++; }
__attribute__((noinline)) void evaluate(void) {
  SPOIL_FRAME_POINTER();
  inner(leaf);
  called++;
}
__attribute__((noinline)) void relay(void) {
  SPOIL_FRAME_POINTER();
  middle(1, 2, 3, evaluate);
  called++;
}

int main(int argc, char** argv) {
  /* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
  static const unsigned char framed[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
  /* sub $8,%rsp; call *%rcx; add $8,%rsp; ret */
  static const unsigned char trampoline[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, 0x48, 0x83, 0xc4, 0x08, 0xc3};
  const int rounds = argc > 1 ? atoi(argv[1]) : 10;
  char path[64], line[16];
  snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
  FILE* map = fopen(path, "w");
  unsigned char* code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!map || code == MAP_FAILED) return 1;
  memcpy(code, framed, sizeof framed);
  memcpy(code + 64, framed, sizeof framed);
  memcpy(code + 128, trampoline, sizeof trampoline);
  fprintf(map, "%lx %zx LazyCompile:*inner /app/a.js:1:13\n", (unsigned long)(uintptr_t)code, sizeof framed);
  fprintf(map, "%lx %zx LazyCompile:~ /app/a.js:6:23\n", (unsigned long)(uintptr_t)(code + 64), sizeof framed);
  fprintf(map, "%lx %zx py::middle:/app/a.py\n", (unsigned long)(uintptr_t)(code + 128), sizeof trampoline);
  fclose(map);
  inner = (void (*)(plain))(uintptr_t)code;
  outer = (void (*)(plain))(uintptr_t)(code + 64);
  middle = (void (*)(long, long, long, plain))(uintptr_t)(code + 128);
  puts("ready");
  fflush(stdout);
  if (!fgets(line, sizeof line, stdin)) return 1;
  for (int i = 0; i < rounds; i++) outer(relay);
  printf("called %d\n", called);
  fflush(stdout);
  if (!fgets(line, sizeof line, stdin)) return 1;
  unlink(path);
  return 0;
}

/* A JIT compiler of its own: functions made at run time, told in /tmp/perf-PID.map. What it prints is what a tracer has
 * to see.
 *
 *   jitted ROUNDS   makes `twice` and `thrice`, calls each ROUNDS times; compiles `twice` again at another place; puts
 *                   `other` where it was first; puts data where `thrice` was, and tells nobody
 *
 * At each step it says where the new code is, and waits for a line on standard input: the tracer may look meanwhile. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef long (*function)(long);

static unsigned char* code;
static size_t used;
static FILE* map;

/* [nop;] mov %rdi,%rax; imul $FACTOR,%rax,%rax; add $ADDED,%rax; ret */
static function compile_at(unsigned char* at, const char* name, int factor, int added, int begins_with_nop) {
  unsigned char bytes[] = {0x48, 0x89, 0xf8, 0x48, 0x69, 0xc0, 0, 0, 0, 0, 0x48, 0x05, 0, 0, 0, 0, 0xc3};
  memcpy(bytes + 6, &factor, 4);
  memcpy(bytes + 12, &added, 4);
  if (begins_with_nop) at[0] = 0x90;
  memcpy(at + begins_with_nop, bytes, sizeof bytes);
  if (name) {
    fprintf(map, "%lx %zx %s\n", (unsigned long)at, sizeof bytes + begins_with_nop, name);
    fflush(map);
  }
  return (function)(uintptr_t)at;
}

static function compile(const char* name, int factor, int added) {
  function made = compile_at(code + used, name, factor, added, 0);
  used += 64;
  return made;
}

static void step(const char* what, const void* at) {
  char line[16];
  printf("%s %lx\n", what, (unsigned long)(uintptr_t)at);
  fflush(stdout);
  if (!fgets(line, sizeof line, stdin)) exit(1);
}

static void call(const char* name, function f, int rounds) {
  long sum = 0;
  for (int i = 0; i < rounds; i++) sum += f(i);
  printf("%s %d %ld\n", name, rounds, sum);
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 10;
  char path[64];
  snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
  map = fopen(path, "w");
  code = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!map || code == MAP_FAILED) return 1;
  step("ready", code);
  function twice = compile("LazyCompile:~twice /app/a.js:1:13", 2, 0);
  unsigned char* first = (unsigned char*)(uintptr_t)twice;
  function thrice = compile("py::thrice:/app/a.py", 3, 0);
  step("compiled", (void*)(uintptr_t)thrice);
  call("twice", twice, rounds);
  call("thrice", thrice, rounds);
  twice = compile("LazyCompile:*twice /app/a.js:1:13", 2, 0);
  step("again", (void*)(uintptr_t)twice);
  call("twice", twice, rounds);
  call("twice", (function)(uintptr_t)first, rounds); /* both are code of `twice` */
  function other = compile_at(first, "other", 5, 7, 1);
  step("reused", first);
  call("other", other, rounds);
  call("twice", twice, rounds);
  call("thrice", thrice, rounds);
  unsigned char* data = (unsigned char*)(uintptr_t)thrice;
  memset(data, 0xcc, 32); /* as V8 fills what is free: by chance what a breakpoint is */
  data[1] = 0x11;
  step("data", data);
  printf("data is %s\n", data[0] == 0xcc && data[1] == 0x11 && data[2] == 0xcc ? "intact" : "changed");
  call("twice", twice, rounds);
  fflush(stdout);
  unlink(path);
  return 0;
}

/*
 * faults N [threads]: calls `served` and `brief` with 0 … N - 1 and prints what each returned, then how often they ran;
 * with `threads`, four threads do it and only the sums are printed. A child does it once more.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROBED __attribute__((noinline, noclone, noipa, visibility("default")))
enum { THREADS = 4 };

static volatile long runs;

PROBED long served(long n, const char* text) {
  __atomic_fetch_add(&runs, 1, __ATOMIC_RELAXED);
  return 2 * n + (long)strlen(text);
}

/* A jump does not fit at `brief`: another function begins one byte behind. */
__asm__(
    ".globl brief\n .type brief, @function\n brief:\n nop\n .size brief, 1\n"
    ".globl brief_body\n .type brief_body, @function\n brief_body:\n leaq 1(%rdi), %rax\n ret\n"
    ".size brief_body, 5\n");
extern long brief(long n);

static long limit;
static int quiet;

static void* work(void* ignored) {
  (void)ignored;
  for (long n = 0; n < limit; n++) {
    const long a = served(n, "text"), b = brief(n);
    if (!quiet) printf("%ld %ld %ld\n", n, a, b);
  }
  return NULL;
}

int main(int argc, char** argv) {
  limit = argc > 1 ? atol(argv[1]) : 10;
  quiet = argc > 2;
  if (quiet) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  } else {
    work(NULL);
  }
  printf("ran %ld\n", runs);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    runs = 0;
    work(NULL);
    printf("ran %ld\n", runs);
    fflush(stdout);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  return 0;
}

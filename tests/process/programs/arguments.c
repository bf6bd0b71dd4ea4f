/* arguments N: functions that change their arguments before they return, called N times. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define PROBED __attribute__((noinline, noclone, noipa, visibility("default")))

/* All nine are overwritten: those in registers by assembly, those on the stack through their own places. */
PROBED long nine(long a, long b, long c, long d, long e, long f, long g, long h, const char* text) {
  const long sum = a + b + c + d + e + f + g + h + text[0];
  __asm__ volatile("" : : "r"(sum));
  *(volatile long*)&g = -7;
  *(volatile long*)&h = -8;
  *(const char* volatile*)&text = "another";
  __asm__ volatile(
      "movq $-1, %%rdi\n movq $-1, %%rsi\n movq $-1, %%rdx\n movq $-1, %%rcx\n movq $-1, %%r8\n movq $-1, %%r9" ::
          : "rdi", "rsi", "rdx", "rcx", "r8", "r9");
  return sum;
}

PROBED int fill(char* to, int size, int number) {
  const int length = snprintf(to, (size_t)size, "item %d", number);
  to = NULL;
  return length;
}

PROBED long sum_to(long n) {
  long below = n == 0 ? 0 : sum_to(n - 1);
  __asm__ volatile("" : "+r"(below)); /* or it would be a loop */
  return n + below;
}

/* A jump does not fit at `tiny`: another function begins one byte behind. */
__asm__(
    ".globl tiny\n .type tiny, @function\n tiny:\n nop\n .size tiny, 1\n"
    ".globl behind\n .type behind, @function\n behind:\n leaq 1(%rdi), %rax\n xorl %edi, %edi\n ret\n .size behind, "
    "8\n");
extern long tiny(long n);
extern long behind(long n);

static volatile sig_atomic_t signals;
PROBED long in_handler(long n) { return n * 2; }
static void on_signal(int number) { signals += in_handler(number) == number * 2L; }

static int count;

static void* work(void* from) {
  long sum = 0;
  for (int i = 0; i < count; i++) {
    char item[32];
    sum += nine((long)from, i, 3, 4, 5, 6, 70 + i, 80, "text");
    sum += fill(item, sizeof item, i);
    sum += sum_to(i % 8) + tiny(i) + behind(i);
  }
  return (void*)sum;
}

int main(int argc, char** argv) {
  count = argc > 1 ? atoi(argv[1]) : 100;
  struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval often = {{0, 500}, {0, 500}};
  if (argc > 2) setitimer(ITIMER_REAL, &often, NULL);
  pthread_t threads[4];
  for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, (void*)(i + 1));
  for (int i = 0; i < 4; i++) {
    void* sum;
    pthread_join(threads[i], &sum);
    printf("%ld\n", (long)sum);
  }
  return 0;
}

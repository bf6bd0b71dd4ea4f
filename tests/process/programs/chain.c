// Calls leaf() through three functions, once for each line of its input, and says where each call returns to.
//
//   the line `7`  →  "7 LEAF INNER MIDDLE OUTER MAIN": leaf()'s own address, then return addresses, innermost first
//
// Compiled without frame pointers. `7+` goes on, once a millisecond, until the
// next line comes; `die` makes 200 calls and ends it by SIGKILL.
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHAIN __attribute__((noinline, noclone, visibility("default")))
#define RETURNS_TO __builtin_extract_return_addr(__builtin_return_address(0))

static void* returns[4];
static volatile int sum;
const char* volatile word = "word";

CHAIN int leaf(int number, const char* text) {
  returns[0] = RETURNS_TO;
  sum += number;
  return number + text[0];
}

// What is done after each call keeps it from being the last thing, which would be a jump.
CHAIN int inner(int number) {
  returns[1] = RETURNS_TO;
  return leaf(number, word) + sum;
}

CHAIN int middle(int number) {
  volatile char room[200];
  returns[2] = RETURNS_TO;
  room[number & 127] = (char)number;
  return inner(number) + room[number & 127];
}

CHAIN int outer(int number) {
  returns[3] = RETURNS_TO;
  return middle(number) - sum;
}

int main(void) {
  char line[64];
  struct pollfd input = {.fd = 0, .events = POLLIN, .revents = 0};
  setvbuf(stdin, NULL, _IONBF, 0);
  setvbuf(stdout, NULL, _IOLBF, 0);
  printf("ready\n");
  while (fgets(line, sizeof line, stdin)) {
    const int number = atoi(line);
    const int dies = strncmp(line, "die", 3) == 0;
    volatile int calls = dies ? 200 : 1;  // which keeps the loop one piece of code, with one place to return to
    while (calls-- > 0) sum += outer(number);
    if (dies) raise(SIGKILL);
    while (strchr(line, '+') && poll(&input, 1, 1) == 0) sum += outer(number);
    printf("%d %p %p %p %p %p\n", number, (void*)&leaf, returns[0], returns[1], returns[2], returns[3]);
  }
  return 0;
}

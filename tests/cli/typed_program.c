/* Functions whose arguments have names and types: debug information tells them. */
#include <stdio.h>

struct inner {
  int a;
  unsigned low : 3, high : 7;
  char name[8];
  const char* text;
};
struct outer {
  struct inner* in;
  short first, second;
};

__attribute__((noinline)) int work(double factor, struct outer* o, unsigned char k, const char* text, long l) {
  __asm__ volatile("" ::: "memory");
  return o->in->a + k + (int)factor + text[0] + (int)l;
}

int main(void) {
  struct inner in = {7, 5, 99, "hello", "pointed"};
  struct outer o = {&in, 3, -4};
  for (int i = 0; i < 3; ++i) printf("%d\n", work(1.5, &o, (unsigned char)i, "text!", 100 + i));
  return 0;
}

/* What debug_types_test asks debug information about. */
struct inner {
  int a;
  unsigned b : 3, c : 7;
  char name[8];
  const char* text;
};
struct outer {
  struct inner* in;
  union {
    unsigned long whole;
    struct {
      short low, high;
    };
  };
  enum { FIRST, SECOND } which;
};
struct pair {
  long x, y;
};

__attribute__((noinline)) long typed_work(double factor, struct outer* o, unsigned char k, const char* text, float y,
                                          long l) {
  return o->in->a + k + (long)factor + text[0] + l + (long)y;
}
__attribute__((noinline)) long typed_pair(int before, struct pair p, int after) { return before + p.x + p.y + after; }
__attribute__((noinline)) int typed_rest(const char* format, ...) { return format[0]; }

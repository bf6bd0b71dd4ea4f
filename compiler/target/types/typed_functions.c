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
struct mixed {
  double weight;
  long n;
};
__attribute__((noinline)) long typed_mixed(int before, struct mixed m, int after) {
  return before + (long)m.weight + m.n + after;
}
__attribute__((noinline)) long typed_full(int a, int b, int c, int d, int e, struct pair p, int after) {
  return a + b + c + d + e + p.x + p.y + after;
}
__attribute__((noinline)) long typed_pair(int before, struct pair p, int after) { return before + p.x + p.y + after; }
__attribute__((noinline)) int typed_rest(const char* format, ...) { return format[0]; }

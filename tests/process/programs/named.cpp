// named [ROUNDS]: functions with names that only their source has: namespaces, classes, overloads, templates,
// operators, and one as Rust mangles it. Prints what each returns.
#include <cstdio>
#include <cstdlib>

#define KEPT __attribute__((noinline, used))

namespace shapes {

class Square {
 public:
  explicit Square(long side);
  long area() const;
  long scale(int by);
  long scale(long by, double exactly);
  long operator+(const Square& other) const;

 private:
  long side_;
};

KEPT Square::Square(long side) : side_(side) {}
KEPT long Square::area() const { return side_ * side_; }
KEPT long Square::scale(int by) { return side_ *= by; }
KEPT long Square::scale(long by, double exactly) {
  return side_ = static_cast<long>(static_cast<double>(side_ * by) * exactly);
}
KEPT long Square::operator+(const Square& other) const { return side_ + other.side_; }

template <class First, class Second>
KEPT long sum(First first, Second second) {
  return static_cast<long>(first) + static_cast<long>(second);
}

namespace {
KEPT long hidden(long number) {
  asm volatile("" : "+r"(number));
  return number + 100;
}
}  // namespace

}  // namespace shapes

KEPT long compute(long number) {
  asm volatile("" : "+r"(number));
  return 2 * number;
}

extern "C" KEPT long rust_area(long side) __asm__("_ZN4main5Shape4area17h0123456789abcdefE");
extern "C" KEPT long rust_area(long side) {
  asm volatile("" : "+r"(side));
  return 3 * side;
}

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? std::atol(argv[1]) : 1;
  for (long n = 1; n <= rounds; n++) {
    shapes::Square square(n), other(10);
    std::printf("area %ld", square.area());
    std::printf(" scaled %ld", square.scale(3));
    std::printf(" exactly %ld", square.scale(2L, 0.5));
    std::printf(" plus %ld sum %ld hidden %ld", square + other, shapes::sum<int, char>(static_cast<int>(n), 'A'),
                shapes::hidden(n));
    std::printf(" computed %ld rust %ld\n", compute(n), rust_area(n));
  }
  return 0;
}

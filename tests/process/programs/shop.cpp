// Lines of C++ for lines_test.py: templates, objects, references, bases, a function that is inlined. The program prints
// what a probe may read.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace shop {

struct Thing {
  long number = 0;
};
struct Item : Thing {
  std::string name;
  double price = 0;
};

template <class T>
__attribute__((noinline)) T larger(T a, T b) {
  T best = a < b ? b : a;
  std::printf("larger %ld\n", static_cast<long>(best));  // larger
  return best;
}

class Clerk {
 public:
  explicit Clerk(std::string name) : name_(std::move(name)) {}
  __attribute__((noinline)) int serve(const Item& item, std::string_view note, const std::vector<int>& counts,
                                      const std::array<short, 3>& sizes) {
    std::string text = item.name + "!";
    served_ += counts[1] + sizes[2];
    const int length = static_cast<int>(note.size());
    std::printf("serve %s %s %.*s %d\n", name_.c_str(), text.c_str(), length, note.data(), served_);  // serve
    return served_;
  }

 private:
  std::string name_;
  int served_ = 0;
};

}  // namespace shop

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 1;
  shop::Clerk clerk("Ada");
  for (int round = 1; round <= rounds; ++round) {
    shop::Item item;
    item.number = 1000 + round;
    item.name = "apple " + std::to_string(round);
    item.price = 0.5 * round;
    clerk.serve(item, std::string_view("a note").substr(0, 3), {1, round}, {7, 8, 9});
    std::printf("both %d %ld\n", shop::larger(round, 2), shop::larger(2L, 5L));
  }
}

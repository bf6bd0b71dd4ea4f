// texts [ROUNDS]: functions that take std::string in every way, references to numbers, and objects that hold them.
// Prints what each was given.
#include <cstdio>
#include <cstdlib>
#include <string>

#define KEPT __attribute__((noinline, used))

namespace shop {

struct Item {
  long id;
  std::string name;
  const std::string* maker;
  const std::string& label;
};

class Clerk {
 public:
  explicit Clerk(std::string name) : name_(std::move(name)) {}
  KEPT std::size_t greet(const std::string& whom) const {
    asm volatile("" : : "r"(this), "r"(&whom) : "memory");
    return name_.size() + whom.size();
  }

 private:
  long pad_ = 7;
  std::string name_;
};

KEPT std::size_t by_reference(const std::string& text, int number) {
  asm volatile("" : : "r"(&text), "r"(number) : "memory");
  return text.size() + static_cast<std::size_t>(number);
}
KEPT std::size_t by_value(std::string text, int number) {
  asm volatile("" : : "r"(&text), "r"(number) : "memory");
  return text.size() + static_cast<std::size_t>(number);
}
KEPT std::size_t by_pointer(std::string* text) {
  asm volatile("" : : "r"(text) : "memory");
  return text->size();
}
KEPT long by_object(const Item& item, const double& weight, long& count, bool& is_new) {
  asm volatile("" : : "r"(&item), "r"(&weight), "r"(&count), "r"(&is_new) : "memory");
  return item.id + count;
}
KEPT std::string made(int number, const std::string& of) {
  asm volatile("" : : "r"(number) : "memory");
  return of + std::to_string(number);
}

}  // namespace shop

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 1;
  for (int i = 0; i < rounds; ++i) {
    std::string text = i % 2 ? "short" : "a text that is too long to lie in the object itself";  // 15 bytes lie there
    text += ' ' + std::to_string(i);
    const std::string maker = "maker " + std::to_string(i);
    const shop::Item item{i, text, &maker, maker};
    const double weight = i + 0.25;
    long count = -i;
    bool is_new = i % 2;
    std::printf("%s|%zu %zu %zu %ld %zu %s\n", text.c_str(), shop::by_reference(text, i), shop::by_value(text, i),
                shop::by_pointer(&text), shop::by_object(item, weight, count, is_new), shop::Clerk("clerk").greet(text),
                shop::made(i, text).c_str());
  }
  return 0;
}

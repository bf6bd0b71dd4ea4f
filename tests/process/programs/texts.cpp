// texts [ROUNDS]: functions that take std::string and std::string_view in every way, references to numbers, and objects
// that hold them.
// Prints what each was given.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#define KEPT __attribute__((noinline, used))

namespace shop {

struct Item {
  long id;
  std::string name;
  const std::string* maker;
  const std::string& label;
};

struct Part {
  long id;
  std::string_view name;
  const std::string_view* other;
};
struct Point {
  int x, y;
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

KEPT std::size_t by_view(std::string_view text, int number) {
  asm volatile("" : : "r"(text.data()), "r"(number) : "memory");
  return text.size() + static_cast<std::size_t>(number);
}
// The view has the last two registers.
KEPT std::size_t behind_four(int a, int b, Point at, long c, std::string_view text, int last) {
  asm volatile("" : : "r"(text.data()), "r"(last) : "memory");
  return text.size() + static_cast<std::size_t>(a + b + at.x + at.y + c + last);
}
// One register is left, so it lies on the stack.
KEPT std::size_t on_stack(int a, int b, int c, int d, int e, std::string_view text) {
  asm volatile("" : : "r"(text.data()) : "memory");
  return text.size() + static_cast<std::size_t>(a + b + c + d + e);
}
KEPT std::size_t by_part(const Part& part, const std::string_view& whole, std::string_view* changed) {
  asm volatile("" : : "r"(&part), "r"(&whole), "r"(changed) : "memory");
  return part.name.size() + whole.size() + changed->size();
}
struct Base {
  double weight;
};
struct Derived : Base {
  long n;
};
struct Copied {
  Copied(long one, long other) : first(one), second(other) {}
  Copied(const Copied& other) : first(other.first), second(other.second) {}
  long first, second;
};
struct __attribute__((packed)) Packed {
  char c;
  int items[2];
};
KEPT long derived(Derived object, long after) {
  asm volatile("" : : "r"(&object), "r"(after) : "memory");
  return object.n + after;
}
KEPT long copied(Copied copy, long after) {
  asm volatile("" : : "r"(&copy), "r"(after) : "memory");
  return copy.first + after;
}
KEPT long packed(Packed object, long after) {
  asm volatile("" : : "r"(&object), "r"(after) : "memory");
  return object.c + after;
}
KEPT std::size_t by_bytes(const void* data, int size) {
  asm volatile("" : : "r"(data), "r"(size) : "memory");
  return static_cast<std::size_t>(size);
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
    const std::string_view view = std::string_view(text).substr(0, static_cast<std::size_t>(i));  // no NUL behind it
    std::string_view changed = view.substr(0, view.size() / 2);
    const shop::Part part{i, view, &changed};
    const std::size_t sum = shop::by_view(view, i) + shop::behind_four(1, 2, {3, 4}, 5, view, i) +
                            shop::on_stack(1, 2, 3, 4, 5, view) + shop::by_part(part, view, &changed) +
                            shop::by_bytes(text.data(), i) + shop::by_view({}, -1);
    shop::Derived object{};
    object.n = i;
    const shop::Copied copy(7, 8);
    if (sum + static_cast<std::size_t>(shop::derived(object, 42) + shop::copied(copy, 42) +
                                       shop::packed({'c', {1, 2}}, 42)) ==
        0)
      std::abort();
    std::printf("%s|%zu %zu %zu %ld %zu %s\n", text.c_str(), shop::by_reference(text, i), shop::by_value(text, i),
                shop::by_pointer(&text), shop::by_object(item, weight, count, is_new), shop::Clerk("clerk").greet(text),
                shop::made(i, text).c_str());
  }
  return 0;
}

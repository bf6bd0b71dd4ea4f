// lists ROUNDS [WAIT]: functions that take lists as C++ has them. Prints a line for each round: what the lists held.
// With WAIT each round waits for a line.
#include <sys/mman.h>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))

namespace {

enum class Colour : std::uint16_t { Red = 3, Blue = 500 };

struct Order {
  int id;
  std::vector<std::int16_t> sizes;
  std::array<int, 3> three;
};

// Which takes its arguments, so that no call is removed.
NOINLINE void keep(const void* one, const void* other = nullptr) { asm volatile("" ::"r"(one), "r"(other) : "memory"); }

template <class Numbers>
std::string text_of(const Numbers& numbers) {
  std::string text;
  for (const auto& number : numbers) {
    char written[40];
    std::snprintf(written, sizeof written, "%s%.17g", text.empty() ? "" : ",", static_cast<double>(number));
    text += written;
  }
  return "{" + text + "}";
}

}  // namespace

// A type of the program's own that has the name of a list.
namespace own {
template <class T>
struct vector {
  T first, second;
};
}  // namespace own

extern "C" {
NOINLINE void by_reference(const std::vector<int>& numbers, const std::vector<double>& prices) {
  keep(&numbers, &prices);
}
NOINLINE void by_value(std::vector<std::uint64_t> numbers, int behind) { keep(&numbers, &behind); }
NOINLINE void by_pointer(std::vector<unsigned char>* bytes) { keep(bytes); }
NOINLINE void in_object(const Order& order, const std::array<float, 2>& two) { keep(&order, &two); }
NOINLINE void of_span(std::span<const unsigned char> bytes, int behind) { keep(bytes.data(), &behind); }
NOINLINE void of_others(const std::vector<Colour>& colours, const std::vector<const char*>& names,
                        const std::vector<bool>& flags, const own::vector<int>& pair) {
  keep(&colours, &names);
  keep(&flags, &pair);
}
NOINLINE void of_list(std::initializer_list<int> items) { keep(items.begin()); }
NOINLINE void by_hand(const std::int32_t* items, std::uint64_t count, const std::int32_t* end, std::int32_t small) {
  keep(items, end);
  keep(&count, &small);
}
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 3;
  std::vector<int> numbers;
  std::vector<double> prices;
  std::vector<std::uint64_t> large;
  std::vector<unsigned char> bytes;
  for (int round = 0; round < rounds; ++round) {
    if (argc > 2 && std::getchar() == EOF) return 0;
    const Order order = {round, {static_cast<std::int16_t>(-round), 2}, {round, 8, 9}};
    const std::array<float, 2> two = {0.5F, static_cast<float>(round)};
    by_reference(numbers, prices);
    by_value(large, round);
    by_pointer(&bytes);
    in_object(order, two);
    of_span({bytes.data(), bytes.size()}, round);
    of_others({Colour::Red, Colour::Blue}, {nullptr}, {true}, {1, 2});
    of_list({round, round + 1});
    by_hand(numbers.data(), numbers.size(), numbers.data() + numbers.size(), -1);
    std::printf("%s|%s|%s|%s\n", text_of(numbers).c_str(), text_of(prices).c_str(), text_of(large).c_str(),
                text_of(bytes).c_str());
    numbers.push_back(round * 7 - 10);
    prices.push_back(round / 4.0);
    large.push_back(~0ULL >> (11 + round));  // which a double holds
    for (int i = 0; i < 3; ++i) bytes.push_back(static_cast<unsigned char>(round * 40 + i));
  }
  // At the end of memory that can be read: whole, too long, and nothing at no address.
  auto* page =
      static_cast<std::int32_t*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (page == MAP_FAILED || mprotect(page + 1024, 4096, PROT_NONE) != 0) return 1;
  page[1022] = 22;
  page[1023] = 23;
  by_hand(page + 1022, 2, page + 1024, 0);
  by_hand(page + 1022, 3, page + 1025, 0);
  by_hand(nullptr, 0, nullptr, 0);
  by_hand(nullptr, 1, nullptr, 0);
  by_hand(page + 1022, 1, page + 1000, 0);  // an end before the beginning
  return 0;
}

// enums: functions that take enumerations of every size, in structures, as references and returned. Prints the values.
#include <cstdio>

#define KEPT __attribute__((noinline, used))

enum Plain { kMinus = -3, kNone = 0, kOne, kLarge = 70000 };
enum class Small : unsigned char { Off, On, Top = 200 };
enum class Wide : long long { Far = 1ll << 40, Back = -(1ll << 40) };

struct Request {
  int id;
  Small small;
  Plain plain : 20;
  unsigned rest : 4;
  Wide wide;
  Plain byte : 8;
  bool ready;
  bool last : 1;
};

extern "C" {
KEPT int take_plain(Plain plain, int number) {
  asm volatile("" : : "r"(plain), "r"(number) : "memory");
  return plain + number;
}
KEPT int take_all(Small small, Wide wide, const Request& request, const Plain& plain) {
  asm volatile("" : : "r"(small), "r"(wide), "r"(&request), "r"(&plain) : "memory");
  return request.id + plain;
}
KEPT bool take_bool(bool is_odd, const Request& request) {
  asm volatile("" : : "r"(is_odd), "r"(&request) : "memory");
  return !is_odd;
}
KEPT Plain give_plain(int number) {
  asm volatile("" : : "r"(number) : "memory");
  return static_cast<Plain>(number);
}
}

int main() {
  const Plain plains[] = {kMinus, kNone, kOne, kLarge, static_cast<Plain>(5)};
  const Small smalls[] = {Small::Off, Small::On, Small::Top, Small::On, static_cast<Small>(9)};
  long sum = 0;
  for (int i = 0; i < 5; ++i) {
    const Request request{i, smalls[i], plains[i % 3], 9, i % 2 ? Wide::Far : Wide::Back, plains[i % 3], i > 1, i == 4};
    sum += take_plain(plains[i], i) + take_all(smalls[i], request.wide, request, plains[i]) + give_plain(plains[i]) +
           take_bool(i % 2, request);
  }
  std::printf("%ld\n", sum);
  return 0;
}

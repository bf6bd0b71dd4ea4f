/* Calls with floating point arguments, returns and fields. Prints what each call was given and returned, with %a.

   floats ROUNDS [int3]      with a second word the functions begin where no jump fits */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct item {
  int id;
  double weight;
  float ratios[3];
};

double price(const char* name, double base, float rate, int count);
float half(float of);
double ship(struct item* item, long where, double* distance);
double many(double a, double b, double c, double d, double e, double f, double g, double h, double i);
double tiny(double of);

__attribute__((noinline)) double price(const char* name, double base, float rate, int count) {
  __asm__ volatile("" : : "r"(name) : "memory");
  return base * (double)rate + count;
}

__attribute__((noinline)) float half(float of) {
  __asm__ volatile("" ::: "memory");
  return of / 2;
}

__attribute__((noinline)) double ship(struct item* item, long where, double* distance) {
  __asm__ volatile("" : : "r"(item), "r"(distance) : "memory");
  return item->weight * *distance + (double)where;
}

__attribute__((noinline)) double many(double a, double b, double c, double d, double e, double f, double g, double h,
                                      double i) {
  __asm__ volatile("" ::: "memory");
  return a + b + c + d + e + f + g + h + i;
}

/* Too short for a jump, and called right behind: int3. */
__asm__(
    ".text\n.globl tiny\n.type tiny, @function\ntiny:\n"
    "  ret\n"
    ".size tiny, . - tiny\n"
    ".globl behind\n.type behind, @function\nbehind:\n  ret\n.size behind, . - behind\n");

static const double kSpecial[] = {0.0, -0.0, 1.5, -2.25, 1e-310, 1e308, 0.1, 16777217.0};

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 3;
  for (int i = 0; i < rounds; ++i) {
    const double base = i < 8     ? kSpecial[i]
                        : i == 8  ? (double)INFINITY
                        : i == 9  ? (double)-INFINITY
                        : i == 10 ? (double)NAN
                                  : i * 0.3;
    const float rate = 0.1f * (float)(i + 1);
    const double cost = price("a thing", base, rate, i);
    printf("price %a %a %d %a\n", base, (double)rate, i, cost);
    const float of = half(rate);
    printf("half %a %a\n", (double)rate, (double)of);
    struct item item = {.id = i, .weight = base, .ratios = {rate, -rate, 0.25f}};
    double distance = i + 0.5;
    const double shipped = ship(&item, i, &distance);
    printf("ship %d %a %a %a\n", item.id, base, distance, shipped);
    const double sum = many(1, 2, 3, 4, 5, 6, 7, 8 + i, 9.5);
    printf("many %a\n", sum);
    printf("tiny %a\n", tiny(base));
  }
  return 0;
}

/*
 * What the forty questions are asked of. It prints what each call was given, one call a line: `WORD VALUE…`.
 *
 *   asked ROUNDS         calls each function in each round
 *   asked ROUNDS late    and ends a second later
 *   asked ROUNDS slow    calls those that take 20 ms
 *   asked tick FIRST N   calls tick(FIRST), tick(FIRST + 1) and so on, one every 20 ms; of N 0 until it is ended
 *   asked library N      calls rand_r of the C library N times
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KEPT __attribute__((noipa))

enum color { kRed, kGreen = 3, kBlue = 7 };
struct place {
  int x, y;
};
struct order {
  long id;
  struct order* next;
  struct place at;
  int counts[4];
  unsigned is_paid : 1, level : 5;
};

int total = 100;
static volatile long sum;

static KEPT void take_static(int n) { sum += n; }

KEPT long take_order(const struct order* order, int scale) {
  total += scale;
  return order->id * scale + order->next->at.x;
}

KEPT void greet(const char* name) { sum += name[0]; }

KEPT void paint(enum color color, bool is_new) { sum += color + is_new; }

KEPT void pay(int amount, const char* who) { sum += amount + who[0]; }

// A call that is not the last thing a function does is no jump.
KEPT long innermost(long n) { return sum += n; }
KEPT long inner(long n) { return innermost(n) + sum; }
KEPT long outer(long n) { return inner(n) - sum; }

KEPT void spread(int key, long amount) { sum += key * amount; }
KEPT void called_often(int times) {
  for (int i = 0; i < times; i++) spread(3, 6);
  sum++;
}
KEPT void called_rarely(int times) {
  for (int i = 0; i < times; i++) spread(1, 10);
  sum++;
}
KEPT void called_sometimes(int times) {
  for (int i = 0; i < times; i++) spread(2, 20);
  sum++;
}

static void pass_ms(long ms) {
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

KEPT void slow(int ms) {
  pass_ms(ms);
  sum++;
}
KEPT void begin(long id) { sum += id; }
KEPT void finish(long id) { sum -= id; }

KEPT void tick(long n) { sum += n; }

static void play(int round) {
  static const enum color colors[] = {kRed, kGreen, kBlue};
  static const char* const names_of_colors[] = {"kRed", "kGreen", "kBlue"};
  static const char* const names[] = {"Ada", "Grace", "Ada Byron"};
  struct order last = {.at = {10 * round, 7}};
  struct order order = {
      .id = 1000 + round, .next = &last, .counts = {round, 2, -3, 4 * round}, .level = (unsigned)round + 20};

  printf("static %d\n", round);
  take_static(round);
  const int before = total, scale = 3 * round;
  const long taken = take_order(&order, scale);
  printf("order %ld %d %ld x %d total %d level %u counts %d,2,-3,%d\n", order.id, scale, taken, last.at.x, before,
         order.level, round, 4 * round);
  const char* const name = names[round % 3];
  printf("greet %s\n", name);
  greet(name);
  const bool is_new = round % 2 == 0;
  printf("paint %s %s\n", names_of_colors[round % 3], is_new ? "true" : "false");
  paint(colors[round % 3], is_new);
  printf("pay %d %s\n", round, name);
  pay(round, name);
  printf("outer %d\n", round);
  outer(round);
  printf("spread 1 10 called_rarely\n");
  called_rarely(1);
  for (int i = 0; i < 2; i++) printf("spread 2 20 called_sometimes\n");
  called_sometimes(2);
  for (int i = 0; i < 5; i++) printf("spread 3 6 called_often\n");
  called_often(5);
}

static void play_slowly(int round) {
  printf("slow 20\n");
  slow(20);
  begin(round);
  pass_ms(20);
  finish(round);
}

int main(int argc, char** argv) {
  if (argc > 3 && !strcmp(argv[1], "tick")) {
    const long first = atol(argv[2]), count = atol(argv[3]);
    for (long n = first; count == 0 || n < first + count; n++) {
      pass_ms(20);
      tick(n);
    }
    return 0;
  }
  if (argc > 2 && !strcmp(argv[1], "library")) {
    unsigned seed = 1;
    for (int n = atoi(argv[2]); n > 0; n--) sum += rand_r(&seed);
    return 0;
  }
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  const char* const how = argc > 2 ? argv[2] : "";
  for (int round = 1; round <= rounds; round++) {
    if (!strcmp(how, "slow"))
      play_slowly(round);
    else
      play(round);
  }
  fflush(stdout);
  if (!strcmp(how, "late")) pass_ms(1000);
  return 0;
}

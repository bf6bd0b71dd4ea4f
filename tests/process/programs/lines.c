// Lines and local variables, for lines_test.py: each value that a probe may read is printed by the program as well.
// Lines that are probed carry a word in a comment, by which the test finds them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { kPlain, kRound = 5, kSquare = -2 };
struct point {
  int x, y;
};
struct shape {
  long id;
  const char* label;
  char tag[8];
  struct point at;
  struct point corners[3];
  struct shape* next;
  enum kind kind;
  unsigned visible : 1, level : 5;
  double weight;
  float scale;
};

static int counter = 7;
int all_counters[4] = {1, 2, 3, 4};
static long many_zeros[100];

static inline __attribute__((always_inline)) int twice(int given) {
  int doubled = 2 * given + counter;
  counter++;  // inlined
  return doubled;
}

__attribute__((noinline)) int area_of(const struct shape* s, int scale) {
  int width = s->at.x * scale;
  int height = s->at.y * scale;
  int area = width * height;
  if (area > 1000) {
    int too_much = area - 1000;
    printf("too much %d\n", too_much);  // block
  }
  printf("area %d %d %d\n", width, height, area);  // area
  return area;
}

__attribute__((noinline)) int sum_to(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    sum += all_counters[i & 3];  // body
  }
  return sum;  // sum
}

__attribute__((noinline)) void show(struct shape* first, int round) {
  char text[16];
  struct point local = {round, 10 * round};
  snprintf(text, sizeof text, "round %d", round);
  many_zeros[3] = round;
  printf("show %s %d %d\n", text, local.x, local.y);  // show
  first->next->id += local.x;
}

__attribute__((noinline)) int calls_twice(int a) {
  int one = twice(a);
  int other = twice(one);
  printf("twice %d %d\n", one, other);  // twice
  return one + other;
}

int main(int argc, char** argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 1;
  struct shape second = {.id = 100, .label = "second", .kind = kSquare};
  struct shape first = {.id = 1,
                        .label = "first",
                        .tag = "tagged",
                        .corners = {{1, 2}, {3, 4}, {5, 6}},
                        .next = &second,
                        .kind = kRound,
                        .visible = 1,
                        .level = 19,
                        .weight = 2.5,
                        .scale = -0.5f};
  for (int round = 1; round <= rounds; round++) {
    if (argc > 2) getchar();  // a round for each line that comes
    first.at.x = round;
    first.at.y = round + 1;
    int area = area_of(&first, 3);
    show(&first, round);
    int sum = sum_to(round + 2);
    int both = calls_twice(round);
    printf("main %d %d %d %d\n", round, area, sum, both);  // main
  }
  return 0;
}

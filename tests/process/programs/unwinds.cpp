// unwinds MODE: stacks that are walked while functions with return probes are on them.
#include <execinfo.h>
#include <pthread.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>

#define NOT_INLINED extern "C" __attribute__((noinline, noclone, noipa, visibility("default")))

namespace {

int cleanups = 0;
struct Cleanup {
  ~Cleanup() { ++cleanups; }
};

}  // namespace

NOT_INLINED int risky(int n) {
  if (n % 2) throw std::runtime_error("odd");
  return n + 1;
}

NOT_INLINED int careful(int n) {
  Cleanup cleanup;
  return risky(n) + 1;
}

NOT_INLINED int again(int n) try { return careful(n) + 1; } catch (const std::runtime_error&) {
  if (n % 3 == 0) throw;
  return -n;
}

NOT_INLINED int deep(int levels, int n) { return levels ? deep(levels - 1, n) + 1 : again(n); }

NOT_INLINED void* leave(void* result) {
  Cleanup cleanup;
  pthread_exit(result);
}

NOT_INLINED void* start(void* result) {
  Cleanup cleanup;
  return leave(result);
}

NOT_INLINED int frames(void** found) { return backtrace(found, 32); }

NOT_INLINED int more_frames(void** found) { return frames(found) + 0 * *(volatile int*)&cleanups; }

namespace {

int throwing() {
  long sum = 0, caught = 0;
  for (int n = 0; n < 600; ++n) {
    try {
      sum += deep(n % 20, n);
    } catch (const std::exception& e) {
      caught += std::strcmp(e.what(), "odd") == 0;
    }
  }
  std::printf("caught %ld sum %ld cleanups %d\n", caught, sum, cleanups);
  return 5;
}

int leaving() {
  for (long i = 0; i < 20; ++i) {
    pthread_t thread;
    void* result = nullptr;
    if (pthread_create(&thread, nullptr, start, reinterpret_cast<void*>(i))) return 4;
    pthread_join(thread, &result);
    if (result != reinterpret_cast<void*>(i)) return 3;
  }
  std::printf("cleanups %d\n", cleanups);
  return 0;
}

int walking() {
  void *first[32], *second[32];
  int same = 1;
  const int count = more_frames(first);
  for (int i = 0; i < 10; ++i) same &= more_frames(second) == count && !std::memcmp(first + 3, second + 3, 8);
  std::printf("%d frames, same %d\n", count, same);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && !std::strcmp(argv[1], "throw")) return throwing();
  if (argc == 2 && !std::strcmp(argv[1], "leave")) return leaving();
  if (argc == 2 && !std::strcmp(argv[1], "walk")) return walking();
  return 2;
}

/*
 * Calls a function with pointers into pages that are not resident: each call is made after its pages were given back.
 *
 *   cold FILE [THREADS ROUNDS]     FILE gets the texts, and is mapped at a fixed address, so that it may hold pointers
 *
 * With threads each of them has pages of its own, all at the same time. Addresses are the same in every run (no PIE).
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 8 };
#define PLACE ((char*)0x200000000000)

/* In the program's own file, where `@+OFFSET` finds it; nobody reads its page. */
__attribute__((aligned(PAGE))) const int cold_number[PAGE / sizeof(int)] = {-123456};
__attribute__((aligned(PAGE))) const char cold_constant[PAGE] = "a constant nobody has read";

static const char* result;

__attribute__((noinline)) const char* called(const char* text, const int* numbers, char** pointers, long number) {
  __asm__ volatile("" : : "r"(text), "r"(numbers), "r"(pointers), "r"(number) : "memory");
  return result;
}

struct area {
  char* at;
  int file;
};

__attribute__((noinline)) void also_called(long number) { __asm__ volatile("" : : "r"(number) : "memory"); }

static void fill(struct area area) {
  char* bytes = calloc(PAGES, PAGE);
  char** pointers = (char**)(bytes + 4 * PAGE);
  strcpy(bytes + 100, "in one page");
  strcpy(bytes + 2 * PAGE - 5, "in two pages");
  strcpy(bytes + 3 * PAGE - 4, "end"); /* its NUL is the last byte */
  for (int i = 0; i < 8; i++) ((int*)(bytes + 3 * PAGE))[i] = 77 + i;
  pointers[0] = area.at + 5 * PAGE + 8;
  pointers[1] = area.at + PAGE / 2;
  strcpy(bytes + 5 * PAGE + 8, "behind a pointer");
  memset(bytes + 7 * PAGE, 'x', PAGE); /* goes on where nothing is mapped */
  if (pwrite(area.file, bytes, PAGES * PAGE, 0) != PAGES * PAGE) exit(2);
  free(bytes);
}

static void map(struct area area) {
  if (mmap(area.at, PAGES * PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, area.file, 0) != area.at) exit(3);
}

static void give_back(struct area area) {
  if (madvise(area.at, PAGES * PAGE, MADV_DONTNEED) || posix_fadvise(area.file, 0, 0, POSIX_FADV_DONTNEED) ||
      madvise((void*)cold_number, sizeof cold_number, MADV_DONTNEED) ||
      madvise((void*)cold_constant, sizeof cold_constant, MADV_DONTNEED))
    exit(4);
}

static void call_with(struct area area, const char* text, long number) {
  give_back(area);
  called(text, (int*)(area.at + 3 * PAGE), (char**)(area.at + 4 * PAGE), number);
  if (number & 1) also_called(number);
}

static struct area open_area(const char* path, int number) {
  char name[4096];
  snprintf(name, sizeof name, "%s.%d", path, number);
  struct area area = {PLACE + 1024ul * PAGE * number, open(name, O_RDWR | O_CREAT | O_TRUNC, 0600)};
  if (area.file < 0) exit(5);
  fill(area);
  map(area);
  return area;
}

struct job {
  const char* path;
  int number, rounds;
};

static void* storm(void* data) {
  struct job* job = data;
  struct area area = open_area(job->path, job->number);
  for (int i = 0; i < job->rounds; i++) call_with(area, area.at + 2 * PAGE - 5, i);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc > 3) {
    int threads = atoi(argv[2]);
    pthread_t* all = calloc(threads, sizeof *all);
    struct job* jobs = calloc(threads, sizeof *jobs);
    for (int i = 0; i < threads; i++) {
      jobs[i] = (struct job){argv[1], i, atoi(argv[3])};
      if (pthread_create(&all[i], NULL, storm, &jobs[i])) return 6;
    }
    for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
    return 0;
  }
  struct area area = open_area(argv[1], 0);
  const char* texts[] = {area.at + 100,
                         area.at + 2 * PAGE - 5,
                         area.at + 3 * PAGE - 4,
                         area.at + 7 * PAGE + 20,
                         area.at + 7 * PAGE + 9,
                         cold_constant,
                         (char*)8,
                         area.at + PAGES * PAGE};
  for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
    result = texts[i];
    call_with(area, texts[i], i);
  }
  give_back(area);
  called(texts[0], (int*)8, (char**)8, 8);
  return 0;
}

/* Loads libz, calls it when told, unloads it and puts memory of its own where it was. One line in, one line out:
 *   calls N     N calls of adler32 → calls SUM
 *   close       dlclose → close; what was libz's text is now ours, all bytes 0x5a
 *   load        dlopen again → load
 *   intact      whether our memory still holds what we put there → intact 1
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

typedef unsigned long adler32_function(unsigned long, const unsigned char*, unsigned);

enum { kPage = 4096, kFill = 0x5a };

static void* library;
static adler32_function* adler;
static unsigned char* ours; /* the page adler32 began in */

static int load(void) {
  library = dlopen("libz.so.1", RTLD_NOW);
  if (library) adler = (adler32_function*)dlsym(library, "adler32");
  return library && adler;
}

static int replace(void) {
  unsigned char* page = (unsigned char*)((uintptr_t)adler & ~(uintptr_t)(kPage - 1));
  dlclose(library);
  ours = mmap(page, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (ours != page) return 0;
  memset(ours, kFill, 2 * kPage);
  return 1;
}

static int is_intact(void) {
  for (int i = 0; i < 2 * kPage; i++)
    if (ours[i] != kFill) return 0;
  return 1;
}

int main(void) {
  char line[64];
  int number;
  if (!load()) return 1;
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    if (sscanf(line, "calls %d", &number) == 1) {
      unsigned long sum = 1;
      for (int i = 0; i < number; i++) sum = adler(sum, (const unsigned char*)"kevtrace", 8);
      printf("calls %lu\n", sum);
    } else if (!strcmp(line, "close\n")) {
      puts(replace() ? "close" : "failed");
    } else if (!strcmp(line, "load\n")) {
      munmap(ours, 2 * kPage);
      puts(load() ? "load" : "failed");
    } else if (!strcmp(line, "intact\n")) {
      printf("intact %d\n", is_intact());
    } else {
      return 0;
    }
    fflush(stdout);
  }
  return 0;
}

/* late_unwinder: a callback of qsort loads libgcc_s, which was not there before, and walks the stack with it. Prints
   how many frames it has seen, and whether it got as far as main. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

struct context;
typedef int (*step_function)(struct context*, void*);

static void* (*enclosing)(void*);
static unsigned long (*ip_of)(struct context*);
static int frames, saw_main;
int main(void);

static int step(struct context* context, void* unused) {
  (void)unused;
  ++frames;
  if (enclosing((void*)ip_of(context)) == (void*)main) saw_main = 1;
  return 0;
}

static int compare(const void* a, const void* b) {
  if (!frames) {
    void* library = dlopen("libgcc_s.so.1", RTLD_NOW);
    int (*walk)(step_function, void*);
    if (!library) return 0;
    walk = (int (*)(step_function, void*))dlsym(library, "_Unwind_Backtrace");
    ip_of = (unsigned long (*)(struct context*))dlsym(library, "_Unwind_GetIP");
    enclosing = (void* (*)(void*))dlsym(library, "_Unwind_FindEnclosingFunction");
    walk(step, NULL);
  }
  return *(const int*)a - *(const int*)b;
}

int main(void) {
  int numbers[] = {3, 1, 2};
  qsort(numbers, 3, sizeof *numbers, compare);
  printf("frames %d main %d\n", frames, saw_main);
  return 0;
}

/* Linked without symbols: only call_back() has a name. */
typedef void called(int, void*);

static __attribute__((noinline, noclone)) void nameless(called* function, int number) {
  function(number, (void*)0);
  __asm__ volatile("");
}

void call_back(called* function, int number) {
  nameless(function, number);
  __asm__ volatile("");
}

/*
 * Resolvers of indirect functions are many in a C library, and a stop of the target for each is dear: one call runs
 * them all.  The tracer makes it in a thread that it holds; no hit comes here.
 */
#include "runtime-user/agent/agent.h"

/* Puts in place of each address what the function there returns. */
void kevt_call_each(uint64_t* functions, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) functions[i] = ((uint64_t(*)(void))functions[i])();
}

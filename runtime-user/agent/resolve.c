/*
 * A C library has many resolvers of indirect functions, and a stop of the target for each is dear: one call runs them
 * all.  The tracer makes the call in a thread that it holds; no hit comes here.
 */
#include "runtime-user/agent/agent.h"

/* Replaces each address by what the function at that address returns. */
void kevt_call_each(uint64_t* functions, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) functions[i] = ((uint64_t(*)(void))functions[i])();
}

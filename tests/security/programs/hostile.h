/* What the parts of hostile_child share. */
#ifndef KEVT_TESTS_HOSTILE_H
#define KEVT_TESTS_HOSTILE_H

#include <stdint.h>

#include "common/abi/probe.h"

/* The tracer's memory as it is mapped here; `tables` is NULL where there is none. */
struct view {
  const kevt_tables* tables;
  kevt_session* session;
  kevt_shard_owner* owners;
  uint64_t* words;
};
struct view find_view(void);

/* What a child knows of its parent: threads that it may name in its lies. */
enum { MOST_THREADS = 64 };
struct victims {
  uint32_t pid, bystander;
  uint32_t tids[MOST_THREADS];
  int count;
  int silence; /* a pipe through which nothing comes */
};

/*
 * By stores alone, until it is killed.
 *
 *   fuzz        every writable byte: random and structured values, some of them taken back after a while
 *   asks        exec asks, again and again, in the names of the parent's threads and of others
 *   asks_once   the same in every ask, once
 *   claims      every ask is claimed, once, as by a thread that has died
 *   libraries   the parent's report is answered with numbers that are never the one it waits for
 *   names       notes of owners, as many as there is room for, of which each has its name asked for
 *   heads       the heads of all rings run on, so that whoever reserves is never the first
 */
_Noreturn void attack(const char* kind, const struct view* view, const struct victims* victims, uint64_t seed);
int is_attack(const char* kind);

/*
 * Tries to get write access to what is mapped read-only, and to resize what is writable, in every way that this process
 * has.  Prints a line for each that worked, and at the end "tried N worked M".
 */
void try_to_write(void);

#endif

/*
 * The agent's image: one position-independent blob whose first bytes are this table.  Offsets are
 * bytes from the image's start.
 */
#ifndef KEVT_ABI_AGENT_IMAGE_H
#define KEVT_ABI_AGENT_IMAGE_H

#include <stdint.h>

#define KEVT_AGENT_MAGIC 0x6b657641u

typedef struct kevt_agent_table {
  uint32_t magic;
  uint32_t size;           /* of the image */
  uint32_t tables_address; /* 8-byte word to patch: address of kevt_tables in the target */
  uint32_t faults_begin;   /* pairs of int32: load - here, fix-up - here */
  uint32_t faults_end;
  uint32_t thread, guarded, enter, leave, reserve, text_length, text_copy, text_fetch, comm, match, inject, time, stack,
      stack_sample; /* kevt_services */
  uint32_t on_signal, on_masked, restorer;
  uint32_t answer_call;
  uint32_t restore_returns, libraries_changed; /* keep every register, as an extractor does */
  uint32_t call_each;                          /* (uint64_t *functions, uint64_t count), called by the tracer */
} kevt_agent_table;

#endif

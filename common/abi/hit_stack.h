/*
 * Stacks of hits in a process.  A hit walks its stack by rules: the controller makes them from the call frame
 * information (.eh_frame) of the files that the process has mapped.  Equal stacks are kept once and have a number.
 *
 *   rules    kevt_stack_rule[2][KEVT_STACK_RULES]   the controller writes, read-only in the target
 *   stacks   kevt_stacks                            every process of the session writes: hostile to the others
 *
 * A record with a stack ends with its number.  Where the rules do not lead on, the number is 0, and in front of it
 * stands what the controller needs to unwind this stack: kevt_stack_sample.
 */
#ifndef KEVT_ABI_HIT_STACK_H
#define KEVT_ABI_HIT_STACK_H

#include <stdint.h>

enum {
  KEVT_STACK_DEPTH = 127,         /* addresses of one stack at most, as the kernel's PERF_MAX_STACK_DEPTH */
  KEVT_STACK_RULES = 1 << 20,     /* of one process at most */
  KEVT_STACK_CACHED = 1 << 9,     /* rules that a thread keeps at hand, by address, hashed */
  KEVT_STACK_SLOTS = 1 << 16,     /* of the index of stacks, by their addresses, hashed */
  KEVT_STACK_SLOT_PROBES = 64,    /* slots that a look-up goes through */
  KEVT_STACK_WORDS = 1 << 21,     /* of all stacks together */
  KEVT_STACK_SAMPLE_BYTES = 2560, /* of the stack itself, in a sample */
};

/*
 * The rule of all addresses from `start` to the next one's; sorted, the first one's start is 0.  A return address is
 * looked up one byte earlier: behind a call that does not return another function may begin.  Of a thread's rules at
 * hand `start` is the address that was looked up; 0: none.
 *
 * There are two tables of rules, of which the lowest bit of the generation says which one holds.  The controller fills
 * in the other one, and then counts the generation up.  A walk during which that happens is no good.
 */
typedef struct kevt_stack_rule {
  uint64_t start;
  uint64_t rule;
} kevt_stack_rule;

/*
 * A rule: bits 0-2 kind, 3 whether the caller's %rbp lies on the stack, 4-33 distance of the caller's frame from its
 * base, 34-63 of the caller's %rbp from that frame; both signed, in bytes.  The return address lies right below the
 * caller's frame.
 */
enum {
  KEVT_STACK_NO_RULE, /* this place needs more than a rule says, or has no call frame information */
  KEVT_STACK_FROM_SP, /* the caller's frame: %rsp + distance */
  KEVT_STACK_FROM_BP, /* %rbp + distance */
  KEVT_STACK_AT_BP,   /* what lies at %rbp + distance */
  KEVT_STACK_LAST,    /* there is no caller */
};
#define KEVT_STACK_RULE(kind, has_bp, frame, bp)                                                  \
  ((uint64_t)(kind) | (uint64_t)(has_bp) << 3 | ((uint64_t)(int64_t)(frame)&0x3fffffffull) << 4 | \
   ((uint64_t)(int64_t)(bp)&0x3fffffffull) << 34)
#define KEVT_STACK_KIND(rule) ((rule)&7)
#define KEVT_STACK_HAS_BP(rule) ((rule) >> 3 & 1)
#define KEVT_STACK_FRAME(rule) ((int64_t)((rule) << 30) >> 34)
#define KEVT_STACK_BP(rule) ((int64_t)(rule) >> 34)
/* Behind `push %rbp; mov %rsp, %rbp`. */
#define KEVT_STACK_BY_FRAME_POINTER KEVT_STACK_RULE(KEVT_STACK_FROM_BP, 1, 16, -16)

/*
 * A stack's number is the index of its first word in `words`: how many addresses, then the addresses, innermost first.
 * An index slot names a stack: 0: free.  The first word of all is not used, so that no stack has number 0.
 */
typedef struct kevt_stacks {
  uint64_t used; /* words, atomic; may grow past KEVT_STACK_WORDS */
  uint64_t pad[7];
  uint32_t slots[KEVT_STACK_SLOTS];
  uint64_t words[KEVT_STACK_WORDS];
} kevt_stacks;

/* In front of a stack's number that is 0; at any address. */
typedef struct __attribute__((packed)) kevt_stack_sample {
  uint64_t pc;
  uint64_t sp, bx, bp, r12, r13, r14, r15;
  uint64_t stack[KEVT_STACK_SAMPLE_BYTES / 8]; /* from sp on; a word that cannot be read is 0 */
} kevt_stack_sample;

#endif

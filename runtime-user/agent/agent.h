/*
 * The agent: the code that is mapped into a traced process.  Freestanding: no libc, no allocation,
 * no lock in a hit, general registers only, no writable data of its own (its state lies in the
 * memory the controller maps).  It holds the probe machinery and no compiler.
 */
#ifndef KEVT_AGENT_H
#define KEVT_AGENT_H

#include <stddef.h>
#include <stdint.h>

#include "common/abi/probe.h"

/* Callable from an extractor or a detour: every register is kept but rax (and r11, by LLVM's rule). */
#define KEVT_SERVICE __attribute__((no_caller_saved_registers, used))
#define KEVT_INTERNAL __attribute__((visibility("hidden")))
/* A rare path out of a service: it keeps the registers, so that the service itself need not. */
#define KEVT_RARE __attribute__((no_caller_saved_registers, noinline, cold, visibility("hidden")))
#define KEVT_RARE_STATIC static __attribute__((no_caller_saved_registers, noinline, cold))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Address of the tables, patched into the code when it is placed. */
KEVT_INTERNAL extern const volatile uint64_t kevt_tables_address;

static inline __attribute__((always_inline)) const kevt_tables* kevt_state(void) {
  return (const kevt_tables*)kevt_tables_address;
}

/*
 * Calls a hit's code (common/abi/probe.h, "Hits in the handler") with a ucontext's registers; returns where to go on.
 */
KEVT_INTERNAL uint64_t kevt_call_hit(const uint64_t* gregs, uint64_t code);

/* Raw system call; the result is negative errno on failure. */
static inline __attribute__((always_inline)) int64_t kevt_syscall(int64_t nr, uint64_t a, uint64_t b, uint64_t c,
                                                                  uint64_t d) {
  register uint64_t r10 __asm__("r10") = d;
  int64_t result;
  __asm__ volatile("syscall" : "=a"(result) : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
  return result;
}

/*
 * Makes a system call of our own, which the program has not asked for.  Under a seccomp filter it could end the
 * process, so it is not made there.
 */
#define KEVT_NOT_CALLED (-38) /* ENOSYS */
static inline __attribute__((always_inline)) int64_t kevt_own_syscall(int64_t nr, uint64_t a, uint64_t b, uint64_t c,
                                                                      uint64_t d) {
  if (((kevt_private*)kevt_state()->priv)->filtered) return KEVT_NOT_CALLED;
  return kevt_syscall(nr, a, b, c, d);
}

/* One instruction: a signal handler on the same thread never sees half of it. */
static inline __attribute__((always_inline)) void kevt_increment(uint64_t* counter) {
  __asm__ volatile("incq %0" : "+m"(*counter));
}
static inline __attribute__((always_inline)) void kevt_increment_shared(uint64_t* counter) {
  __asm__ volatile("lock incq %0" : "+m"(*counter));
}

/*
 * Accesses that may fault: the instruction and where to go on stand in the section kevt_faults,
 * which the signal handler reads through the address map.
 */
#define KEVT_FAULT_ENTRY(label) \
  ".pushsection kevt_faults, \"a\"\n .long 1b - .\n .long %l[" #label "] - .\n .popsection\n"
#define KEVT_LOAD8(value, address, label) \
  __asm__ goto("1: movq (%1), %0\n" KEVT_FAULT_ENTRY(label) : "=r"(value) : "r"(address) : "memory" : label)
#define KEVT_LOAD1(value, address, label) \
  __asm__ goto("1: movzbl (%1), %0\n" KEVT_FAULT_ENTRY(label) : "=r"(value) : "r"(address) : "memory" : label)
#define KEVT_STORE8(value, address, label) \
  __asm__ goto("1: movq %0, (%1)\n" KEVT_FAULT_ENTRY(label) : : "r"(value), "r"(address) : "memory" : label)

/* 0: the thread has no thread control block. */
static inline __attribute__((always_inline)) uint64_t kevt_thread_pointer(void) {
  uint64_t tp;
  __asm__ goto("1: movq %%fs:0, %0\n" KEVT_FAULT_ENTRY(none) : "=r"(tp) : : : none);
  return tp;
none:
  return 0;
}

static inline __attribute__((always_inline)) uint32_t kevt_check_word(uint32_t offset) {
  uint32_t word;
  __asm__ goto("1: movl %%fs:(%1), %0\n" KEVT_FAULT_ENTRY(none) : "=r"(word) : "r"((uint64_t)offset) : : none);
  return word;
none:
  return 0;
}

/* First hit of a thread, or of a new thread at an old one's address; 0: no struct or no counter shard left. */
KEVT_RARE kevt_thread* kevt_enrol(uint64_t thread_pointer);
/* In places.c.  The struct that has this thread pointer, whichever thread owns it; 0: none. */
KEVT_RARE kevt_thread* kevt_thread_at(uint64_t thread_pointer);
/*
 * The struct for this thread pointer, which `user` (pid << 32 | tid) owns from now on: the one it had, also before a
 * fork, or one of a dead thread, emptied, or a fresh one; 0: there are too many threads.
 */
KEVT_RARE kevt_thread* kevt_claim(uint64_t thread_pointer, uint64_t user);
/* Clears what a dead thread has left in its struct, for the next owner. */
KEVT_RARE void kevt_forget_thread(kevt_thread* thread);
KEVT_RARE kevt_self* kevt_self_of(const kevt_tables* tables, const kevt_thread* thread);
/* A shard for `user` alone; 0: none is left. */
KEVT_RARE uint64_t kevt_take_shard(uint64_t user);
/* 1: the shard of the dead thread `before` is now `user`'s. */
KEVT_RARE int kevt_keep_shard(uint64_t shard, uint64_t before, uint64_t user);
/* The thread that runs will never again be found: its hits are missed. */
KEVT_RARE void kevt_forget_self(void);
/* Gives a thread a thread pointer if it has none of its own; called before anything asks which thread runs. */
KEVT_RARE void kevt_mark_thread(void);
/* Counts an attempt that was missed in every sink of the event. */
KEVT_RARE void kevt_count_missed(kevt_thread* thread, const kevt_event* event);
/*
 * 1: the stack frame of the hit under way is gone (a signal handler jumped out of it); the hit is settled as lost.
 * Else 0.
 */
KEVT_RARE int kevt_guard_is_stale(kevt_thread* thread, uint64_t stack);
/* Whether `frame` can be that of an interrupted hit under the code that runs at `stack`, perhaps a signal handler. */
KEVT_RARE int kevt_may_be_below(uint64_t frame, uint64_t stack);
/* This thread's struct even where it may not count (no shard left): its return instances must be found; 0: none. */
static inline __attribute__((always_inline)) kevt_thread* kevt_known_thread(void) {
  return kevt_thread_at(kevt_thread_pointer());
}

/*
 * In returns.c.  What the program has put where `held` lies on its stack, at `slot`: another address, if a return probe
 * has taken its place.
 */
KEVT_RARE uint64_t kevt_program_return(const kevt_thread* thread, uint64_t slot, uint64_t held);

/* The hitting thread; 0 when there are too many. */
KEVT_RARE kevt_thread* kevt_find_thread(const kevt_tables* tables);
/*
 * A question is answered when `*word` is no longer `value`; a report, when `*answers`, whose lower half is the word,
 * has reached `report`.
 */
typedef struct kevt_question {
  const uint32_t* word;
  uint32_t value;
  const uint64_t* answers;
  uint64_t report; /* 0: it is none */
} kevt_question;
/* Waits for the controller (process `asked`).  1: it has answered; 0: it is gone, or waiting took too long. */
KEVT_RARE int kevt_await_answer(const kevt_question* question, uint64_t asked);
/* CLOCK_MONOTONIC; 0: it may not be asked, as under a seccomp filter. */
KEVT_RARE int64_t kevt_now_ns(void);
/* Sleeps until the word has changed, `left_ns` are over, or 50 ms are; 0: there is nobody to wait for. */
KEVT_RARE int kevt_sleep_on(const uint32_t* word, uint32_t value, int64_t left_ns, uint64_t asked);
/* Makes the call execve; asks the controller first, if it follows programs. */
KEVT_RARE int64_t kevt_execve(uint64_t path, uint64_t arguments, uint64_t environment);
KEVT_RARE int kevt_in_code(const kevt_tables* tables, uint64_t address);

#endif

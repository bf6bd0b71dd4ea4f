/*
 * What the cases of `foreign` share.  A case does what is hard on a tracer and says what it found: numbers that are the
 * same in each run, never an address, a pid or a time.  Its result is the status of the program.
 */
#ifndef KEVT_TESTS_SOAK_FOREIGN_H
#define KEVT_TESTS_SOAK_FOREIGN_H

#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

struct foreign_case {
  const char* name; /* `_name`: not listed, another case becomes it by exec */
  int (*run)(void);
};

/* Each ends with an empty entry. */
extern const struct foreign_case kCloneCases[], kSignalCases[], kQueuedCases[], kForkCases[], kStackCases[],
    kContextCases[], kWatchedCases[], kFaultCases[], kProcessCases[], kThreadCases[], kMemoryCases[], kRegisterCases[],
    kLibraryCases[];

/* To descriptor 1 at once, so that children have nothing to write twice. */
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));

/* "WHAT: exited N" or "WHAT: signal N". */
void say_ended(const char* what, int status);

/* Waits for it and says how it ended; the status. */
int say_waited(const char* what, long pid);

/* Runs it in a forked child, which exits with 0 when it returns, and says how that ended. */
void in_child(const char* what, void (*run)(void));

/* Execs this program as another case. */
void become(const char* name);

/* A handler with SA_SIGINFO. */
void handle(int signal, void (*handler)(int, siginfo_t*, void*), int flags);

/* The rip of a signal's frame, to be changed. */
#define RIP_OF(context) (((ucontext_t*)(context))->uc_mcontext.gregs[REG_RIP])
#define REGISTER_OF(context, reg) (((ucontext_t*)(context))->uc_mcontext.gregs[reg])

/*
 * The kernel's clone().  The child calls run(argument) on its stack and ends with the result.  `tid` is what
 * CLONE_PARENT_SETTID, CLONE_CHILD_SETTID and CLONE_CHILD_CLEARTID write to.  Uses nothing of libc.
 */
long raw_clone(unsigned long flags, void* stack_top, int (*run)(void*), void* argument, int* tid, const void* tls);

/* A system call that no library has seen. */
static inline long raw_call(long number, long a, long b, long c, long d) {
  long result;
  register long r10 __asm__("r10") = d;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
  return result;
}

/* Of a list that ends with 0. */
sigset_t set_of(const int* signals);
void say_set(const char* what, const sigset_t* set);
/* What the thread blocks now. */
void say_mask(const char* what);

/* Waits until the kernel has cleared the word of CLONE_CHILD_CLEARTID. */
void wait_cleared(volatile int* word);

/* Functions of libc that use no thread-local storage, resolved before main(). */
extern size_t (*volatile const libc_strlen)(const char*);
extern void* (*volatile const libc_memcpy)(void*, const void*, size_t);
extern int (*volatile const libc_abs)(int);
extern int (*volatile const libc_getppid)(void);

/* Where a bad pointer is wanted that the compiler cannot see through. */
extern volatile unsigned long bad_address;

#endif

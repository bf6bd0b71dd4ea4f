/*
 * The agent owns SIGTRAP (int3 probe points), SIGSEGV and SIGBUS (reads that may fault).  They are
 * never really blocked, since a fault while its signal is blocked kills the process; the program
 * keeps its own idea of handlers and masks, by the answers to its calls (calls.c).
 *
 *   int3 at a probe point      go on in its detour, or call it here, where the program's stack is too small
 *   fault at a known load      go on at its fix-up
 *   anything else              the program's own disposition, as the kernel would have run it
 *
 * Under kevt_on_masked run the handlers of other signals: those whose sa_mask has one of the three, which are noted as
 * blocked, and those of SIGILL and SIGFPE, which are told the place of an instruction that a jump has displaced.
 *
 * All this is so while signals_owned is set.  Before, while the tracer takes the signals, and after, while it gives
 * them back, the kernel's masks are the program's own, and some handlers are the agent's: should the tracer die just
 * then, they do what the kernel would have done, and nobody sees that they are there.
 */
#include "runtime-user/agent/signals.h"

enum {
  NR_RT_SIGACTION = 13,
  NR_RT_SIGPROCMASK = 14,
  NR_GETPID = 39,
  NR_GETTID = 186,
  NR_TGKILL = 234,
  NR_RT_TGSIGQUEUEINFO = 297
};
enum { SIG_BLOCK_ = 0 };
#define SA_NODEFER_ 0x40000000ull
#define SA_RESETHAND_ 0x80000000ull
#define SA_ONSTACK_ 0x08000000ull
#define SA_RESTORER_ 0x04000000ull
#define SI_USER_OR_QUEUE(code) ((code) <= 0)
enum { SI_KERNEL_ = 0x80, TRAP_BRKPT_ = 1 };
enum { LAST_OF_LONG_INT3 = 3 };

/* The part of ucontext_t we change; gregs[16] is rip (sys/ucontext.h order). */
typedef struct context {
  uint64_t flags, link, stack[3];
  uint64_t gregs[23];
  uint64_t fpregs, reserved[8];
  uint64_t mask;
} context;
#define RIP 16
#define RSP 15
#define FLAG_BITS \
  (KEVT_MAP_CALLED | KEVT_MAP_COPY_OF | KEVT_MAP_SITE | (uint64_t)KEVT_MAP_NEEDS_MAX << KEVT_MAP_NEEDS_SHIFT)

KEVT_INTERNAL extern const char kevt_restorer[]; /* table.S: rt_sigreturn */

static uint64_t map_lookup(const kevt_tables* tables, uint64_t key, int* found) {
  const kevt_map_entry* map = (const kevt_map_entry*)tables->map;
  for (uint32_t n = 0; n < KEVT_MAP_SLOTS; n++) {
    const uint32_t i = kevt_map_slot(key, n);
    uint64_t at = __atomic_load_n(&map[i].key, __ATOMIC_ACQUIRE);
    if (at == key) {
      const uint64_t value = __atomic_load_n(&map[i].value, __ATOMIC_ACQUIRE);
      if (__atomic_load_n(&map[i].key, __ATOMIC_ACQUIRE) != key) continue; /* taken away just now */
      *found = 1;
      return value;
    }
    if (!at) break;
  }
  *found = 0;
  return 0;
}

/* Where a site's int3 leads in this process, which may have been forked before what the newest detour needs was there.
 */
static uint64_t lookup_site(const kevt_tables* tables, uint64_t site, int* found) {
  const uint64_t newest = map_lookup(tables, site, found), mapped = kevt_own_private()->mapped;
  if (!*found || KEVT_MAP_NEEDS(newest) <= mapped) return newest;
  for (uint64_t needs = mapped + 1; needs-- > 0;) {
    const uint64_t older = map_lookup(tables, KEVT_MAP_OLDER(site, needs), found);
    if (*found) return older;
  }
  return 0;
}

static uint64_t blocked_in_handler(const kevt_private* priv, int signal) {
  return priv->masks[signal] | (priv->dispositions[signal].flags & SA_NODEFER_ ? 0 : BIT(signal));
}

/*
 * The pending signal whose handler runs first; 0: none is ready.  The kernel makes a frame for the lowest one, on it
 * one for the lowest that this handler's mask lets through, and so on: the last one runs first.
 */
static int first_to_run(const kevt_private* priv, const kevt_thread* thread) {
  uint64_t blocked = thread->blocked, done = 0, ready;
  int signal = 0;
  while ((ready = thread->pending & ~blocked & ~done)) {
    signal = __builtin_ctzll(ready) + 1;
    done |= BIT(signal);
    blocked |= blocked_in_handler(priv, signal);
  }
  return signal;
}

/* A handler that runs meanwhile delivers the rest, so what is pending is looked at anew each time. */
void kevt_deliver_pending(kevt_thread* thread) {
  for (;;) {
    const int signal = first_to_run(kevt_own_private(), thread);
    if (!signal) return;
    uint64_t info[SIGINFO_BYTES / 8];
    for (uint64_t i = 0; i < SIGINFO_BYTES / 8; i++) info[i] = i < KEVT_SENT_WORDS ? sent_with(thread, signal)[i] : 0;
    thread->pending &= ~BIT(signal);
    if (kevt_own_syscall(NR_RT_TGSIGQUEUEINFO, thread->pid, thread->tid, (uint64_t)signal, (uint64_t)info) !=
        KEVT_NOT_CALLED)
      continue;
    thread->pending |= BIT(signal);
    return;
  }
}

/* Of the signals that are sent while one is pending only the first is kept, as the kernel does. */
static void keep_pending(kevt_thread* thread, int signal, const siginfo_head* info) {
  if (thread->pending & BIT(signal)) return;
  for (uint64_t i = 0; i < KEVT_SENT_WORDS; i++) sent_with(thread, signal)[i] = ((const uint64_t*)info)[i];
  thread->pending |= BIT(signal);
}

/* How a handler of the program's is to run. */
typedef struct delivery {
  uint64_t handler;
  uint64_t blocks; /* of the three */
  uint64_t copy;   /* 0, or the displaced copy that has raised the signal */
  uint64_t place;  /* its own place: handlers of other signals may keep that, and come back there (Go's preemption) */
} delivery;

/* The program's instruction of which `at` is a copy; 0: none. */
static uint64_t place_of_copy(uint64_t at) {
  int found;
  const uint64_t to = map_lookup(kevt_state(), at, &found);
  return found && to & KEVT_MAP_COPY_OF ? to & ~FLAG_BITS : 0;
}

/* Where to go on after a handler that leaves `ip`: an instruction that a jump has displaced runs in its copy. */
static uint64_t resumed(const delivery* how, uint64_t ip) {
  enum { REACH = 256 }; /* more than a detour displaces (x86::max_relocated_size) */
  if (!how->copy) return ip;
  if (ip == how->place) return how->copy;
  if (ip - how->place + REACH > 2 * REACH) return ip;
  for (uint64_t at = how->copy - REACH; at < how->copy + REACH; at++)
    if (place_of_copy(at) == ip) return at;
  return ip;
}

/*
 * The handler's context, and the program's calls, show what the kernel would have blocked and the place of the
 * program's own instruction.  The thread goes back to what the handler leaves in the context.
 */
static void run_handler(const delivery* how, int signal, siginfo_head* info, context* uc) {
  kevt_thread* thread = 0;
  if (how->copy) uc->gregs[RIP] = how->place;
  if (owns_signals()) {
    thread = kevt_find_thread(kevt_state());
    if (thread) {
      uc->mask |= thread->blocked;
      thread->blocked |= how->blocks;
    }
  } else if (how->blocks) {
    kevt_own_syscall(NR_RT_SIGPROCMASK, SIG_BLOCK_, (uint64_t)&how->blocks, 0, 8);
  }
  ((void (*)(int, siginfo_head*, context*))how->handler)(signal, info, uc);
  uc->gregs[RIP] = resumed(how, uc->gregs[RIP]);
  if (!owns_signals()) return;
  if (thread) {
    thread->blocked = uc->mask & OURS;
    if (thread->pending) kevt_deliver_pending(thread);
  }
  uc->mask &= ~OURS;
}

/*
 * A trap is reported behind its instruction, so int3 and icebp are run again: 1.  A trap from the flags or the debug
 * registers would come later, behind another instruction: 0.
 */
static int run_trap_again(const siginfo_head* info, context* uc) {
  const uint64_t ip = uc->gregs[RIP];
  uint32_t last;
  if (info->code != SI_KERNEL_ && info->code != TRAP_BRKPT_) return 0;
  KEVT_LOAD1(last, ip - 1, unreadable);
  uc->gregs[RIP] = ip - (last == LAST_OF_LONG_INT3 ? 2 : 1);
  return 1;
unreadable:
  return 0;
}

/* Ends the process as the kernel would, with the original cause: a fault happens again at the same instruction. */
static void end_process(int signal, siginfo_head* info, context* uc) {
  kevt_disposition none = {0, SA_RESTORER_, kevt_state()->code_begin, 0};
  if (kevt_syscall(NR_RT_SIGACTION, (uint64_t)signal, (uint64_t)&none, 0, 8) < 0)
    __builtin_trap(); /* a seccomp filter is against it: the process ends all the same */
  if (SI_USER_OR_QUEUE(info->code) || (signal == SIGTRAP_ && !run_trap_again(info, uc)))
    kevt_syscall(NR_TGKILL, (uint64_t)kevt_syscall(NR_GETPID, 0, 0, 0, 0),
                 (uint64_t)kevt_syscall(NR_GETTID, 0, 0, 0, 0), (uint64_t)signal, 0);
}

/*
 * Whether the signal was taken to the alternate stack from another stack.  The agent's handlers run on the alternate
 * stack, if there is one, also where the program's handler has no SA_ONSTACK.
 */
static int is_taken_to_other_stack(const context* uc) {
  const uint64_t base = uc->stack[0], bytes = uc->stack[2];
  return (uint64_t)uc - base < bytes && uc->gregs[RSP] - base >= bytes;
}

/* struct rt_sigframe of x86-64 (arch/x86/include/asm/sigframe.h), and behind it what is ours. */
typedef struct frame {
  uint64_t restorer;
  context uc;
  uint64_t info[SIGINFO_BYTES / 8];
  delivery how;
} frame;

/* Of the floating-point state a frame points to (arch/x86/include/uapi/asm/sigcontext.h): what says how long it is. */
enum { FP_BYTES = 512, FP_MAGIC_AT = 464, FP_LENGTH_AT = 468, FP_ALIGNED = 64, RED_ZONE = 128, PAGE = 4096 };
#define FP_MAGIC 0x46505853u

static uint64_t floating_point_bytes(uint64_t state) {
  if (!state) return 0;
  const uint32_t magic = *(const uint32_t*)(state + FP_MAGIC_AT), length = *(const uint32_t*)(state + FP_LENGTH_AT);
  return magic == FP_MAGIC ? length : FP_BYTES;
}

static void copy_words(uint64_t to, const void* from, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; i += 4) *(uint32_t*)(to + i) = ((const uint32_t*)from)[i / 4];
}

/* Whether the stack has room down to `to`; it is made to grow as far as it may. */
static int has_room(uint64_t from, uint64_t to) {
  for (uint64_t at = (from - 8) & ~7ull;; at -= PAGE) {
    uint64_t word;
    if (at < to) at = to;
    KEVT_LOAD8(word, at, none);
    KEVT_STORE8(word, at, none);
    if (at == to) return 1;
  }
none:
  return 0;
}

/*
 * Moves the frame to where the kernel would have put it, on the stack that was interrupted, and runs the handler there;
 * rt_sigreturn takes it from there.  Without room the process ends, as it would have.
 */
static void run_where_it_was(const delivery* how, int signal, siginfo_head* info, context* uc) {
  const uint64_t fp_bytes = floating_point_bytes(uc->fpregs), top = uc->gregs[RSP] - RED_ZONE;
  const uint64_t fp = (top - fp_bytes) & ~(uint64_t)(FP_ALIGNED - 1);
  const uint64_t at = ((fp - sizeof(frame)) & ~15ull) - 8; /* a function's entry: 8 below a multiple of 16 */
  if (!has_room(top, at)) {
    siginfo_head none = {SIGSEGV_, 0, 0};
    end_process(SIGSEGV_, &none, uc);
    return;
  }
  frame* moved = (frame*)at;
  moved->restorer = (uint64_t)&kevt_restorer;
  copy_words((uint64_t)&moved->uc, uc, sizeof *uc);
  copy_words((uint64_t)&moved->info, info, sizeof moved->info);
  copy_words((uint64_t)&moved->how, how, sizeof *how);
  copy_words(fp, (const void*)uc->fpregs, fp_bytes);
  if (fp_bytes) moved->uc.fpregs = fp;
  __asm__ volatile("mov %0, %%rsp; jmp *%1"
                   :
                   : "r"(moved), "r"(&run_handler), "D"(&moved->how), "S"((uint64_t)signal), "d"(&moved->info),
                     "c"(&moved->uc)
                   : "memory");
  __builtin_unreachable();
}

/* Runs the program's own disposition on the context of the signal. */
static void forward(int signal, siginfo_head* info, context* uc) {
  kevt_private* priv = (kevt_private*)kevt_state()->priv;
  kevt_thread* thread = priv->signals_owned ? kevt_find_thread(kevt_state()) : 0;
  kevt_disposition* own = &priv->dispositions[signal];
  int sent = SI_USER_OR_QUEUE(info->code);
  const uint64_t ip = uc->gregs[RIP], place = sent ? 0 : place_of_copy(ip);
  int blocked = thread && (thread->blocked & BIT(signal));
  if (blocked && sent) { /* delivered when the program unblocks it */
    keep_pending(thread, signal, info);
    return;
  }
  if (own->handler == 1 /* SIG_IGN */ && sent) return;
  if (own->handler <= 1 || blocked) {
    end_process(signal, info, uc);
    return;
  }
  const uint64_t mask = own->mask & ~OURS;
  const delivery how = {
      .handler = own->handler, .blocks = blocked_in_handler(priv, signal), .copy = place ? ip : 0, .place = place};
  if (mask) kevt_own_syscall(NR_RT_SIGPROCMASK, SIG_BLOCK_, (uint64_t)&mask, 0, 8);
  if (own->flags & SA_RESETHAND_) own->handler = 0;
  if (own->flags & SA_ONSTACK_ || !is_taken_to_other_stack(uc))
    run_handler(&how, signal, info, uc);
  else
    run_where_it_was(&how, signal, info, uc);
}

/* Stands in for the handlers of other signals whose sa_mask has one of the three, or that an instruction raises. */
void kevt_on_masked(int signal, siginfo_head* info, context* uc) {
  info->signo = signal; /* the kernel writes it only with SA_SIGINFO, and FrameSearch::is_left_over reads it */
  kevt_private* priv = (kevt_private*)kevt_state()->priv;
  kevt_mark_thread();
  const uint64_t ip = uc->gregs[RIP], place = IS_OF_INSTRUCTION(signal) ? place_of_copy(ip) : 0;
  const delivery how = {
      .handler = priv->handlers[signal].handler, .blocks = priv->masks[signal], .copy = place ? ip : 0, .place = place};
  run_handler(&how, signal, info, uc);
}

void kevt_on_signal(int signal, siginfo_head* info, context* uc) {
  kevt_mark_thread();
  const kevt_tables* tables = kevt_state();
  int found;
  uint64_t at = uc->gregs[RIP] - (signal == SIGTRAP_ ? 1 : 0);
  uint64_t to = SI_USER_OR_QUEUE(info->code) ? (found = 0) : lookup_site(tables, at, &found);
  const int is_site = (to & KEVT_MAP_SITE) != 0;
  if (found && is_site != (signal == SIGTRAP_)) found = 0; /* the program's own, at a site or in place of one */
  if (found && to & KEVT_MAP_COPY_OF) found = 0;           /* the program's own, in a copy of its instruction */
  if (found && to & KEVT_MAP_CALLED) {
    uc->gregs[RIP] = kevt_call_hit(uc->gregs, to & ~FLAG_BITS);
    return;
  }
  if (found) {
    uc->gregs[RIP] = to & ~FLAG_BITS;
    return;
  }
  forward(signal, info, uc);
}

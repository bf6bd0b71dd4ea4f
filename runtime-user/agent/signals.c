/*
 * The agent owns SIGTRAP (int3 probe points), SIGSEGV and SIGBUS (reads that may fault).  They are
 * never really blocked, since a fault while its signal is blocked kills the process; the program
 * keeps its own idea of handlers and masks: kevt_virtual_syscall stands in for rt_sigaction and
 * rt_sigprocmask at every site of these calls in the program's libraries.
 *
 *   int3 at a probe point      go on in its detour, or call it here, where the program's stack is too small
 *   fault at a known load      go on at its fix-up
 *   anything else              the program's own disposition, as the kernel would have run it
 *
 * Another signal's handler whose sa_mask has one of the three runs under kevt_on_masked, which notes them as blocked.
 *
 * All this is so while signals_owned is set.  Before, while the tracer takes the signals, and after, while it gives
 * them back, the kernel's masks are the program's own, and some handlers are the agent's: should the tracer die just
 * then, they do what the kernel would have done, and nobody sees that they are there.
 */
#include "runtime-user/agent/agent.h"

enum {
  NR_RT_SIGACTION = 13,
  NR_RT_SIGPROCMASK = 14,
  NR_GETPID = 39,
  NR_EXECVE = 59,
  NR_PRCTL = 157,
  NR_GETTID = 186,
  NR_TGKILL = 234,
  NR_SECCOMP = 317
};
enum { PR_SET_SECCOMP_ = 22, SECCOMP_MODE_STRICT_ = 1, SECCOMP_MODE_FILTER_ = 2 };
enum { SECCOMP_SET_MODE_STRICT_ = 0, SECCOMP_SET_MODE_FILTER_ = 1 };
enum { SIGTRAP_ = 5, SIGBUS_ = 7, SIGSEGV_ = 11 };
enum { SIG_BLOCK_ = 0, SIG_UNBLOCK_ = 1, SIG_SETMASK_ = 2 };
#define EFAULT_ 14
#define SA_NODEFER_ 0x40000000ull
#define SA_RESETHAND_ 0x80000000ull
#define SA_ONSTACK_ 0x08000000ull
#define SA_RESTORER_ 0x04000000ull
#define SA_SIGINFO_ 4ull
#define BIT(signal) (1ull << ((signal)-1))
#define OURS (BIT(SIGTRAP_) | BIT(SIGBUS_) | BIT(SIGSEGV_))
#define SI_USER_OR_QUEUE(code) ((code) <= 0)
enum { SI_KERNEL_ = 0x80, TRAP_BRKPT_ = 1 };
enum { LAST_OF_LONG_INT3 = 3 };

typedef struct siginfo_head {
  int signo, error, code;
} siginfo_head;

/* The part of ucontext_t we change; gregs[16] is rip (sys/ucontext.h order). */
typedef struct context {
  uint64_t flags, link, stack[3];
  uint64_t gregs[23];
  uint64_t fpregs, reserved[8];
  uint64_t mask;
} context;
#define RIP 16
#define FLAG_BITS (KEVT_MAP_CALLED | KEVT_MAP_COPY_OF | KEVT_MAP_SITE)

KEVT_INTERNAL extern const char kevt_restorer[]; /* table.S: rt_sigreturn */

static uint64_t map_lookup(const kevt_tables* tables, uint64_t key, int* found) {
  const kevt_map_entry* map = (const kevt_map_entry*)tables->map;
  for (uint32_t n = 0; n < KEVT_MAP_SLOTS; n++) {
    const uint32_t i = kevt_map_slot(key, n);
    uint64_t at = __atomic_load_n(&map[i].key, __ATOMIC_ACQUIRE);
    if (at == key) {
      *found = 1;
      return __atomic_load_n(&map[i].value, __ATOMIC_ACQUIRE);
    }
    if (!at) break;
  }
  *found = 0;
  return 0;
}

static int owns_signals(void) { return ((const kevt_private*)kevt_state()->priv)->signals_owned != 0; }

/* A handler that runs meanwhile delivers what is left: it is looked at anew each time. */
static void deliver_pending(kevt_thread* thread) {
  for (;;) {
    const uint64_t ready = thread->pending & ~thread->blocked;
    if (!ready) return;
    const int signal = __builtin_ctzll(ready) + 1;
    thread->pending &= ~BIT(signal);
    if (kevt_own_syscall(NR_TGKILL, thread->pid, thread->tid, (uint64_t)signal, 0) != KEVT_NOT_CALLED) continue;
    thread->pending |= BIT(signal);
    return;
  }
}

/*
 * The program's handler.  In its context, and to who asks, stands what the kernel would have blocked; what it leaves in
 * the context is what it goes back to.
 */
static void run_handler(uint64_t handler, uint64_t blocks, int signal, siginfo_head* info, context* uc) {
  if (!owns_signals()) {
    if (blocks) kevt_own_syscall(NR_RT_SIGPROCMASK, SIG_BLOCK_, (uint64_t)&blocks, 0, 8);
    ((void (*)(int, siginfo_head*, context*))handler)(signal, info, uc);
    return;
  }
  kevt_thread* thread = kevt_find_thread(kevt_state());
  if (thread) {
    uc->mask |= thread->blocked;
    thread->blocked |= blocks;
  }
  ((void (*)(int, siginfo_head*, context*))handler)(signal, info, uc);
  if (thread) {
    thread->blocked = uc->mask & OURS;
    if (thread->pending) deliver_pending(thread);
  }
  uc->mask &= ~OURS;
}

/*
 * A trap is reported behind its instruction: int3 and icebp are run again.  What comes from the flags or the debug
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

/* The kernel's own end of the process, with the original cause: a fault happens again at the same instruction. */
static void end_process(int signal, siginfo_head* info, context* uc) {
  kevt_disposition none = {0, SA_RESTORER_, kevt_state()->code_begin, 0};
  if (kevt_syscall(NR_RT_SIGACTION, (uint64_t)signal, (uint64_t)&none, 0, 8) < 0)
    __builtin_trap(); /* a seccomp filter is against it: the process ends all the same */
  if (SI_USER_OR_QUEUE(info->code) || (signal == SIGTRAP_ && !run_trap_again(info, uc)))
    kevt_syscall(NR_TGKILL, (uint64_t)kevt_syscall(NR_GETPID, 0, 0, 0, 0),
                 (uint64_t)kevt_syscall(NR_GETTID, 0, 0, 0, 0), (uint64_t)signal, 0);
}

/* Runs the program's own disposition on the context of the signal. */
static void forward(int signal, siginfo_head* info, context* uc) {
  kevt_private* priv = (kevt_private*)kevt_state()->priv;
  kevt_thread* thread = priv->signals_owned ? kevt_find_thread(kevt_state()) : 0;
  kevt_disposition* own = &priv->dispositions[signal];
  int sent = SI_USER_OR_QUEUE(info->code);
  int blocked = thread && (thread->blocked & BIT(signal));
  if (blocked && sent) { /* delivered when the program unblocks it */
    thread->pending |= BIT(signal);
    return;
  }
  if (own->handler == 1 /* SIG_IGN */ && sent) return;
  if (own->handler <= 1 || blocked) {
    end_process(signal, info, uc);
    return;
  }
  const uint64_t handler = own->handler, mask = own->mask & ~OURS;
  const uint64_t blocks = priv->masks[signal] | (own->flags & SA_NODEFER_ ? 0 : BIT(signal));
  if (mask) kevt_own_syscall(NR_RT_SIGPROCMASK, SIG_BLOCK_, (uint64_t)&mask, 0, 8);
  if (own->flags & SA_RESETHAND_) own->handler = 0;
  run_handler(handler, blocks, signal, info, uc);
}

/* Stands in for the handlers of other signals whose sa_mask has one of the three. */
void kevt_on_masked(int signal, siginfo_head* info, context* uc) {
  kevt_private* priv = (kevt_private*)kevt_state()->priv;
  kevt_mark_thread();
  run_handler(priv->handlers[signal].handler, priv->masks[signal], signal, info, uc);
}

/* The program's own fault, in a copy of its instruction: it is told the instruction's place. */
static void forward_as_at(uint64_t place, int signal, siginfo_head* info, context* uc) {
  uint64_t copy = uc->gregs[RIP];
  uc->gregs[RIP] = place;
  forward(signal, info, uc);
  if (uc->gregs[RIP] == place) uc->gregs[RIP] = copy;
}

void kevt_on_signal(int signal, siginfo_head* info, context* uc) {
  kevt_mark_thread();
  const kevt_tables* tables = kevt_state();
  int found;
  uint64_t at = uc->gregs[RIP] - (signal == SIGTRAP_ ? 1 : 0);
  uint64_t to = SI_USER_OR_QUEUE(info->code) ? (found = 0) : map_lookup(tables, at, &found);
  const int is_site = !to || (to & KEVT_MAP_SITE) != 0;
  if (found && is_site != (signal == SIGTRAP_)) found = 0; /* the program's own, at a site or in place of one */
  if (found && to & KEVT_MAP_COPY_OF) {
    forward_as_at(to & ~FLAG_BITS, signal, info, uc);
    return;
  }
  if (found && to & KEVT_MAP_CALLED) {
    uc->gregs[RIP] = kevt_call_hit(uc->gregs, to & ~FLAG_BITS);
    return;
  }
  if (found) {
    uc->gregs[RIP] = to ? to & ~FLAG_BITS : at; /* 0: the probe point is gone, its instruction is back */
    return;
  }
  forward(signal, info, uc);
}

/* Copies the 32 bytes of a struct sigaction from or to the program; 0 when unreadable. */
static int copy_in(kevt_disposition* to, uint64_t from) {
  uint64_t* words = (uint64_t*)to;
  for (int i = 0; i < 4; i++) {
    uint64_t word, at = from + 8 * (uint64_t)i;
    KEVT_LOAD8(word, at, bad);
    words[i] = word;
  }
  return 1;
bad:
  return 0;
}
static int copy_out(uint64_t to, const kevt_disposition* from) {
  const uint64_t* words = (const uint64_t*)from;
  for (int i = 0; i < 4; i++) {
    uint64_t word = words[i], at = to + 8 * (uint64_t)i;
    KEVT_STORE8(word, at, bad);
  }
  return 1;
bad:
  return 0;
}

/*
 * Between vfork or posix_spawn and exec: the memory, and with it what we keep of dispositions and masks, is the
 * parent's.  What the child sets ends with its exec, so it is not noted at all.  Where nobody can be asked who runs
 * (seccomp), the child is known by what it does: with every signal blocked it makes dispositions default ones.
 */
static int is_borrowed(int makes_default) {
  kevt_thread* thread = kevt_find_thread(kevt_state());
  const int64_t pid = kevt_own_syscall(NR_GETPID, 0, 0, 0, 0);
  if (!thread) return 0;
  if (pid == KEVT_NOT_CALLED) return makes_default && (thread->blocked & OURS) == OURS;
  return thread->pid != (uint32_t)pid;
}

/* The kernel calls us; the program's handler is noted before. */
static void stand_in(kevt_handler* own, kevt_disposition* wanted) {
  own->handler = wanted->handler;
  own->restorer = wanted->restorer;
  wanted->handler = (uint64_t)&kevt_on_masked;
  wanted->restorer = (uint64_t)&kevt_restorer;
  wanted->flags |= SA_RESTORER_;
}

static int64_t virtual_sigaction(uint64_t signal, uint64_t act, uint64_t old, uint64_t size) {
  kevt_private* priv = (kevt_private*)kevt_state()->priv;
  kevt_disposition wanted = {0, 0, 0, 0}, previous;
  if (size != 8 || signal < 1 || signal > 64) return kevt_syscall(NR_RT_SIGACTION, signal, act, old, size);
  if (act && !copy_in(&wanted, act)) return -EFAULT_;
  uint64_t own_bits = wanted.mask & OURS, old_bits = priv->masks[signal];
  int noted = act && !is_borrowed(wanted.handler == 0);
  if (signal < 32 && (BIT(signal) & OURS)) {
    previous = priv->dispositions[signal];
    if (noted) priv->dispositions[signal] = wanted;
  } else {
    const kevt_handler former = priv->handlers[signal];
    wanted.mask &= ~OURS;
    if (noted && own_bits && wanted.handler > 1) stand_in(&priv->handlers[signal], &wanted);
    int64_t result = kevt_syscall(NR_RT_SIGACTION, signal, act ? (uint64_t)&wanted : 0, (uint64_t)&previous, size);
    if (result < 0) {
      priv->handlers[signal] = former;
      return result;
    }
    if (previous.handler == (uint64_t)&kevt_on_masked) {
      previous.handler = former.handler;
      previous.restorer = former.restorer;
    }
    previous.mask |= old_bits;
  }
  if (noted) priv->masks[signal] = own_bits;
  if (old && !copy_out(old, &previous)) return -EFAULT_;
  return 0;
}

/*
 * While the signals are taken or given back: what the program sets is the kernel's.  Nothing is noted, so that it does
 * not matter whether a child sets it that runs in our memory.
 */
static int64_t plain_sigaction(uint64_t signal, uint64_t act, uint64_t old, uint64_t size) {
  const kevt_private* priv = (const kevt_private*)kevt_state()->priv;
  kevt_disposition previous;
  if (size != 8 || signal < 1 || signal > 64) return kevt_syscall(NR_RT_SIGACTION, signal, act, old, size);
  int64_t result = kevt_syscall(NR_RT_SIGACTION, signal, act, (uint64_t)&previous, size);
  if (result < 0) return result;
  if (previous.handler == (uint64_t)&kevt_on_signal) previous = priv->dispositions[signal];
  if (previous.handler == (uint64_t)&kevt_on_masked) {
    previous.handler = priv->handlers[signal].handler;
    previous.restorer = priv->handlers[signal].restorer;
    previous.mask |= priv->masks[signal];
  }
  return old && !copy_out(old, &previous) ? -EFAULT_ : 0;
}

static int64_t virtual_sigprocmask(uint64_t how, uint64_t set, uint64_t old, uint64_t size) {
  uint64_t wanted = 0, previous = 0;
  kevt_thread* thread = kevt_find_thread(kevt_state()); /* 0: what it blocks of the three is known to nobody */
  if (size != 8) return kevt_syscall(NR_RT_SIGPROCMASK, how, set, old, size);
  if (set) {
    KEVT_LOAD8(wanted, set, bad);
  }
  uint64_t real =
      how == SIG_UNBLOCK_ ? wanted : wanted & ~OURS; /* the kernel may have it, too: it is about to be ours */
  uint64_t bits = wanted & OURS, before = thread ? thread->blocked : 0;
  int64_t result = kevt_syscall(NR_RT_SIGPROCMASK, how, set ? (uint64_t)&real : 0, (uint64_t)&previous, size);
  if (result < 0) return result;
  uint64_t after = before;
  if (set && how == SIG_BLOCK_) after |= bits;
  if (set && how == SIG_UNBLOCK_) after &= ~bits;
  if (set && how == SIG_SETMASK_) after = bits;
  if (thread && after != before && !is_borrowed(0)) thread->blocked = after;
  if (old) {
    uint64_t shown = previous | before;
    KEVT_STORE8(shown, old, bad);
  }
  if (thread && thread->pending) deliver_pending(thread);
  return 0;
bad:
  return -EFAULT_;
}

/* Stands in for the `syscall` instruction at a hooked site. */
KEVT_SERVICE int64_t kevt_virtual_syscall(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t nr) {
  kevt_mark_thread();
  if (nr == NR_RT_SIGACTION) return owns_signals() ? virtual_sigaction(a, b, c, d) : plain_sigaction(a, b, c, d);
  if (nr == NR_RT_SIGPROCMASK && owns_signals()) return virtual_sigprocmask(a, b, c, d);
  if (nr == NR_EXECVE) return kevt_execve(a, b, c);
  return kevt_syscall((int64_t)nr, a, b, c, d);
}

/*
 * Called before a system call that is then made as it is: a filter is about to come.  The thread that sets it is
 * enrolled while it can still be asked who it is.  Questions and tries without a filter (libseccomp makes them) change
 * nothing.
 */
KEVT_SERVICE void kevt_note_syscall(uint64_t a, uint64_t b, uint64_t nr, uint64_t c) {
  const int by_prctl = nr == NR_PRCTL && a == PR_SET_SECCOMP_;
  const int is_strict = (by_prctl && b == SECCOMP_MODE_STRICT_) || (nr == NR_SECCOMP && a == SECCOMP_SET_MODE_STRICT_);
  const int is_filter = (by_prctl && b == SECCOMP_MODE_FILTER_) || (nr == NR_SECCOMP && a == SECCOMP_SET_MODE_FILTER_);
  if (!is_strict && !(is_filter && c)) return;
  kevt_private* priv = (kevt_private*)kevt_state()->priv;
  kevt_find_thread(kevt_state());
  __atomic_store_n(&priv->filtered, 1, __ATOMIC_RELEASE);
  if (is_strict) kevt_forget_self(); /* no rdtsc either */
}

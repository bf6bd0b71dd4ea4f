/*
 * The program's system calls that set or ask something about the signals the agent owns, %gs, or seccomp: each hooked
 * `syscall` instruction (runtime/inproc/process/signal_hooks.cpp) comes here first.  What is answered here looks as it
 * would without the agent; everything else is KEVT_NOT_ANSWERED, and made where it stands.
 */
#include "runtime-user/agent/signals.h"

enum {
  NR_RT_SIGACTION = 13,
  NR_RT_SIGPROCMASK = 14,
  NR_GETPID = 39,
  NR_EXECVE = 59,
  NR_RT_SIGPENDING = 127,
  NR_RT_SIGTIMEDWAIT = 128,
  NR_PRCTL = 157,
  NR_ARCH_PRCTL = 158,
  NR_KCMP = 312,
  NR_SECCOMP = 317
};
enum { PR_SET_SECCOMP_ = 22, SECCOMP_MODE_STRICT_ = 1, SECCOMP_MODE_FILTER_ = 2 };
enum { SECCOMP_SET_MODE_STRICT_ = 0, SECCOMP_SET_MODE_FILTER_ = 1 };
enum { SIG_BLOCK_ = 0, SIG_UNBLOCK_ = 1, SIG_SETMASK_ = 2 };
enum { KCMP_SIGHAND_ = 4 };
enum { ARCH_GET_GS_ = 0x1004 };
#define EFAULT_ 14
#define SA_RESTORER_ 0x04000000ull

KEVT_INTERNAL extern const char kevt_restorer[]; /* table.S: rt_sigreturn */

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
 * Between vfork or posix_spawn and exec: the memory, and with it what we keep of masks, is the parent's.  What the
 * child sets ends with its exec, so it is not noted at all.  Where nobody can be asked who runs (seccomp), the child is
 * known by what it does: with every signal blocked it makes dispositions default ones.
 */
static int is_borrowed(const kevt_thread* thread, int makes_default) {
  const int64_t pid = kevt_own_syscall(NR_GETPID, 0, 0, 0, 0);
  if (!thread) return 0;
  if (pid == KEVT_NOT_CALLED) return makes_default && (thread->blocked & OURS) == OURS;
  return thread->pid != (uint32_t)pid;
}

/* Dispositions are the parent's, too, in a child by clone() with CLONE_SIGHAND: they are noted for both. */
static int has_own_dispositions(int makes_default) {
  const kevt_thread* thread = kevt_find_thread(kevt_state());
  if (!is_borrowed(thread, makes_default)) return 0;
  const int64_t pid = kevt_own_syscall(NR_GETPID, 0, 0, 0, 0);
  return kevt_own_syscall(NR_KCMP, (uint64_t)pid, thread->pid, KCMP_SIGHAND_, 0) != 0;
}

/* Puts the agent's handler in place of the program's, which is noted first. */
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
  int noted = act && !has_own_dispositions(wanted.handler == 0);
  if (signal < 32 && (BIT(signal) & OURS)) {
    previous = priv->dispositions[signal];
    if (noted) priv->dispositions[signal] = wanted;
  } else {
    const kevt_handler former = priv->handlers[signal];
    wanted.mask &= ~OURS;
    if (noted && (own_bits || IS_OF_INSTRUCTION(signal)) && wanted.handler > 1)
      stand_in(&priv->handlers[signal], &wanted);
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
 * While the signals are taken or given back, what the program sets goes to the kernel.  Nothing is noted, so that it
 * does not matter whether a child sets it that runs in our memory.
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
  kevt_thread* thread = kevt_find_thread(kevt_state()); /* 0: nobody knows which of the three it blocks */
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
  if (thread && after != before && !is_borrowed(thread, 0)) thread->blocked = after;
  if (old) {
    uint64_t shown = previous | before;
    KEVT_STORE8(shown, old, bad);
  }
  if (thread && thread->pending) kevt_deliver_pending(thread);
  return 0;
bad:
  return -EFAULT_;
}

/* What waits in the kernel, and what waits here. */
static int64_t virtual_sigpending(uint64_t set, uint64_t size) {
  const int64_t result = kevt_syscall(NR_RT_SIGPENDING, set, size, 0, 0);
  const kevt_thread* thread = kevt_find_thread(kevt_state());
  uint64_t shown;
  if (result < 0 || size != 8 || !thread || !thread->pending) return result;
  KEVT_LOAD8(shown, set, bad);
  shown |= thread->pending;
  KEVT_STORE8(shown, set, bad);
  return 0;
bad:
  return -EFAULT_;
}

/*
 * What waits here is taken at once, before what waits in the kernel, which would take these three first, too
 * (kernel/signal.c, next_signal).  What comes while the thread waits in the kernel is the kernel's to hand over.
 */
static int64_t virtual_sigtimedwait(uint64_t set, uint64_t info, uint64_t size) {
  kevt_thread* thread = kevt_find_thread(kevt_state());
  uint64_t wanted;
  if (size != 8 || !thread || !thread->pending) return KEVT_NOT_ANSWERED;
  KEVT_LOAD8(wanted, set, bad);
  wanted &= thread->pending;
  if (!wanted) return KEVT_NOT_ANSWERED;
  const int signal = __builtin_ctzll(wanted) + 1;
  thread->pending &= ~BIT(signal);
  for (uint64_t i = 0; info && i < SIGINFO_BYTES / 8; i++) {
    const uint64_t word = i < KEVT_SENT_WORDS ? sent_with(thread, signal)[i] : 0, at = info + 8 * i;
    KEVT_STORE8(word, at, bad);
  }
  return signal;
bad:
  return -EFAULT_;
}

/* Where %gs points into the agent's memory, the program has not set it, and is told 0. */
static int64_t virtual_gs(uint64_t to) {
  const kevt_tables* tables = kevt_state();
  const uint64_t none = 0, end = tables->selves + tables->max_threads * sizeof(kevt_self);
  uint64_t base;
  if (!tables->has_fsgsbase) {
    const int64_t result = kevt_syscall(NR_ARCH_PRCTL, ARCH_GET_GS_, to, 0, 0);
    if (result < 0) return result;
    KEVT_LOAD8(base, to, bad);
  } else {
    __asm__ volatile("rdgsbase %0" : "=r"(base));
  }
  if (base < tables->selves || base >= end) return KEVT_NOT_ANSWERED;
  KEVT_STORE8(none, to, bad);
  return 0;
bad:
  return -EFAULT_;
}

/*
 * Notes a seccomp filter that is about to come.  The thread that sets it is enrolled now, while it can still ask who it
 * is.  Calls that only ask, or try without a filter (libseccomp makes them), change nothing.
 */
static void note_filter(uint64_t nr, uint64_t a, uint64_t b, uint64_t c) {
  const int by_prctl = nr == NR_PRCTL && a == PR_SET_SECCOMP_;
  const int is_strict = (by_prctl && b == SECCOMP_MODE_STRICT_) || (nr == NR_SECCOMP && a == SECCOMP_SET_MODE_STRICT_);
  const int is_filter = (by_prctl && b == SECCOMP_MODE_FILTER_) || (nr == NR_SECCOMP && a == SECCOMP_SET_MODE_FILTER_);
  if (!is_strict && !(is_filter && c)) return;
  kevt_private* priv = (kevt_private*)kevt_state()->priv;
  kevt_find_thread(kevt_state());
  __atomic_store_n(&priv->filtered, 1, __ATOMIC_RELEASE);
  if (is_strict) kevt_forget_self(); /* no rdtsc either */
}

KEVT_SERVICE int64_t kevt_answer_call(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t nr) {
  kevt_mark_thread();
  if (nr == NR_RT_SIGACTION) return owns_signals() ? virtual_sigaction(a, b, c, d) : plain_sigaction(a, b, c, d);
  if (nr == NR_EXECVE && kevt_state()->follower) return kevt_execve(a, b, c);
  if (nr == NR_ARCH_PRCTL && a == ARCH_GET_GS_) return virtual_gs(b);
  if (nr == NR_PRCTL || nr == NR_SECCOMP) note_filter(nr, a, b, c);
  if (!owns_signals()) return KEVT_NOT_ANSWERED;
  if (nr == NR_RT_SIGPROCMASK) return virtual_sigprocmask(a, b, c, d);
  if (nr == NR_RT_SIGPENDING) return virtual_sigpending(a, b);
  if (nr == NR_RT_SIGTIMEDWAIT) return virtual_sigtimedwait(a, b, d);
  return KEVT_NOT_ANSWERED;
}

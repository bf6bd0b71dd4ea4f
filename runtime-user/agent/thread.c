/*
 * Who hits: per-thread state.  Guard, thread id, counters and return instances belong to the
 * thread, because a thread can be preempted or interrupted inside a handler.  A thread is found by
 * its thread pointer (places.c); one 32-bit word of the thread's own control block (its tid, in glibc
 * and musl) tells a new thread at an old thread's address.
 *
 *   first hit of a thread     claim a kevt_thread, a counter shard of its own, note tid and name
 *   same address, new thread  same struct, tid and name again, return instances forgotten
 *   in a forked child         same struct (copied by fork), a shard of its own, instances kept
 */
#include "runtime-user/agent/agent.h"

enum {
  NR_GETPID = 39,
  NR_GETPPID = 110,
  NR_GETTID = 186,
  NR_PRCTL = 157,
  NR_ARCH_PRCTL = 158,
  NR_TGKILL = 234,
  NR_SIGALTSTACK = 131,
  PR_GET_NAME = 16,
  PR_SET_TSC = 26,
  PR_TSC_ENABLE = 1,
  PR_TSC_SIGSEGV = 2,
  ARCH_SET_GS = 0x1001,
  ARCH_GET_FS = 0x1003,
  ARCH_GET_GS = 0x1004
};

static void show_owner(const kevt_tables* tables, kevt_thread* thread) {
  kevt_session* session = (kevt_session*)tables->session;
  const uint64_t note = __atomic_fetch_add(&session->next_note, 1, __ATOMIC_RELAXED);
  kevt_shard_owner* owner = (kevt_shard_owner*)tables->owners + note % KEVT_OWNER_NOTES;
  if (kevt_own_syscall(NR_PRCTL, PR_GET_NAME, (uint64_t)thread->comm, 0, 0) < 0) thread->comm[0] = 0;
  owner->tid = thread->tid;
  owner->pid = thread->pid;
  for (int i = 0; i < KEVT_COMM_BYTES; i++) owner->comm[i] = (char)thread->comm[i];
  __atomic_store_n(&owner->lap, note / KEVT_OWNER_NOTES + 1, __ATOMIC_RELEASE);
}

/*
 * The Go runtime keeps `g` at %fs:-8 and lets %fs point to the second word of m.tls, which it does not use on Linux
 * (runtime/asm_amd64.s, settls; runtime/runtime2.go, m.tls): the thread's own address goes there, as the ABI of C has
 * it. A word of 0 is a new thread's, also where one before it had this address.
 */
void kevt_mark_thread(void) {
  const kevt_tables* tables = kevt_state();
  uint64_t base = 0;
  if (!tables->marks_threads || kevt_thread_pointer()) return;
  if (tables->has_fsgsbase)
    __asm__ volatile("rdfsbase %0" : "=r"(base));
  else
    kevt_own_syscall(NR_ARCH_PRCTL, ARCH_GET_FS, (uint64_t)&base, 0, 0);
  KEVT_STORE8(base, base, none);
  kevt_thread* former = kevt_thread_at(base);
  if (former && former->pid) former->check = ~(uint32_t)base;
none:
  return;
}

/*
 * Under a seccomp filter the kernel is not asked: the control block has the tid, and the tid of a forked child's first
 * thread is its pid.
 */
static int identify_quietly(kevt_private* priv, int is_known_process, uint32_t check, uint32_t* pid, uint32_t* tid) {
  if (!kevt_state()->check_offset || !check) return 0;
  *tid = check;
  *pid = is_known_process && priv->pid ? (uint32_t)priv->pid : check;
  priv->pid = *pid;
  return 1;
}

/*
 * Who runs; 0: it cannot be told. Between vfork and exec a child runs in its parent's memory and on its thread pointer:
 * what is enrolled then stays for the parent, so it is enrolled as the parent, whose tid stands in the control block. A
 * child by a bare fork system call looks the same but for the word behind the selves, which fork has wiped.
 */
static int identify(const kevt_tables* tables, uint32_t check, uint32_t* pid, uint32_t* tid) {
  kevt_private* priv = (kevt_private*)tables->priv;
  uint64_t* enrolled_before = (uint64_t*)((kevt_self*)tables->selves + tables->max_threads);
  const int is_known_process = *enrolled_before != 0;
  *enrolled_before = 1;
  const int64_t own = kevt_own_syscall(NR_GETPID, 0, 0, 0, 0);
  if (own == KEVT_NOT_CALLED) return identify_quietly(priv, is_known_process, check, pid, tid);
  *pid = (uint32_t)own;
  *tid = (uint32_t)kevt_own_syscall(NR_GETTID, 0, 0, 0, 0);
  /* The first process of a PID namespace has no parent there. */
  if (!is_known_process && kevt_own_syscall(NR_GETPPID, 0, 0, 0, 0) == 0) priv->has_own_numbers = 1;
  if (is_known_process && tables->check_offset && *pid == *tid && check != *tid) {
    uint64_t parent = (uint64_t)kevt_own_syscall(NR_GETPPID, 0, 0, 0, 0);
    if (check && kevt_own_syscall(NR_TGKILL, parent, check, 0, 0) == 0) {
      *pid = (uint32_t)parent;
      *tid = check;
    }
  }
  priv->pid = *pid;
  return 1;
}

/* Lets the thread's next hit find it by %gs, unless the program uses that itself. */
static kevt_thread* show_self(const kevt_tables* tables, kevt_thread* thread) {
  uint64_t base = 0, end = tables->selves + tables->max_threads * sizeof(kevt_self);
  kevt_self* self = kevt_self_of(tables, thread);
  self->thread = (uint64_t)thread;
  __atomic_store_n(&self->thread_pointer, thread->thread_pointer, __ATOMIC_RELEASE);
  if (tables->has_fsgsbase)
    __asm__ volatile("rdgsbase %0" : "=r"(base));
  else
    kevt_own_syscall(NR_ARCH_PRCTL, ARCH_GET_GS, (uint64_t)&base, 0, 0);
  if (base == (uint64_t)self || (base && (base < tables->selves || base >= end))) return thread;
  if (tables->has_fsgsbase)
    __asm__ volatile("wrgsbase %0" : : "r"((uint64_t)self));
  else
    kevt_own_syscall(NR_ARCH_PRCTL, ARCH_SET_GS, (uint64_t)self, 0, 0);
  return thread;
}

void kevt_forget_self(void) {
  const kevt_tables* tables = kevt_state();
  const uint64_t tp = kevt_thread_pointer();
  const kevt_thread* thread = kevt_thread_at(tp);
  ((kevt_private*)tables->priv)->strict = tp;
  if (thread) kevt_self_of(tables, thread)->thread_pointer = 0;
}

static uint64_t user_of(uint32_t pid, uint32_t tid) { return (uint64_t)pid << 32 | tid; }

/* 0: no shard is left; a forked child keeps its return instances even so. */
static int give_shard(const kevt_tables* tables, kevt_thread* thread, uint32_t pid, uint32_t tid) {
  const uint64_t user = user_of(pid, tid);
  if (thread->pid == pid && thread->shard && kevt_keep_shard(thread->shard, user_of(thread->pid, thread->tid), user))
    return 1;
  const uint64_t shard = kevt_take_shard(user);
  if (!shard) return 0;
  thread->shard = (uint32_t)shard;
  thread->counts = tables->counts + KEVT_SHARD_OFFSET(shard);
  return 1;
}

static int is_enrolled(const kevt_tables* tables, const kevt_thread* thread, uint32_t check) {
  return thread->check == check && kevt_self_of(tables, thread)->thread_pointer == thread->thread_pointer;
}

kevt_thread* kevt_enrol(uint64_t tp) {
  const kevt_tables* tables = kevt_state();
  if (!tp || tp == ((kevt_private*)tables->priv)->strict) return 0;
  uint32_t pid, tid, check = kevt_check_word(tables->check_offset);
  if (!identify(tables, check, &pid, &tid)) return 0;
  kevt_thread* thread = kevt_claim(tp, user_of(pid, tid));
  if (!thread) return 0;
  if (thread->pid != pid || thread->tid != tid || thread->check != check) {
    const int is_first = !thread->pid; /* what it blocks may have been noted already */
    const int is_forked = thread->pid != pid;
    if (!give_shard(tables, thread, pid, tid)) return 0;
    if (!is_first && !is_forked) kevt_forget_thread(thread);
    if (is_forked && !is_first) thread->pending = 0; /* what waits is not inherited */
    thread->guard = 0;
    thread->open_word = 0;
    thread->pid = pid;
    thread->tid = tid;
    thread->check = check;
    show_owner(tables, thread);
  }
  return show_self(tables, thread);
}

kevt_thread* kevt_find_thread(const kevt_tables* tables) {
  const uint64_t tp = kevt_thread_pointer();
  kevt_thread* thread = kevt_thread_at(tp);
  if (thread && is_enrolled(tables, thread, kevt_check_word(tables->check_offset))) return thread;
  return kevt_enrol(tp);
}

void kevt_count_missed(kevt_thread* thread, const kevt_event* event) {
  kevt_counts* row = (kevt_counts*)((thread ? thread->counts : kevt_state()->counts) + event->row_offset);
  for (uint32_t i = 0; i < event->sink_count; i++, row++) {
    if (thread)
      kevt_increment(&row->missed);
    else /* shard 0 is everybody's */
      kevt_increment_shared(&row->missed);
  }
}

KEVT_SERVICE kevt_thread* kevt_service_thread(kevt_event* event) {
  kevt_thread* thread = kevt_find_thread(kevt_state());
  if (!thread) kevt_count_missed(0, event);
  return thread;
}

/* Where a seccomp filter forbids the call, this record has no time, and the thread's next hits are missed. */
KEVT_SERVICE uint64_t kevt_service_time(void) {
  uint32_t low, high;
  if (kevt_own_syscall(NR_PRCTL, PR_SET_TSC, PR_TSC_ENABLE, 0, 0) < 0) {
    kevt_forget_self();
    return 0;
  }
  __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
  kevt_own_syscall(NR_PRCTL, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0);
  return (uint64_t)high << 32 | low;
}

struct stack_info {
  uint64_t base;
  uint32_t flags;
  uint64_t size;
};

/* Whether another thread has noted the same place of the same ring. */
static int is_open_elsewhere(const kevt_tables* tables, const kevt_thread* thread) {
  kevt_private* priv = (kevt_private*)tables->priv;
  uint64_t used = __atomic_load_n(&priv->used_threads, __ATOMIC_ACQUIRE);
  if (used > tables->max_threads) used = tables->max_threads;
  for (uint64_t i = 0; i < used; i++) {
    const kevt_thread* other = &priv->threads[i];
    const uint64_t open =
        __atomic_load_n(&other->open_word, __ATOMIC_ACQUIRE); /* 0: none, not the first ring's first */
    if (other != thread && open && !((open ^ thread->open_word) >> KEVT_RECORD_RING_SHIFT)) return 1;
  }
  return 0;
}

/*
 * Marks what a hit has reserved and will not commit, so that the reader steps over it.  A noted place may not be
 * reserved yet, and stays noted when it is committed: the place must lie between the ring's tail and head, nobody else
 * may have noted it, and its word must still be 0.
 */
static void discard_open(const kevt_tables* tables, kevt_thread* thread) {
  kevt_ring* ring = (kevt_ring*)(tables->rings + KEVT_RECORD_RING(thread->open_word) * tables->ring_stride);
  uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE), free = 0;
  uint64_t reserved = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) - tail;
  uint64_t distance = KEVT_RECORD_DISTANCE(thread->open_word, tail);
  uint64_t offset = (tail + distance) & (tables->ring_bytes - 8);
  kevt_record* record = (kevt_record*)((uint64_t)ring + KEVT_RING_HEADER + offset);
  if (distance < reserved && !is_open_elsewhere(tables, thread))
    __atomic_compare_exchange_n(&record->word, &free, thread->open_word | KEVT_RECORD_DISCARDED, 0, __ATOMIC_RELEASE,
                                __ATOMIC_RELAXED);
  thread->open_word = 0;
}

/* Every attempt of the thread that has no outcome yet is the abandoned hit's: a thread has one at a time. */
static void settle_as_lost(const kevt_tables* tables, const kevt_thread* thread) {
  for (uint64_t i = 0; i < tables->used_rows; i++) {
    kevt_counts* row = (kevt_counts*)(thread->counts + KEVT_ROW_OFFSET(i, tables->group_bytes));
    row->lost += row->hits - (row->recorded + row->aggregated + row->filtered + row->lost);
  }
}

/* Whether the detour's return address is still under the frame of the hit, so that the hit may go on. */
static int frame_is_there(const kevt_tables* tables, uint64_t guard) {
  uint64_t held, at = guard - 8;
  KEVT_LOAD8(held, at, gone);
  return kevt_in_code(tables, held);
gone:
  return 0;
}

int kevt_may_be_below(uint64_t frame, uint64_t stack) {
  struct stack_info alt = {0, 0, 0};
  if (kevt_own_syscall(NR_SIGALTSTACK, 0, (uint64_t)&alt, 0, 0) == KEVT_NOT_CALLED) return 1; /* nobody can tell */
  int on_alt = alt.flags & 1;                                                                 /* SS_ONSTACK */
  int frame_on_alt = alt.size && frame >= alt.base && frame < alt.base + alt.size;
  if (on_alt != frame_on_alt) {
    return on_alt; /* a handler above an interrupted hit */
  }
  return stack < frame; /* at the same place: its frame is ours now */
}

static int may_go_on(const kevt_thread* thread, uint64_t stack) {
  return frame_is_there(kevt_state(), thread->guard) && kevt_may_be_below(thread->guard, stack);
}

int kevt_guard_is_stale(kevt_thread* thread, uint64_t stack) {
  if (may_go_on(thread, stack)) return 0;
  if (thread->open_word) discard_open(kevt_state(), thread);
  settle_as_lost(kevt_state(), thread);
  thread->guard = 0;
  return 1;
}

KEVT_SERVICE int kevt_service_guarded(kevt_event* event, kevt_thread* thread, uint64_t frame) {
  if (kevt_guard_is_stale(thread, frame)) return 1;
  kevt_count_missed(thread, event);
  return 0;
}

KEVT_SERVICE uint32_t kevt_service_comm(uint8_t* to) {
  if (kevt_own_syscall(NR_PRCTL, PR_GET_NAME, (uint64_t)to, 0, 0) < 0) { /* as it was when it was asked for */
    const kevt_thread* thread = kevt_known_thread();
    for (int i = 0; i < KEVT_COMM_BYTES; i++) to[i] = thread ? thread->comm[i] : 0;
  }
  uint32_t length = 0;
  while (length < KEVT_COMM_BYTES - 1 && to[length]) length++;
  to[length] = 0;
  return length + 1;
}

int kevt_in_code(const kevt_tables* tables, uint64_t address) {
  for (int i = 0; i < KEVT_MAX_WINDOWS && tables->windows[i][1]; i++)
    if (address >= tables->windows[i][0] && address < tables->windows[i][1]) return 1;
  return 0;
}

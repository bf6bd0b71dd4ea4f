/*
 * Who hits: per-thread state.  Guard, thread id, counters and return instances belong to the
 * thread, because a thread can be preempted or interrupted inside a handler.  A thread is found by
 * its thread pointer in an index that fork wipes; one 32-bit word of the thread's own control
 * block (its tid, in glibc and musl) tells a new thread at an old thread's address.
 *
 *   first hit of a thread     claim a kevt_thread, a counter shard of its own, note tid and name
 *   same address, new thread  same struct, tid and name again, return instances forgotten
 *   in a forked child         same struct (copied by fork), a shard of its own, instances kept
 */
#include "runtime-user/agent/agent.h"

enum { NR_GETPID = 39, NR_GETTID = 186, NR_PRCTL = 157, NR_TGKILL = 234, NR_SIGALTSTACK = 131, PR_GET_NAME = 16 };

static uint64_t take_shard(kevt_shared *shared) {
  uint64_t shard = __atomic_fetch_add(&shared->next_shard, 1, __ATOMIC_RELAXED);
  return shard < KEVT_MAX_SHARDS ? shard : 0;
}

static void show_owner(kevt_shared *shared, kevt_thread *thread) {
  kevt_shard_owner *owner = (kevt_shard_owner *)shared->owners + thread->shard;
  kevt_syscall(NR_PRCTL, PR_GET_NAME, (uint64_t)thread->comm, 0, 0);
  owner->tid = thread->tid;
  owner->pid = thread->pid;
  for (int i = 0; i < KEVT_COMM_BYTES; i++) owner->comm[i] = (char)thread->comm[i];
  __atomic_fetch_add(&owner->generation, 1, __ATOMIC_RELEASE);
}

/* The struct of this thread pointer, or a free one, or one whose thread has died. */
static kevt_thread *claim(kevt_private *priv, uint64_t tp, uint32_t pid) {
  uint64_t used = __atomic_load_n(&priv->used_threads, __ATOMIC_ACQUIRE);
  for (uint64_t i = 0; i < used; i++)
    if (__atomic_load_n(&priv->threads[i].thread_pointer, __ATOMIC_RELAXED) == tp) return &priv->threads[i];
  for (uint64_t i = used; i < KEVT_MAX_THREADS; i++) {
    uint64_t none = 0;
    if (!__atomic_compare_exchange_n(&priv->threads[i].thread_pointer, &none, tp, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
      continue;
    while (used <= i && !__atomic_compare_exchange_n(&priv->used_threads, &used, i + 1, 0, __ATOMIC_RELEASE,
                                                     __ATOMIC_RELAXED)) {
    }
    return &priv->threads[i];
  }
  for (uint64_t i = 0; i < KEVT_MAX_THREADS; i++) {
    kevt_thread *thread = &priv->threads[i];
    uint64_t old = thread->thread_pointer;
    if (kevt_syscall(NR_TGKILL, pid, thread->tid, 0, 0) != -3 /* ESRCH */) continue;
    if (__atomic_compare_exchange_n(&thread->thread_pointer, &old, tp, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return thread;
  }
  return 0;
}

static kevt_thread *enrol(uint64_t tp) {
  kevt_shared *shared = kevt_state();
  kevt_private *priv = (kevt_private *)shared->priv;
  uint32_t pid = (uint32_t)kevt_syscall(NR_GETPID, 0, 0, 0, 0);
  kevt_thread *thread = claim(priv, tp, pid);
  if (!thread) return 0;
  uint32_t tid = (uint32_t)kevt_syscall(NR_GETTID, 0, 0, 0, 0);
  uint32_t check = kevt_check_word(shared->check_offset);
  if (thread->pid != pid || thread->tid != tid || thread->check != check) {
    if (thread->pid != pid) {
      uint64_t shard = take_shard(shared);
      if (!shard) {
        __atomic_store_n(&thread->thread_pointer, 0, __ATOMIC_RELEASE);
        return 0;
      }
      thread->shard = (uint32_t)shard;
      thread->counts = shared->counts + shard * shared->shard_bytes;
      if (thread->pid == 0) thread->depth = 0;
    } else {
      thread->depth = 0;
      thread->blocked = thread->pending = 0;
    }
    thread->guard = 0;
    thread->open_record = 0;
    thread->pid = pid;
    thread->tid = tid;
    thread->check = check;
    show_owner(shared, thread);
  }
  __atomic_store_n((uint64_t *)shared->index + kevt_index_of(tp), (uint64_t)thread, __ATOMIC_RELEASE);
  return thread;
}

kevt_thread *kevt_find_thread(void) {
  kevt_shared *shared = kevt_state();
  uint64_t tp = kevt_thread_pointer();
  kevt_thread *thread = (kevt_thread *)((uint64_t *)shared->index)[kevt_index_of(tp)];
  if (likely(thread && thread->thread_pointer == tp && thread->check == kevt_check_word(shared->check_offset)))
    return thread;
  return enrol(tp);
}

void kevt_count_missed(kevt_thread *thread, kevt_event *event) {
  kevt_shared *shared = kevt_state();
  kevt_counts *row = (kevt_counts *)((thread ? thread->counts : shared->counts) + event->row_offset);
  for (uint32_t i = 0; i < event->sink_count; i++, row++) {
    if (thread) {
      kevt_increment(&row->hits);
      kevt_increment(&row->missed);
    } else { /* shard 0 is everybody's */
      kevt_increment_shared(&row->hits);
      kevt_increment_shared(&row->missed);
    }
  }
}

KEVT_SERVICE kevt_thread *kevt_service_thread(kevt_event *event) {
  kevt_thread *thread = kevt_find_thread();
  if (!thread) kevt_count_missed(0, event);
  return thread;
}

struct stack_info {
  uint64_t base;
  uint32_t flags;
  uint64_t size;
};

int kevt_guard_is_stale(kevt_thread *thread, uint64_t stack) {
  struct stack_info alt = {0, 0, 0};
  uint64_t guard = thread->guard;
  kevt_syscall(NR_SIGALTSTACK, 0, (uint64_t)&alt, 0, 0);
  int on_alt = alt.flags & 1; /* SS_ONSTACK */
  int guard_on_alt = alt.size && guard >= alt.base && guard < alt.base + alt.size;
  if (on_alt != guard_on_alt) {
    if (on_alt) return 0; /* a handler above an interrupted hit */
  } else if (stack <= guard) {
    return 0;
  }
  if (thread->open_record) { /* reserved, never to be committed by its hit */
    kevt_record *record = (kevt_record *)thread->open_record;
    __atomic_store_n(&record->word, thread->open_word | KEVT_RECORD_DISCARDED, __ATOMIC_RELEASE);
    thread->open_record = 0;
  }
  kevt_counts *row = (kevt_counts *)thread->guard_counts;
  row->lost += row->hits - (row->recorded + row->filtered + row->lost + row->missed);
  thread->guard = 0;
  return 1;
}

KEVT_SERVICE int kevt_service_guarded(kevt_thread *thread, kevt_event *event, uint64_t stack) {
  if (kevt_guard_is_stale(thread, stack)) return 1;
  kevt_count_missed(thread, event);
  return 0;
}

KEVT_SERVICE uint32_t kevt_service_comm(uint8_t *to) {
  kevt_syscall(NR_PRCTL, PR_GET_NAME, (uint64_t)to, 0, 0);
  uint32_t length = 0;
  while (length < KEVT_COMM_BYTES - 1 && to[length]) length++;
  to[length] = 0;
  return length + 1;
}

int kevt_in_code(const kevt_shared *shared, uint64_t address) {
  for (int i = 0; i < 64 && shared->windows[i][1]; i++)
    if (address >= shared->windows[i][0] && address < shared->windows[i][1]) return 1;
  return 0;
}

/*
 * The thread table, and who gets which kevt_thread and which shard of counters.  Any number of threads may come and go:
 * a first hit looks at a fixed number of places, however many threads there are.
 *
 *   thread table    thread pointer, hashed -> struct; open addressing, a look-up goes through KEVT_PLACE_REACH slots at
 *                   most.  A slot is never emptied: one whose struct stands elsewhere by now (kevt_thread.place) is
 *                   free to be used again.
 *   structs         each claim looks at two structs in turn and takes one whose thread has died; otherwise a fresh one.
 *                   So about as many are those of dead threads as of live ones, and no more.
 *   shards          the same, among all processes of the session.
 *
 * A struct belongs to who has put its name into kevt_self.owner by cmpxchg: that lies in memory that fork wipes, so a
 * forked child finds all structs free but knows its own by its thread pointer.
 */
#include "runtime-user/agent/agent.h"

enum { NR_TGKILL = 234, ESRCH_ = -3 };
enum { LOOKS = 2, LOOKS_WHEN_FULL = 64 };

static kevt_private* private_memory(void) { return (kevt_private*)kevt_state()->priv; }

kevt_self* kevt_self_of(const kevt_tables* tables, const kevt_thread* thread) {
  return (kevt_self*)tables->selves + (thread - private_memory()->threads);
}

kevt_thread* kevt_thread_at(uint64_t tp) {
  kevt_private* priv = private_memory();
  if (!tp) return 0;
  uint32_t place = KEVT_PLACE_OF(tp);
  for (int n = 0; n < KEVT_PLACE_REACH; n++, place = KEVT_NEXT_PLACE(place)) {
    const uint32_t number = __atomic_load_n(&priv->places[place], __ATOMIC_ACQUIRE);
    if (!number) return 0;
    kevt_thread* thread = &priv->threads[number - 1];
    if (__atomic_load_n(&thread->thread_pointer, __ATOMIC_RELAXED) == tp) return thread;
  }
  return 0;
}

/* The slot is noted in the struct before the struct stands in the table, so that a slot in use never looks free. */
static int enter_table(kevt_thread* thread, uint64_t tp) {
  kevt_private* priv = private_memory();
  const uint32_t number = (uint32_t)(thread - priv->threads) + 1;
  uint32_t place = KEVT_PLACE_OF(tp);
  for (int n = 0; n < KEVT_PLACE_REACH; n++, place = KEVT_NEXT_PLACE(place)) {
    uint32_t there = __atomic_load_n(&priv->places[place], __ATOMIC_ACQUIRE);
    const int is_used = there && __atomic_load_n(&priv->threads[there - 1].place, __ATOMIC_ACQUIRE) == place;
    if (is_used && there != number) continue;
    __atomic_store_n(&thread->place, place, __ATOMIC_RELEASE);
    if (there == number) return 1;
    if (__atomic_compare_exchange_n(&priv->places[place], &there, number, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return 1;
  }
  return 0;
}

static int is_dead(uint64_t user) {
  user &= ~KEVT_OWNER_CLAIMS;
  return kevt_own_syscall(NR_TGKILL, user >> 32, (uint32_t)user, 0, 0) == ESRCH_;
}

/* 1: the struct has passed from `from` to `to`. */
static int change_owner(kevt_self* self, uint64_t from, uint64_t to) {
  return __atomic_compare_exchange_n(&self->owner, &from, to | KEVT_OWNER_CLAIMS, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED);
}

/*
 * Which of `used` places is looked at next: all over them, by Fibonacci hashing.  Going through them in order would
 * stay among the first ones, whose users live long, since the number of places grows by one for every two looks.
 */
static uint64_t place_of_look(uint64_t* looks, uint64_t used) {
  const uint64_t look = __atomic_fetch_add(looks, 1, __ATOMIC_RELAXED);
  return (look * 0x9e3779b97f4a7c15u >> 32) * used >> 32;
}

/* One of the structs that were used before, if its thread is dead. */
static kevt_thread* take_over(const kevt_tables* tables, uint64_t user) {
  kevt_private* priv = private_memory();
  uint64_t used = __atomic_load_n(&priv->used_threads, __ATOMIC_ACQUIRE);
  if (used > tables->max_threads) used = tables->max_threads;
  if (!used) return 0;
  kevt_thread* thread = &priv->threads[place_of_look(&priv->next_swept, used)];
  kevt_self* self = kevt_self_of(tables, thread);
  const uint64_t owner = __atomic_load_n(&self->owner, __ATOMIC_ACQUIRE);
  if (owner == KEVT_OWNER_EXPECTED || (owner && !is_dead(owner))) return 0;
  return change_owner(self, owner, user) ? thread : 0;
}

static kevt_thread* take_struct(const kevt_tables* tables, uint64_t user) {
  kevt_private* priv = private_memory();
  for (int n = 0; n < LOOKS; n++) {
    kevt_thread* thread = take_over(tables, user);
    if (thread) return thread;
  }
  while (__atomic_load_n(&priv->used_threads, __ATOMIC_RELAXED) < tables->max_threads) {
    const uint64_t number = __atomic_fetch_add(&priv->used_threads, 1, __ATOMIC_ACQ_REL);
    if (number >= tables->max_threads) break;
    if (change_owner(kevt_self_of(tables, &priv->threads[number]), 0, user)) return &priv->threads[number];
  }
  for (int n = 0; n < LOOKS_WHEN_FULL; n++) {
    kevt_thread* thread = take_over(tables, user);
    if (thread) return thread;
  }
  return 0;
}

/*
 * The struct that has this thread pointer.  A dead thread's struct that another thread is just claiming is taken out of
 * the way: the claiming thread writes its own thread pointer there later.
 */
static kevt_thread* claim_known(const kevt_tables* tables, uint64_t tp, uint64_t user) {
  for (;;) {
    kevt_thread* known = kevt_thread_at(tp);
    if (!known) return 0;
    kevt_self* self = kevt_self_of(tables, known);
    const uint64_t owner = __atomic_load_n(&self->owner, __ATOMIC_ACQUIRE);
    if ((owner & ~KEVT_OWNER_CLAIMS) == user) return known;
    if (owner & KEVT_OWNER_CLAIMS && !is_dead(owner)) {
      uint64_t expected = tp;
      __atomic_compare_exchange_n(&known->thread_pointer, &expected, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
      continue;
    }
    if (__atomic_load_n(&known->thread_pointer, __ATOMIC_ACQUIRE) == tp && change_owner(self, owner, user))
      return known;
  }
}

void kevt_forget_thread(kevt_thread* thread) {
  for (uint64_t i = 0; i <= thread->depth && i < KEVT_RETURN_DEPTH; i++) thread->instances[i].slot = 0;
  thread->depth = thread->guard = thread->open_word = thread->blocked = thread->pending = 0;
}

static void give_struct_back(const kevt_tables* tables, kevt_thread* thread) {
  __atomic_store_n(&thread->thread_pointer, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&kevt_self_of(tables, thread)->owner, 0, __ATOMIC_RELEASE);
}

/*
 * A struct that did not have this thread pointer; 0: none is left.  A signal handler that hits in the middle of this
 * claims another struct for the same thread: both then go on with the one that a look-up finds.
 */
static kevt_thread* claim_new(const kevt_tables* tables, uint64_t tp, uint64_t user) {
  kevt_thread* thread = take_struct(tables, user);
  if (!thread) return 0;
  __atomic_store_n(&kevt_self_of(tables, thread)->thread_pointer, 0, __ATOMIC_RELEASE);
  kevt_forget_thread(thread);
  __atomic_store_n(&thread->thread_pointer, tp, __ATOMIC_RELEASE);
  if (!enter_table(thread, tp)) {
    give_struct_back(tables, thread);
    return 0;
  }
  kevt_thread* found = kevt_thread_at(tp);
  if (!found || found == thread) return thread;
  give_struct_back(tables, thread);
  return found;
}

kevt_thread* kevt_claim(uint64_t tp, uint64_t user) {
  const kevt_tables* tables = kevt_state();
  kevt_thread* thread = claim_known(tables, tp, user);
  if (!thread) thread = claim_new(tables, tp, user);
  if (thread) __atomic_store_n(&kevt_self_of(tables, thread)->owner, user, __ATOMIC_RELEASE);
  return thread;
}

/* ---- shards ---- */

/* In a PID namespace of one's own, numbers name other threads than elsewhere. */
static uint64_t shard_user(uint64_t user) {
  return private_memory()->has_own_numbers ? user | KEVT_USER_ELSEWHERE : user;
}

int kevt_keep_shard(uint64_t shard, uint64_t before, uint64_t user) {
  uint64_t from = shard_user(before);
  return __atomic_compare_exchange_n(&((kevt_session*)kevt_state()->session)->shard_users[shard], &from,
                                     shard_user(user), 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* A shard that was used before, if its user is dead; 0: none.  Its counts stay, so that the sums go on. */
static uint64_t take_shard_over(kevt_session* session, uint64_t used, uint64_t user) {
  if (used < 2) return 0;
  const uint64_t shard = 1 + place_of_look(&session->next_swept, used - 1);
  uint64_t before = __atomic_load_n(&session->shard_users[shard], __ATOMIC_ACQUIRE);
  if (!before || before & KEVT_USER_ELSEWHERE || !is_dead(before)) return 0;
  return __atomic_compare_exchange_n(&session->shard_users[shard], &before, shard_user(user), 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED)
             ? shard
             : 0;
}

uint64_t kevt_take_shard(uint64_t user) {
  const kevt_tables* tables = kevt_state();
  kevt_session* session = (kevt_session*)tables->session;
  const int may_take_over = !private_memory()->has_own_numbers;
  uint64_t used = __atomic_load_n(&session->next_shard, __ATOMIC_ACQUIRE);
  const int is_full = used >= tables->max_shards;
  if (is_full) used = tables->max_shards;
  for (int n = 0; may_take_over && n < (is_full ? LOOKS_WHEN_FULL : LOOKS); n++) {
    const uint64_t shard = take_shard_over(session, used, user);
    if (shard) return shard;
  }
  if (is_full) return 0;
  const uint64_t shard = __atomic_fetch_add(&session->next_shard, 1, __ATOMIC_ACQ_REL);
  if (!shard || shard >= tables->max_shards) return 0; /* 0 is everybody's: somebody writes nonsense there */
  __atomic_store_n(&session->shard_users[shard], shard_user(user), __ATOMIC_RELEASE);
  return shard;
}

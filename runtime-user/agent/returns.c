/*
 * Return probes, by pop and call.  At the function's entry the detour asks for an instance, pops
 * the return address into it and *calls* the displaced code, so that the function's own `ret`
 * comes back to the detour: the CPU's return predictor stays balanced and a shadow stack agrees.
 *
 * An instance is found again by the stack address of its return slot, newest first: stacks can be
 * switched under us, so nothing is assumed to be last in, first out.  An instance whose slot no
 * longer holds our detour's address is dead (longjmp, an ended coroutine) and is reclaimed when
 * room is needed.
 */
#include "runtime-user/agent/agent.h"

static kevt_event* event_of(const kevt_return_instance* instance) {
  return (kevt_event*)(instance->event & ~KEVT_INSTANCE_COUNTED);
}

static uint32_t* active_of(kevt_event* event) {
  kevt_private* priv = (kevt_private*)kevt_state()->priv;
  return &priv->active[event->row_offset / sizeof(kevt_counts)];
}

KEVT_RARE_STATIC void remove_instance(kevt_thread* thread, uint64_t i) {
  const kevt_return_instance* gone = &thread->instances[i];
  if (gone->event & KEVT_INSTANCE_COUNTED) __atomic_fetch_sub(active_of(event_of(gone)), 1, __ATOMIC_RELAXED);
  for (; i + 1 < thread->depth; i++) thread->instances[i] = thread->instances[i + 1];
  thread->instances[i].slot = 0;
  thread->depth--;
}

/* In an instance's slot address until the rest of it is there. */
#define BEING_FILLED 1ull

/* A newer instance found something else in the same slot than our detour's address: this call had been left. */
static int is_superseded(const kevt_shared* shared, const kevt_thread* thread, uint64_t i) {
  for (uint64_t newer = i + 1; newer < thread->depth; newer++)
    if (thread->instances[newer].slot == thread->instances[i].slot)
      return !kevt_in_code(shared, thread->instances[newer].return_address);
  return 0;
}

/*
 * Drops instances whose return slot was overwritten, used again or unmapped. `stack`: the slot of the hit that asks.
 * Older calls lie higher on a stack: only where one does not, a newer instance may have its slot.
 */
KEVT_RARE_STATIC void reclaim(const kevt_shared* shared, kevt_thread* thread, uint64_t stack) {
  uint64_t highest = 0;
  for (uint64_t i = thread->depth; i-- > 0;) {
    uint64_t held, slot = thread->instances[i].slot;
    if (slot & BEING_FILLED) { /* below this signal handler, or abandoned when its frame is gone */
      if (stack < (slot & ~BEING_FILLED)) continue;
      goto dead;
    }
    KEVT_LOAD8(held, slot, dead);
    if (kevt_in_code(shared, held) && !(slot <= highest && is_superseded(shared, thread, i))) {
      if (slot > highest) highest = slot;
      continue;
    }
  dead:
    remove_instance(thread, i);
  }
}

KEVT_RARE_STATIC int has_room(const kevt_shared* shared, kevt_thread* thread, kevt_event* event, uint64_t stack) {
  if (thread->depth == KEVT_RETURN_DEPTH) reclaim(shared, thread, stack);
  if (thread->depth == KEVT_RETURN_DEPTH) return 0;
  if (!event->maxactive) return 1;
  uint32_t* active = active_of(event);
  for (int attempt = 0; attempt < 2; attempt++) {
    if (__atomic_fetch_add(active, 1, __ATOMIC_RELAXED) < event->maxactive) return 1;
    __atomic_fetch_sub(active, 1, __ATOMIC_RELAXED);
    if (attempt == 0) reclaim(shared, thread, stack);
  }
  return 0;
}

static void fill(kevt_thread* thread, kevt_return_instance* instance, const kevt_event* event, uint64_t* slot,
                 uint64_t shown) {
  /* Counted first: a signal handler that hits now takes the next one. The slot is noted on both sides of that, as
     such a handler may have used and freed this instance in between. */
  __atomic_store_n(&instance->slot, (uint64_t)slot | BEING_FILLED, __ATOMIC_RELEASE);
  kevt_increment(&thread->depth);
  __atomic_store_n(&instance->slot, (uint64_t)slot | BEING_FILLED, __ATOMIC_RELEASE);
  instance->return_address = *slot;
  instance->shown = shown;
  instance->event = (uint64_t)event | (event->maxactive ? KEVT_INSTANCE_COUNTED : 0);
  __atomic_store_n(&instance->slot, (uint64_t)slot, __ATOMIC_RELEASE);
}

/*
 * Every case that the event's own code leaves to us. 1: the return address in *slot is kept, the detour may pop it.
 * 0: run the function unprobed.
 */
KEVT_SERVICE int kevt_service_enter(kevt_event* event, uint64_t* slot) {
  if (!event->gates) return 0;
  const kevt_shared* shared = kevt_state();
  kevt_thread* thread = kevt_find_thread(shared);
  if (!thread || (thread->guard && !kevt_guard_is_stale(thread, (uint64_t)slot)) ||
      !has_room(shared, thread, event, (uint64_t)slot)) {
    kevt_count_missed(thread, event);
    return 0;
  }
  kevt_return_instance* instance = &thread->instances[thread->depth];
  uint64_t shown = *slot;
  if (thread->depth && (uint64_t)slot == instance[-1].slot && kevt_in_code(shared, shown))
    shown = instance[-1].shown; /* probed twice, or reached by a tail call from a probed function */
  fill(thread, instance, event, slot, shown);
  return 1;
}

/* Takes the instance of `slot` back, where it is not the thread's newest of an event without maxactive. */
KEVT_SERVICE uint64_t kevt_service_leave(kevt_event* event, uint64_t* slot) {
  kevt_thread* thread = kevt_find_thread(kevt_state());
  if (!thread) thread = kevt_known_thread();
  for (uint64_t i = thread ? thread->depth : 0; i-- > 0;) {
    kevt_return_instance* instance = &thread->instances[i];
    if (instance->slot != (uint64_t)slot || event_of(instance) != event) continue;
    const uint64_t shown = instance->shown;
    *slot = instance->return_address;
    remove_instance(thread, i);
    return shown;
  }
  if (kevt_in_code(kevt_state(), *slot))
    __builtin_trap(); /* no instance: the return address is lost, going on would run wild */
  return *slot; /* filled in by kevt_restore_returns, just now */
}

/*
 * Stands in front of the functions that walk the stack (C++ exceptions, pthread_exit, backtrace): they must find the
 * program's own return addresses.  Newest first, so that of nested detours in one slot the outermost one's address
 * is written last.  These calls return unprobed and are missed.
 */
KEVT_SERVICE void kevt_restore_returns(void) {
  const kevt_shared* shared = kevt_state();
  kevt_thread* thread = kevt_find_thread(shared);
  if (!thread) thread = kevt_known_thread();
  if (!thread) return;
  for (uint64_t i = thread->depth; i-- > 0;) {
    kevt_return_instance instance = thread->instances[i];
    uint64_t held, slot = instance.slot;
    if (slot & BEING_FILLED) continue;
    KEVT_LOAD8(held, slot, gone);
    if (!kevt_in_code(shared, held)) continue; /* not called yet below this signal handler, or left long ago */
    *(uint64_t*)slot = instance.return_address;
    kevt_count_missed(thread, event_of(&instance));
  gone:
    remove_instance(thread, i);
  }
}

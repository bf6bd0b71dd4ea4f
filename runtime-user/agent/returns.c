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

static uint64_t return_address_of(const kevt_return_instance* instance) {
  return instance->return_address & ~KEVT_INSTANCE_SPECIAL;
}
static uint64_t shown_of(const kevt_return_instance* instance) {
  return instance->return_address & KEVT_INSTANCE_SPECIAL ? instance->shown : instance->return_address;
}

uint64_t kevt_program_return(const kevt_thread* thread, uint64_t slot, uint64_t held) {
  const kevt_tables* tables = kevt_state();
  if (!kevt_in_code(tables, held)) return held;
  for (uint64_t i = thread->depth; i-- > 0;) {
    if (thread->instances[i].slot != slot) continue;
    held = shown_of(&thread->instances[i]);
    if (!kevt_in_code(tables, held)) break; /* else a detour of an older call lies below this one */
  }
  return held;
}

static uint32_t* active_of(kevt_event* event) {
  kevt_private* priv = (kevt_private*)kevt_state()->priv;
  return &priv->active[event->row];
}

static void copy_arguments(uint64_t* to, const uint64_t* from, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) to[i] = from[i];
}

/* The frame of a return event, at its entry and at its return. */
static kevt_registers* frame_of(uint64_t* slot) { return (kevt_registers*)((uint64_t)slot - KEVT_FRAME_BYTES); }
static uint64_t* arguments_of(uint64_t* slot) {
  return (uint64_t*)((uint64_t)slot - KEVT_FRAME_BYTES + KEVT_FRAME_ARGUMENTS);
}

/* What argument `number`, from 1, was given; `registers` lie below the slot of the return address. */
static uint64_t argument(const kevt_registers* registers, const uint64_t* slot, uint32_t number) {
  uint64_t value;
  switch (number) {
    case 1:
      return registers->di;
    case 2:
      return registers->si;
    case 3:
      return registers->dx;
    case 4:
      return registers->cx;
    case 5:
      return registers->r8;
    case 6:
      return registers->r9;
  }
  KEVT_LOAD8(value, slot + (number - 6), unreadable);
  return value;
unreadable:
  return 0;
}

static int is_counted(const kevt_return_instance* instance) {
  if (instance->slot & KEVT_INSTANCE_FILLING) return (instance->slot & KEVT_INSTANCE_COUNTED) != 0;
  return ((kevt_event*)instance->event)->maxactive != 0;
}

KEVT_RARE_STATIC void remove_instance(kevt_thread* thread, uint64_t i) {
  kevt_return_instance* instance = &thread->instances[i];
  if (is_counted(instance)) __atomic_fetch_sub(active_of((kevt_event*)instance->event), 1, __ATOMIC_RELAXED);
  for (; i + 1 < thread->depth; i++) {
    thread->instances[i] = thread->instances[i + 1];
    copy_arguments(thread->arguments[i], thread->arguments[i + 1], KEVT_ENTRY_ARGUMENTS);
  }
  thread->depth--;
  __asm__ volatile("" ::: "memory"); /* as in the extractor: no 0 among those in use, where a handler may jump away */
  thread->instances[i].slot = 0;
}

/* A newer instance found something else in the same slot than our detour's address: this call had been left. */
static int is_superseded(const kevt_tables* tables, const kevt_thread* thread, uint64_t i) {
  for (uint64_t newer = i + 1; newer < thread->depth; newer++)
    if (thread->instances[newer].slot == thread->instances[i].slot)
      return !kevt_in_code(tables, return_address_of(&thread->instances[newer]));
  return 0;
}

/*
 * Whether the hit that our signal handler has interrupted may still fill the instance in, which must stay where it is
 * then.  A handler that jumped out of such a hit leaves an instance that nobody fills in: told as for a guard
 * (thread.c).
 */
static int may_be_filled(const kevt_return_instance* instance, uint64_t entered) {
  if (!instance->slot) return 1; /* not even that: a handler's instance was there when it was taken */
  return (instance->slot & KEVT_INSTANCE_FILLING) && kevt_may_be_below(instance->slot & ~7ull, entered);
}

/*
 * Drops instances whose return slot was overwritten, used again or unmapped, to enter a function whose slot is
 * `entered`.  Older calls lie higher on a stack: only where one does not, a newer instance may have its slot.
 */
KEVT_RARE_STATIC void reclaim(const kevt_tables* tables, kevt_thread* thread, uint64_t entered) {
  uint64_t highest = 0;
  int entering = 1;
  for (uint64_t i = 0; i < thread->depth; i++)
    if (may_be_filled(&thread->instances[i], entered)) return;
  for (uint64_t i = thread->depth; i-- > 0;) {
    uint64_t held, slot = thread->instances[i].slot;
    if (slot & KEVT_INSTANCE_FILLING) goto dead;
    KEVT_LOAD8(held, slot, dead);
    /* Below this signal handler the newest calls may not be made yet: their slots hold the program's addresses. */
    entering = entering && slot != entered && held == return_address_of(&thread->instances[i]);
    if (entering) continue;
    if (kevt_in_code(tables, held) && !(slot <= highest && is_superseded(tables, thread, i))) {
      if (slot > highest) highest = slot;
      continue;
    }
  dead:
    remove_instance(thread, i);
  }
}

KEVT_RARE_STATIC int has_room(const kevt_tables* tables, kevt_thread* thread, kevt_event* event, uint64_t slot) {
  if (thread->depth == KEVT_RETURN_DEPTH) reclaim(tables, thread, slot);
  if (thread->depth == KEVT_RETURN_DEPTH) return 0;
  if (!event->maxactive) return 1;
  uint32_t* active = active_of(event);
  for (int attempt = 0; attempt < 2; attempt++) {
    if (__atomic_fetch_add(active, 1, __ATOMIC_RELAXED) < event->maxactive) return 1;
    __atomic_fetch_sub(active, 1, __ATOMIC_RELAXED);
    if (attempt == 0) reclaim(tables, thread, slot);
  }
  return 0;
}

/*
 * The instance is marked, then counted: a signal handler that hits from then on takes the next one.  A handler in
 * between takes this one and leaves 0 in its slot.  As in the detour, the slot comes last.
 */
static void fill(kevt_thread* thread, uint64_t index, const kevt_event* event, uint64_t* slot, uint64_t shown) {
  kevt_return_instance* instance = &thread->instances[index];
  instance->event = (uint64_t)event;
  __atomic_store_n(&instance->slot,
                   (uint64_t)slot | KEVT_INSTANCE_FILLING | (event->maxactive ? KEVT_INSTANCE_COUNTED : 0),
                   __ATOMIC_RELEASE);
  kevt_increment(&thread->depth);
  __asm__ volatile("" ::: "memory");
  instance->return_address = *slot | KEVT_INSTANCE_SPECIAL;
  instance->shown = shown;
  instance->event = (uint64_t)event;
  for (uint32_t i = 0; i < event->argument_count; i++)
    thread->arguments[index][i] = argument(frame_of(slot), slot, event->argument_numbers[i]);
  __atomic_store_n(&instance->slot, (uint64_t)slot, __ATOMIC_RELEASE);
}

/*
 * Every case that the detour leaves to us (return_entry.cpp). 1: the return address in *slot is kept, the detour may
 * pop it. 0: run the function unprobed.
 */
KEVT_SERVICE int kevt_service_enter(kevt_event* event, uint64_t* slot) {
  if (!event->gates) return 0;
  const kevt_tables* tables = kevt_state();
  kevt_thread* thread = kevt_find_thread(tables);
  if (!thread || (thread->guard && !kevt_guard_is_stale(thread, (uint64_t)slot)) ||
      !has_room(tables, thread, event, (uint64_t)slot)) {
    kevt_count_missed(thread, event);
    return 0;
  }
  uint64_t shown = *slot;
  const kevt_return_instance* newest = &thread->instances[thread->depth - 1]; /* looked at only if there is one */
  if (thread->depth && (uint64_t)slot == newest->slot && kevt_in_code(tables, shown))
    shown = shown_of(newest); /* probed twice, or reached by a tail call from a probed function */
  fill(thread, thread->depth, event, slot, shown);
  return 1;
}

/* Takes the instance of `slot` back, where it is special or not the thread's newest. */
KEVT_SERVICE uint64_t kevt_service_leave(kevt_event* event, uint64_t* slot) {
  kevt_thread* thread = kevt_find_thread(kevt_state());
  if (!thread) thread = kevt_known_thread();
  for (uint64_t i = thread ? thread->depth : 0; i-- > 0;) {
    kevt_return_instance* instance = &thread->instances[i];
    if (instance->slot != (uint64_t)slot || instance->event != (uint64_t)event) continue;
    const uint64_t shown = shown_of(instance);
    copy_arguments(arguments_of(slot), thread->arguments[i], event->argument_count);
    *slot = return_address_of(instance);
    remove_instance(thread, i);
    return shown;
  }
  if (kevt_in_code(kevt_state(), *slot))
    __builtin_trap(); /* no instance: the return address is lost, going on would run wild */
  /* kevt_restore_returns has just put the return address back. */
  for (uint32_t i = 0; i < event->argument_count; i++) arguments_of(slot)[i] = 0;
  return *slot;
}

/*
 * Stands in front of the functions that walk the stack (C++ exceptions, pthread_exit, backtrace): they must find the
 * program's own return addresses.  Newest first, so that of nested detours in one slot the outermost one's address
 * is written last.  These calls return unprobed and are missed.
 */
KEVT_SERVICE void kevt_restore_returns(void) {
  const kevt_tables* tables = kevt_state();
  kevt_thread* thread = kevt_find_thread(tables);
  if (!thread) thread = kevt_known_thread();
  if (!thread) return;
  for (uint64_t i = thread->depth; i-- > 0;) {
    kevt_return_instance instance = thread->instances[i];
    uint64_t held, slot = instance.slot;
    if (!slot || slot & KEVT_INSTANCE_FILLING) continue; /* not entered yet below this signal handler, or never */
    KEVT_LOAD8(held, slot, gone);
    if (!kevt_in_code(tables, held)) continue; /* not called yet below this signal handler, or left long ago */
    *(uint64_t*)slot = return_address_of(&instance);
    kevt_count_missed(thread, (kevt_event*)instance.event);
  gone:
    remove_instance(thread, i);
  }
}

/*
 * The stack of a hit: walked by the controller's rules, looked up among the stacks that are known, and kept if it is
 * new (common/abi/hit_stack.h).  Where the rules do not lead on, the record takes a sample of the stack along, and the
 * controller unwinds it.
 *
 * Other processes of the session write the known stacks, too, perhaps nonsense: an index is checked before it is used,
 * and what a slot names is compared word by word.
 */
#include "runtime-user/agent/agent.h"

/* The rule of an address, among all of this generation. */
static uint64_t search(const kevt_tables* tables, uint64_t generation, uint64_t address) {
  const kevt_stack_rule* rules = (const kevt_stack_rule*)tables->rules + (generation & 1) * KEVT_STACK_RULES;
  uint64_t low = 0, high = __atomic_load_n(&tables->rule_counts[generation & 1], __ATOMIC_ACQUIRE);
  if (!high) return KEVT_STACK_NO_RULE;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    if (rules[middle].start <= address)
      low = middle;
    else
      high = middle;
  }
  return rules[low].rule;
}

/* A handler that jumps away in between leaves rules of no generation: they are forgotten once more. */
static void forget_rules(kevt_thread* thread, uint64_t generation) {
  __atomic_store_n(&thread->rule_generation, 0, __ATOMIC_RELEASE);
  for (uint32_t i = 0; i < KEVT_STACK_CACHED; i++) thread->rules[i].start = 0;
  __atomic_store_n(&thread->rule_generation, generation, __ATOMIC_RELEASE);
}

/* The same, kept at hand: a handler that jumps away in between leaves no half of it. */
static uint64_t rule_of(const kevt_tables* tables, kevt_thread* thread, uint64_t generation, uint64_t address) {
  kevt_stack_rule* at = &thread->rules[address * KEVT_HASH_MULTIPLIER >> 32 & (KEVT_STACK_CACHED - 1)];
  if (likely(at->start == address)) return at->rule;
  const uint64_t rule = search(tables, generation, address);
  __atomic_store_n(&at->start, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&at->rule, rule, __ATOMIC_RELEASE);
  __atomic_store_n(&at->start, address, __ATOMIC_RELEASE);
  return rule;
}

/* A word of the stack, as the program has it. 0: a stack may end anywhere, also where nothing can be read. */
static int load(const kevt_thread* thread, uint64_t* to, uint64_t at) {
  uint64_t word;
  KEVT_LOAD8(word, at, none);
  *to = unlikely(thread->depth) ? kevt_program_return(thread, at, word) : word;
  return 1;
none:
  return 0;
}

/* Fills in thread->frames; how many. 0: the rules do not lead on. `early`: 0 if pc is an instruction's own address. */
static uint32_t walk(kevt_thread* thread, uint64_t pc, uint64_t early, uint64_t sp, uint64_t bp) {
  const kevt_tables* tables = kevt_state();
  const uint64_t generation = __atomic_load_n(&tables->rule_generation, __ATOMIC_ACQUIRE);
  uint32_t count = 0;
  if (unlikely(thread->rule_generation != generation)) forget_rules(thread, generation);
  for (; count < KEVT_STACK_DEPTH; early = 1) {
    const uint64_t rule = rule_of(tables, thread, generation, pc - early);
    uint64_t frame = 0;
    switch (KEVT_STACK_KIND(rule)) {
      case KEVT_STACK_FROM_SP:
        frame = sp + (uint64_t)KEVT_STACK_FRAME(rule);
        break;
      case KEVT_STACK_FROM_BP:
        frame = bp + (uint64_t)KEVT_STACK_FRAME(rule);
        break;
      case KEVT_STACK_AT_BP:
        (void)load(thread, &frame, bp + (uint64_t)KEVT_STACK_FRAME(rule));
        break;
      case KEVT_STACK_LAST:
        break;
      default:
        return 0;
    }
    thread->frames[count++] = pc;
    /* Stacks grow down: a frame that does not lead up would lead around in circles. */
    if (frame <= sp || !load(thread, &pc, frame - 8) || !pc) break;
    if (KEVT_STACK_HAS_BP(rule) && !load(thread, &bp, frame + (uint64_t)KEVT_STACK_BP(rule))) break;
    sp = frame;
  }
  return __atomic_load_n(&tables->rule_generation, __ATOMIC_ACQUIRE) == generation ? count : 0;
}

static uint64_t hash_of(const uint64_t* frames, uint32_t count) {
  uint64_t hash = count;
  for (uint32_t i = 0; i < count; i++) hash = (hash ^ frames[i] ^ hash >> 29) * KEVT_HASH_MULTIPLIER;
  return hash ^ hash >> 32;
}

static int is_same(const kevt_stacks* stacks, uint32_t number, const uint64_t* frames, uint32_t count) {
  if (number >= KEVT_STACK_WORDS - count || stacks->words[number] != count) return 0;
  for (uint32_t i = 0; i < count; i++)
    if (stacks->words[number + 1 + i] != frames[i]) return 0;
  return 1;
}

/* Room for a new stack, filled in; 0: there is none. */
static uint32_t keep(kevt_stacks* stacks, const uint64_t* frames, uint32_t count) {
  if (__atomic_load_n(&stacks->used, __ATOMIC_RELAXED) >= KEVT_STACK_WORDS) return 0;
  const uint64_t at = 1 + __atomic_fetch_add(&stacks->used, 1 + (uint64_t)count, __ATOMIC_RELAXED);
  if (at >= KEVT_STACK_WORDS - KEVT_STACK_DEPTH) return 0;
  stacks->words[at] = count;
  for (uint32_t i = 0; i < count; i++) stacks->words[at + 1 + i] = frames[i];
  return (uint32_t)at;
}

/* The number of a stack; 0: there is no room for another one. */
static uint32_t number_of(const uint64_t* frames, uint32_t count) {
  kevt_stacks* stacks = (kevt_stacks*)kevt_state()->stacks;
  const uint64_t hash = hash_of(frames, count);
  uint32_t made = 0;
  for (uint32_t n = 0; n < KEVT_STACK_SLOT_PROBES; n++) {
    uint32_t* slot = &stacks->slots[(hash + n) & (KEVT_STACK_SLOTS - 1)];
    uint32_t number = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (!number) {
      if (!made) made = keep(stacks, frames, count);
      if (!made) return 0;
      if (__atomic_compare_exchange_n(slot, &number, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return made;
    }
    if (is_same(stacks, number, frames, count)) return number;
  }
  return 0;
}

/* `regs`: the hit's frame, with the words that a walk and a sample need. */
KEVT_SERVICE uint64_t kevt_service_stack(kevt_thread* thread, uint64_t pc, uint64_t is_place,
                                         const kevt_registers* regs) {
  const uint32_t count = walk(thread, pc, !is_place, regs->sp, regs->bp);
  return count ? number_of(thread->frames, count) : 0;
}

KEVT_SERVICE void kevt_service_stack_sample(const kevt_thread* thread, uint64_t pc, const kevt_registers* regs,
                                            kevt_stack_sample* sample) {
  sample->pc = pc;
  sample->sp = regs->sp;
  sample->bx = regs->bx;
  sample->bp = regs->bp;
  sample->r12 = regs->r12;
  sample->r13 = regs->r13;
  sample->r14 = regs->r14;
  sample->r15 = regs->r15;
  for (uint64_t i = 0; i < KEVT_STACK_SAMPLE_BYTES / 8; i++) {
    uint64_t word = 0;
    (void)load(thread, &word, regs->sp + 8 * i);
    sample->stack[i] = word;
  }
}

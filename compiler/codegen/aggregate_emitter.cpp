// Histograms that a hit counts itself. All entries are found first, and only then are all increased: a hit that has to
// be recorded instead must not have counted anywhere.
//
//   for each aggregate:  condition? ─► entry of its key ──┬─► entry
//                                                         └─► no room: the record is made
//   none: filtered            for each entry:  sums += …, count += 1
//
// The entry of a key (common/abi/hit_table.h): nearly always the first slot that the key's hash names holds the key;
// otherwise one of the other slots does, or the key goes to the first free slot.
#include <llvm/IR/Intrinsics.h>

#include <bit>

#include "common/abi/hit_table.h"
#include "common/abi/probe.h"
#include "common/assert.h"
#include "compiler/codegen/event_emitter.h"
#include "compiler/model/histogram.h"

namespace kevt::codegen {

using llvm::BasicBlock;
using llvm::Value;

namespace {

std::uint32_t slot_bytes(std::size_t key_words, const ir::Aggregate& aggregate) {
  return kevt_hit_slot_bytes(static_cast<std::uint32_t>(key_words + 1 + aggregate.sums.size()));
}

Value* word_at(llvm::IRBuilder<>& b, Value* entry, std::size_t index) {
  return b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), entry, index);
}

// The load is volatile, to keep its order: another reader or writer may use the table meanwhile.
Value* table_word(llvm::IRBuilder<>& b, Value* entry, std::size_t index) {
  return b.CreateAlignedLoad(b.getInt64Ty(), word_at(b, entry, index), llvm::Align(kWordBytes), true);
}

Value* hash_of(llvm::IRBuilder<>& b, llvm::ArrayRef<Value*> key) {
  Value* const multiplier = b.getInt64(KEVT_HASH_MULTIPLIER);
  Value* hash = b.CreateMul(key.front(), multiplier);
  for (Value* word : key.drop_front()) {
    Value* const mixed = b.CreateXor(hash, b.CreateLShr(hash, b.getInt64(32)));
    hash = b.CreateMul(b.CreateXor(mixed, word), multiplier);
  }
  return hash;
}

// Whether the slot holds `key`. If writers share the table, its key is valid only once its maker has set the count's
// sign bit.
Value* holds(llvm::IRBuilder<>& b, Value* entry, llvm::ArrayRef<Value*> key, bool is_shared) {
  Value* all = is_shared ? b.CreateICmpSLT(table_word(b, entry, key.size()), b.getInt64(0)) : nullptr;
  for (std::size_t i = 0; i < key.size(); ++i) {
    Value* const same = b.CreateICmpEQ(table_word(b, entry, i), key[i]);
    all = all ? b.CreateAnd(all, same) : same;
  }
  return all;
}

}  // namespace

Value* EventEmitter::measured(const ir::Measured& number) {
  Value* const value = integer(number.value);
  switch (number.measure) {
    case model::HitMeasure::Itself:
      return value;
    case model::HitMeasure::Bucket:
      return b_.CreateSub(value, b_.CreateURem(value, b_.getInt64(number.parameter)));
    case model::HitMeasure::LogLinear: {
      constexpr std::uint64_t kShort = (1u << model::kLogLinearBits) - 1;
      Value* const at_least = b_.CreateOr(value, b_.getInt64(kShort));
      Value* const zeros = b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, at_least, b_.getTrue());
      Value* const unused = b_.CreateSub(b_.getInt64(64 - model::kLogLinearBits), zeros);
      return b_.CreateAnd(value, b_.CreateShl(b_.getInt64(~0ull), unused));
    }
    case model::HitMeasure::Log2: {
      Value* const below = b_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, value, b_.getInt64(1));
      Value* const zeros = b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, below, b_.getFalse());
      Value* const exponent = b_.CreateSub(b_.getInt64(64), zeros);
      if (number.parameter == 64) return exponent;
      Value* const is_over = b_.CreateICmpUGT(value, b_.getInt64(1ull << 63));
      return b_.CreateSelect(is_over, b_.getInt64(number.parameter), exponent);
    }
  }
  return value;
}

void EventEmitter::claim(Value* count, BasicBlock* taken) {
  BasicBlock* claimed = block("claimed");
  constexpr auto kOrder = llvm::AtomicOrdering::SequentiallyConsistent;
  Value* const had = b_.CreateExtractValue(b_.CreateAtomicCmpXchg(count, b_.getInt64(0), b_.getInt64(KEVT_HIT_CLAIMED),
                                                                  llvm::Align(kWordBytes), kOrder, kOrder),
                                           0);
  branch(b_.CreateIsNull(had), claimed, taken);
  start(claimed);
}

Value* EventEmitter::find_entry(const ir::Aggregate& aggregate, BasicBlock* full) {
  std::vector<Value*> key;
  for (const ir::Measured& number : aggregate.keys) {
    const ir::Op op = program_.values[number.value].op;
    if (op == ir::Op::StackNumber) {
      BasicBlock* known = block("known_stack");
      branch(is_ok(number.value), known, full, Likely::First);
      start(known);
    }
    if (ir::result_type(op) == ir::ResultType::Text)
      append_text_key(number.value, key, full);
    else
      key.push_back(measured(number));
  }
  const TargetHooks::HitTableShape shape = hooks_.hit_table_shape();
  const std::uint32_t bytes = slot_bytes(key.size(), aggregate);
  const std::uint32_t near_slots = shape.near_bytes / bytes, slots = shape.bytes / bytes;
  Value* const table = hooks_.hit_table(b_, aggregate.table);
  Value* const hash = hash_of(b_, key);
  const auto place_among = [&](std::uint32_t count) {
    return b_.CreateLShr(hash, b_.getInt64(64 - std::countr_zero(count)));
  };
  Value* const place = place_among(near_slots);
  const auto entry_at = [&](Value* index) {
    return b_.CreateInBoundsGEP(b_.getInt8Ty(), table, b_.CreateMul(index, b_.getInt64(bytes)));
  };
  BasicBlock* look = block("look");
  BasicBlock* taken = block("taken");
  BasicBlock* free = block("free");
  BasicBlock* next = block("next_slot");
  BasicBlock* found = block("entry");
  Value* const first = entry_at(place);
  Value* const is_first = holds(b_, first, key, shape.is_shared);
  BasicBlock* const from = b_.GetInsertBlock();
  branch(is_first, found, look, Likely::First);

  // Looks at one slot, which holds another key or none.
  start(look);
  llvm::PHINode* const entry = b_.CreatePHI(b_.getPtrTy(), 2);
  llvm::PHINode* const tries = b_.CreatePHI(b_.getInt64Ty(), 2);
  entry->addIncoming(first, from);
  tries->addIncoming(b_.getInt64(1), from);
  branch(b_.CreateICmpEQ(table_word(b_, entry, key.size()), b_.getInt64(0)), free, taken);
  start(free);
  if (shape.is_shared) claim(word_at(b_, entry, key.size()), taken);
  for (std::size_t i = 0; i < key.size(); ++i)
    b_.CreateAlignedStore(key[i], word_at(b_, entry, i), llvm::Align(kWordBytes), true);
  if (shape.is_shared)
    b_.CreateAlignedStore(b_.getInt64(KEVT_HIT_THERE), word_at(b_, entry, key.size()), llvm::Align(kWordBytes), true);
  BasicBlock* const made = b_.GetInsertBlock();
  go(found);
  start(taken);
  branch(b_.CreateICmpULT(tries, b_.getInt64(KEVT_HIT_PROBES)), next, full);
  start(next);
  Value* const is_near = b_.CreateICmpULT(tries, b_.getInt64(KEVT_HIT_NEAR_PROBES));
  Value* const from_place = b_.CreateSelect(is_near, place, place_among(slots));
  Value* const last = b_.CreateSelect(is_near, b_.getInt64(near_slots - 1), b_.getInt64(slots - 1));
  Value* index = b_.CreateAnd(b_.CreateAdd(from_place, tries), last);
  // The key's near slots are taken by then. Places that lie in the near part, which is soon full, stand for others.
  if (near_slots < slots) {
    KEVT_ASSERT(near_slots <= slots / 2);
    Value* const is_taken = b_.CreateAnd(b_.CreateNot(is_near), b_.CreateICmpULT(index, b_.getInt64(near_slots)));
    index = b_.CreateSelect(is_taken, b_.CreateOr(index, b_.getInt64(slots / 2)), index);
  }
  Value* const behind = entry_at(index);
  entry->addIncoming(behind, next);
  tries->addIncoming(b_.CreateAdd(tries, b_.getInt64(1)), next);
  b_.CreateCondBr(holds(b_, behind, key, shape.is_shared), found, look);

  start(found);
  llvm::PHINode* const result = b_.CreatePHI(b_.getPtrTy(), 3);
  result->addIncoming(first, from);
  result->addIncoming(entry, made);
  result->addIncoming(behind, next);
  return result;
}

// The count is increased last: a reader that sees the count grow sees the key, too.
void EventEmitter::count_in(const ir::Aggregate& aggregate, Value* entry) {
  const std::size_t count = ir::key_words(program_, aggregate);
  for (std::size_t i = 0; i < aggregate.sums.size(); ++i) {
    const ir::Measured& number = aggregate.sums[i];
    Value* const word = word_at(b_, entry, count + 1 + i);
    if (number.kept == model::Kept::Sum)
      hooks_.add(b_, word, measured(number));
    else
      hooks_.raise(b_, word, b_.CreateXor(measured(number), b_.getInt64(model::encoded_for(number.kept))));
  }
  hooks_.add_one(b_, word_at(b_, entry, count));
}

void EventEmitter::emit_aggregates(std::uint32_t sink, BasicBlock* next, BasicBlock* filtered, BasicBlock* recorded) {
  std::vector<llvm::AllocaInst*> entries;
  for (const ir::Aggregate& aggregate : program_.aggregates) {
    BasicBlock* done = block("looked_up");
    entries.push_back(local(b_.getPtrTy(), "entry"));
    b_.CreateStore(llvm::ConstantPointerNull::get(b_.getPtrTy()), entries.back());
    if (aggregate.condition) {
      BasicBlock* met = block("met");
      condition(*aggregate.condition, met, program_.aggregates.size() == 1 ? filtered : done);
      start(met);
    }
    // The sums' values are fetched before the search: they may be read from memory, too.
    for (const ir::Measured& number : aggregate.sums) (void)integer(number.value);
    b_.CreateStore(find_entry(aggregate, recorded), entries.back());
    go(done);
    start(done);
  }
  Value* any = b_.getFalse();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const ir::Aggregate& aggregate = program_.aggregates[i];
    Value* const entry = b_.CreateLoad(b_.getPtrTy(), entries[i]);
    if (!aggregate.condition || entries.size() == 1) {
      count_in(aggregate, entry);
      any = b_.getTrue();
      continue;
    }
    BasicBlock* counts = block("counts");
    BasicBlock* counted = block("counted");
    any = b_.CreateOr(any, b_.CreateIsNotNull(entry));
    branch(b_.CreateIsNotNull(entry), counts, counted);
    start(counts);
    count_in(aggregate, entry);
    go(counted);
    start(counted);
  }
  BasicBlock* aggregated = block("aggregated");
  branch(any, aggregated, filtered);
  start(aggregated);
  hooks_.count(b_, Counter::Aggregated, sink);
  go(next);
}

}  // namespace kevt::codegen

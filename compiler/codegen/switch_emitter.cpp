// Words that a hit reads and changes for other events (gates and actions of triggers), before and behind its sinks:
//
//   for each early gate:  open = word != 0
//   for each action:      condition? ─► left > 0? ─► word is another? ─► exchange ─► it changed: left -= 1
//                                   └── late: due = 1
//   for each gate:        open, or word != 0, else filtered
//   …the sinks…
//   for each late action: due? ─► left > 0? ─► …
//
// A word that already has an action's value is only read: hits of several CPUs then share its cache line.
#include "compiler/codegen/event_emitter.h"

namespace kevt::codegen {

using llvm::BasicBlock;
using llvm::Value;

namespace {

Value* read_word(llvm::IRBuilder<>& b, Value* word) {
  return b.CreateAlignedLoad(b.getInt64Ty(), word, llvm::Align(8), true);
}

}  // namespace

Value* EventEmitter::is_open(std::uint32_t word) {
  return b_.CreateICmpNE(read_word(b_, hooks_.shared_cell(b_, word)), b_.getInt64(0));
}

void EventEmitter::read_early_gates() {
  for (const ir::Gate& gate : program_.gates) {
    if (!gate.early) continue;
    early_[&gate] = is_open(gate.word);
    if (gate.early_while) is_early_[&gate] = is_open(*gate.early_while);
  }
}

// Code of an event that was removed acts no longer, wherever it still runs: in a call under way, in a forked child.
void EventEmitter::emit_actions() {
  if (program_.actions.empty()) return;
  for (const ir::Action& action : program_.actions) {
    if (!action.late) continue;
    due_[&action] = local(b_.getInt1Ty(), "due");
    b_.CreateStore(b_.getFalse(), due_[&action]);
  }
  BasicBlock* in_use = block("in_use");
  BasicBlock* done = block("acted_all");
  branch(hooks_.gate(b_, 0), in_use, done);
  start(in_use);
  for (const ir::Action& action : program_.actions) {
    BasicBlock* next = block("acted");
    if (action.condition) {
      BasicBlock* met = block("met");
      condition(*action.condition, met, next);
      start(met);
    }
    if (action.late) {
      b_.CreateStore(b_.getTrue(), due_[&action]);
      go(next);
    } else {
      emit_action(action, next);
    }
    start(next);
  }
  go(done);
  start(done);
}

void EventEmitter::emit_late_actions() {
  for (const auto& [action, due] : due_) {
    BasicBlock* act = block("late");
    BasicBlock* next = block("acted");
    branch(b_.CreateLoad(b_.getInt1Ty(), due), act, next);
    start(act);
    emit_action(*action, next);
    start(next);
  }
}

void EventEmitter::emit_action(const ir::Action& action, BasicBlock* next) {
  Value* left = action.left ? hooks_.shared_cell(b_, *action.left) : nullptr;
  if (left) {
    BasicBlock* may_act = block("may_act");
    branch(b_.CreateICmpSGT(read_word(b_, left), b_.getInt64(0)), may_act, next);
    start(may_act);
  }
  Value* word = hooks_.shared_cell(b_, action.word);
  Value* wanted = b_.getInt64(action.on ? 1 : 0);
  BasicBlock* differs = block("differs");
  branch(b_.CreateICmpNE(read_word(b_, word), wanted), differs, next);
  start(differs);
  using Operation = llvm::AtomicRMWInst;
  const auto change = [&](Operation::BinOp operation, Value* at, Value* operand) {
    return b_.CreateAtomicRMW(operation, at, operand, llvm::Align(8), llvm::AtomicOrdering::SequentiallyConsistent);
  };
  Value* before = change(Operation::Xchg, word, wanted);
  if (!left) return go(next);
  BasicBlock* changed = block("changed");
  branch(b_.CreateICmpNE(before, wanted), changed, next);  // another hit may have been first
  start(changed);
  change(Operation::Add, left, b_.getInt64(~0ull));
  go(next);
}

// i1: whether all gates are open.
Value* EventEmitter::gates_are_open() {
  Value* all = b_.getTrue();
  for (const ir::Gate& gate : program_.gates) {
    Value* open = gate.early && !gate.early_while ? early_.at(&gate) : is_open(gate.word);
    if (gate.early_while) open = b_.CreateSelect(is_early_.at(&gate), early_.at(&gate), open);
    all = b_.CreateAnd(all, open);
  }
  return all;
}

Value* EventEmitter::common_word() {
  Value* id = hooks_.event_id(b_);
  const std::uint64_t flags = ir::record_flags(program_);
  return flags ? b_.CreateOr(id, b_.getInt64(flags << 16)) : id;
}

}  // namespace kevt::codegen

// Memory of a program that is not resident: a constant nobody has read yet, a page that was given back.
//
// The kernel's own uprobes wait for it, so ours do: their programs may sleep, and read numbers by bpf_copy_from_user().
// A string has no such helper before 6.12. It is read without waiting; where that fails its page is made resident by
// reading one byte of it, and where it then still fails the string goes on in the next page:
//
//   read_str(waste, 4096, a) < 0  ─►  copy(a, 1 byte)  ─►  read_str(waste, 4096, a) < 0  ─►  copy(end of a's page, 1
//   byte)
//
// No page is asked for behind the one that holds the NUL. Problem: whoever sleeps with the CPU's scratch, or with room
// in its ring, keeps all other threads from both. So all that a hit may read is read in first, without either, and read
// again for the record. What is taken away in between is (fault) as a string.
#include "common/abi/bpf.h"
#include "compiler/codegen/bpf_emitter.h"
#include "compiler/codegen/bpf_helpers.h"

namespace kevt::codegen {

using ir::Op;
using ir::StoreKind;
using llvm::BasicBlock;
using llvm::Value;

// ---- hooks ----------------------------------------------------------------------------------

// At both ends: what is read is shorter than a page.
void BpfHooks::read_in(llvm::IRBuilder<>& b, Value* address, std::uint32_t bytes, Value* bad) {
  Value* from = unless(b, address, bad);
  if (bytes <= 8) {
    helper(b, kCopyFromUser, {word_, b.getInt32(bytes), from});
    return;
  }
  helper(b, kCopyFromUser, {word_, b.getInt32(1), from});
  helper(b, kCopyFromUser, {word_, b.getInt32(1), b.CreateAdd(from, b.getInt64(bytes - 1))});
}

// Where the ways meet again the verifier has to find the same state: nothing of them is kept.
void BpfHooks::read_text_in(llvm::IRBuilder<>& b, Value* address, Value* bad) {
  constexpr std::uint64_t kPage = 4096;
  Value* from = unless(b, address, bad);
  Value* waste = at(b, scratch_, layout_.scratch_bytes - KEVT_BPF_TEXT_BYTES);
  const auto is_there = [&](const char* name) {
    Value* length = helper(b, kProbeReadUserStr, {waste, b.getInt32(KEVT_BPF_TEXT_BYTES), from});
    BasicBlock* absent = block(name);
    return std::pair(b.CreateICmpSLT(length, b.getInt64(0)), absent);
  };
  BasicBlock* done = block("resident");
  for (const bool first : {true, false}) {
    const auto [missing, absent] = is_there(first ? "absent" : "goes_on");
    b.CreateCondBr(missing, absent, done);
    b.SetInsertPoint(absent);
    Value* page = first ? from : b.CreateAnd(b.CreateAdd(from, b.getInt64(kPage)), b.getInt64(~(kPage - 1)));
    helper(b, kCopyFromUser, {word_, b.getInt32(1), page});
  }
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

void BpfHooks::claim_scratch(llvm::IRBuilder<>& b) {
  if (!scratch_ || !may_sleep()) return;
  Value* in_use = at(b, scratch_, offsetof(kevt_bpf_scratch, in_use));
  Value* before = b.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, in_use, b.getInt64(1), llvm::Align(8),
                                    llvm::AtomicOrdering::SequentiallyConsistent);
  miss_where(b, b.CreateIsNotNull(before));
}

// ---- the emitter ----------------------------------------------------------------------------

// While something is read in, numbers on the way to it are fetched each time: kept ones would fill the stack.
Value* BpfEmitter::loaded(ir::ValueId id) {
  if (!is_reading_in_) return EventEmitter::loaded(id);
  if (const auto known = passed_.find(id); known != passed_.end()) return known->second.value;
  const ir::Value& value = program_.values[id];
  Value* address = address_of(value.a, value_constant(id));
  const BpfHooks::Source from{address, BpfHooks::memory(value.from_user)};
  return passed_.emplace(id, bpf_.read_uncounted(b_, from, value.bytes, bad(value.a))).first->second.value;
}

void BpfEmitter::read_in(const ir::Store& store) {
  Value* of_base = bad(store.value);
  Value* base = address_of(store.value, EventEmitter::store_constant(store));
  if (store.kind == StoreKind::IntegerArray) return bpf_.read_in(b_, base, store.count * store.bytes, of_base);
  const Loop loop = begin_loop(store.count);
  Value* item = b_.CreateAdd(base, b_.CreateShl(loop.index, b_.getInt64(3)));
  const BpfHooks::Source from{item, BpfHooks::memory(store.from_user)};
  const BpfHooks::Read pointer = bpf_.read_uncounted(b_, from, 8, of_base);
  bpf_.read_text_in(b_, pointer.value, pointer.bad);
  end_loop(loop);
}

void BpfEmitter::prepare() {
  if (!model::may_sleep(context_)) return;
  is_reading_in_ = true;
  for (ir::ValueId id = 0; id < program_.values.size(); ++id) {
    const ir::Value& value = program_.values[id];
    passed_.clear();
    if (value.op == Op::Load) loaded(id);
    if (value.op == Op::String) bpf_.read_text_in(b_, address_of(value.a, value_constant(id)), bad(value.a));
  }
  for (const ir::Store& store : program_.stores) {
    passed_.clear();
    if (store.kind == StoreKind::IntegerArray || store.kind == StoreKind::TextArray) read_in(store);
  }
  is_reading_in_ = false;
  bpf_.claim_scratch(b_);
}

}  // namespace kevt::codegen

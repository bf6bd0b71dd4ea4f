// Memory of a user program that is not resident: a constant that nobody has read yet, a page that was given back.
//
// The kernel's own uprobes wait for such memory, so ours do, too: their BPF programs may sleep, and read numbers with
// bpf_copy_from_user(). For strings there is no such helper before 6.12. A string is read without waiting; if that
// fails, its page is made resident by reading one byte of it; if it still fails, the string goes on in the next page:
//
//   read_str(waste, 4096, a) < 0  ─►  copy(a, 1 byte)  ─►  read_str(waste, 4096, a) < 0  ─►  copy(end of a's page, 1
//   byte)
//
// No page behind the one that holds the NUL is asked for. Problem: a program that sleeps while it has the CPU's
// scratch, or room in the CPU's ring, keeps all other threads from them. So all memory that a hit may read is made
// resident first, while the hit has neither, and is read again for the record. A string whose page is taken away in
// between is (fault).
#include "common/abi/bpf.h"
#include "compiler/codegen/bpf_emitter.h"
#include "compiler/codegen/bpf_helpers.h"

namespace kevt::codegen {

using ir::Op;
using ir::StoreKind;
using llvm::BasicBlock;
using llvm::Value;

// ---- hooks ----------------------------------------------------------------------------------

// Reads a byte at both ends, which is enough: the memory is shorter than a page.
void BpfHooks::read_in(llvm::IRBuilder<>& b, Value* address, Value* bytes, Value* bad) {
  Value* from = unless(b, address, bad);
  helper(b, kCopyFromUser, {word_, b.getInt32(1), from});
  helper(b, kCopyFromUser, {word_, b.getInt32(1), b.CreateAdd(from, b.CreateSub(bytes, b.getInt64(1)))});
}

// Keeps no value of the paths: where they meet again, the verifier must find the same state.
void BpfHooks::read_text_in(llvm::IRBuilder<>& b, Value* address, Value* bad) {
  constexpr std::uint64_t kPage = 4096;
  Value* from = unless(b, address, bad);
  Value* waste = at(b, scratches_, layout_.scratch_bytes - KEVT_BPF_TEXT_BYTES);
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

// Takes the first free scratch; a preempted program keeps its own for a while. The verifier must not learn which one
// was taken: it would walk the rest of the program for each of them.
void BpfHooks::claim_scratch(llvm::IRBuilder<>& b) {
  if (!scratches_ || !may_sleep()) return;
  const auto take = [&](std::uint32_t index, llvm::AtomicRMWInst::BinOp how, Value* wanted) -> Value* {
    Value* in_use = at(b, scratches_, std::uint64_t{index} * one_scratch_ + offsetof(kevt_bpf_scratch, in_use));
    return b.CreateAtomicRMW(how, in_use, wanted, llvm::Align(8), llvm::AtomicOrdering::SequentiallyConsistent);
  };
  BasicBlock* first = block("first");
  BasicBlock* others = block("others");
  BasicBlock* taken = block("taken");
  b.CreateCondBr(b.CreateIsNull(take(0, llvm::AtomicRMWInst::Xchg, b.getInt64(1))), first, others);

  b.SetInsertPoint(first);
  Value* always_0 = at(b, scratches_, offsetof(kevt_bpf_scratch, always_0));
  Value* none = b.CreateAlignedLoad(b.getInt64Ty(), always_0, llvm::Align(8), true);
  Value* index_0 = b.CreateAnd(opaque(b, none), b.getInt64(KEVT_BPF_SCRATCHES - 1));
  b.CreateBr(taken);

  b.SetInsertPoint(others);
  Value* wanted = b.getInt64(1);  // 0: the hit has a scratch
  Value* index = b.getInt64(0);
  for (std::uint32_t i = 1; i < KEVT_BPF_SCRATCHES; ++i) {
    Value* had = opaque(b, b.CreateAnd(take(i, llvm::AtomicRMWInst::Or, wanted), b.getInt64(1)));
    Value* ours = b.CreateAnd(wanted, b.CreateXor(had, b.getInt64(1)));
    index = b.CreateOr(index, b.CreateMul(opaque(b, ours), b.getInt64(i)));
    wanted = opaque(b, b.CreateAnd(wanted, had));
  }
  miss_where(b, b.CreateIsNotNull(wanted));
  Value* index_of_other = b.CreateAnd(opaque(b, index), b.getInt64(KEVT_BPF_SCRATCHES - 1));
  BasicBlock* other = b.GetInsertBlock();
  b.CreateBr(taken);

  b.SetInsertPoint(taken);
  llvm::PHINode* which = b.CreatePHI(b.getInt64Ty(), 2);
  which->addIncoming(index_0, first);
  which->addIncoming(index_of_other, other);
  scratch_ = at(b, scratches_, b.CreateMul(opaque(b, which), b.getInt64(one_scratch_)));
}

// ---- the emitter ----------------------------------------------------------------------------

// While memory is read in, numbers on the way to it are fetched each time: keeping them would fill the stack.
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
  if (store.kind == StoreKind::IntegerArray)
    return bpf_.read_in(b_, base, b_.getInt64(store.count * store.bytes), of_base);
  if (store.kind == StoreKind::CountedArray)
    return bpf_.read_in(b_, base, counted_bytes(store, base), b_.CreateOr(of_base, bad(store.length)));
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
    if (ir::reads_text(value.op)) bpf_.read_text_in(b_, address_of(value.a, value_constant(id)), bad(value.a));
  }
  for (const ir::Store& store : program_.stores) {
    passed_.clear();
    if (ir::is_array(store.kind)) read_in(store);
  }
  is_reading_in_ = false;
  bpf_.claim_scratch(b_);
}

}  // namespace kevt::codegen

// Room for a record in the ring of the CPU: one attempt here; if another writer came first, the agent goes on trying.
//
// The place is noted in the thread before it is taken: if a signal handler jumps out of this hit right behind the
// cmpxchg, the agent can still find the reservation (agent/thread.c).
#include <llvm/IR/Intrinsics.h>

#include <cstddef>

#include "common/abi/probe.h"
#include "compiler/codegen/native_hooks.h"

namespace kevt::codegen {

using llvm::BasicBlock;
using llvm::Value;

namespace {
constexpr std::uint64_t kPrefetchDistance = 512;  // bytes ahead in the ring
}

Value* NativeHooks::reserve(llvm::IRBuilder<>& b, Value* size, BasicBlock* full) {
  BasicBlock* room = block("room");
  BasicBlock* again = block("again");
  BasicBlock* reserved = block("reserved");
  Value* wide = b.CreateZExt(size, b.getInt64Ty());
  Value* bytes =
      b.CreateAnd(b.CreateAdd(wide, b.getInt64(sizeof(kevt_record) + KEVT_RECORD_SLACK + 7)), b.getInt64(~7ull));
  Value* ring = b.CreateInBoundsGEP(b.getInt8Ty(), read_pointer(b, event_, offsetof(kevt_event, rings)),
                                    b.CreateMul(cpu(b), read(b, event_, offsetof(kevt_event, ring_stride), 64)));
  Value* head = b.CreateLoad(b.getInt64Ty(), field(b, ring, offsetof(kevt_ring, head)), true);
  Value* limit = b.CreateLoad(b.getInt64Ty(), field(b, ring, offsetof(kevt_ring, limit)), true);
  Value* end = b.CreateAdd(head, bytes);
  expect(b.CreateCondBr(b.CreateICmpULE(end, limit), room, full), 0);

  b.SetInsertPoint(room);
  Value* offset = b.CreateAnd(head, read(b, event_, offsetof(kevt_event, ring_mask), 64));
  Value* first = b.CreateInBoundsGEP(b.getInt8Ty(), field(b, ring, KEVT_RING_HEADER), offset);
  Value* mark_at = b.CreateConstGEP1_64(b.getInt8Ty(), ring, KEVT_RING_MARK);
  Value* mark = b.CreateOr(b.CreateLoad(b.getInt64Ty(), mark_at), wide);
  Value* word = b.CreateOr(b.CreateShl(head, b.getInt64(KEVT_RECORD_TAG_SHIFT - 3)), mark);
  write(b, word, thread_, offsetof(kevt_thread, open_word));
  Value* pair = b.CreateAtomicCmpXchg(field(b, ring, offsetof(kevt_ring, head)), head, end, llvm::MaybeAlign(8),
                                      llvm::AtomicOrdering::AcquireRelease, llvm::AtomicOrdering::Monotonic);
  BasicBlock* tried = b.GetInsertBlock();
  expect(b.CreateCondBr(b.CreateExtractValue(pair, 1), reserved, again), 0);

  b.SetInsertPoint(again);
  Value* later = service(b, offsetof(kevt_services, reserve), b.getPtrTy(), {thread_, ring, wide});
  expect(b.CreateCondBr(b.CreateIsNull(later), full, reserved), 1);

  b.SetInsertPoint(reserved);
  llvm::PHINode* record = b.CreatePHI(b.getPtrTy(), 2);
  record->addIncoming(first, tried);
  record->addIncoming(later, again);
  record_ = record;
  Value* tsc = read_time(b);
  // The reader has had these lines; taking them back early keeps the next reservation's lock short.
  Value* ahead = field(b, record_, kPrefetchDistance);
  b.CreateIntrinsic(llvm::Intrinsic::prefetch, {b.getPtrTy()}, {ahead, b.getInt32(1), b.getInt32(3), b.getInt32(1)});
  b.CreateStore(tsc, field(b, record_, offsetof(kevt_record, tsc)));
  return field(b, record_, sizeof(kevt_record));
}

// Where rdtsc is forbidden (prctl(PR_SET_TSC)) the agent reads the time.
Value* NativeHooks::read_time(llvm::IRBuilder<>& b) {
  BasicBlock* forbidden = block("forbidden");
  BasicBlock* timed = block("timed");
  const char* text =
      "1: rdtsc\n"
      "shlq $$32, %rdx\n"
      "orq %rdx, %rax\n"
      ".pushsection kevt_faults,\"a\",@progbits\n"
      ".long 1b - .\n.long ${1:l} - .\n.popsection";
  Value* own = branching_asm(b, b.getInt64Ty(), text, "=&{ax},!i,~{dx},~{flags}", {}, forbidden);
  BasicBlock* from = b.GetInsertBlock();
  b.CreateBr(timed);
  b.SetInsertPoint(forbidden);
  Value* asked = service(b, offsetof(kevt_services, time), b.getInt64Ty(), {});
  b.CreateBr(timed);
  b.SetInsertPoint(timed);
  llvm::PHINode* tsc = b.CreatePHI(b.getInt64Ty(), 2);
  tsc->addIncoming(own, from);
  tsc->addIncoming(asked, forbidden);
  return tsc;
}

// The word is read back from memory: a load costs less than a register that is kept until here.
void NativeHooks::commit(llvm::IRBuilder<>& b) {
  Value* word = b.CreateLoad(b.getInt64Ty(), field(b, thread_, offsetof(kevt_thread, open_word)), true);
  llvm::StoreInst* store = b.CreateStore(word, field(b, record_, offsetof(kevt_record, word)));
  store->setAtomic(llvm::AtomicOrdering::Release);
  store->setAlignment(llvm::Align(8));
}

}  // namespace kevt::codegen

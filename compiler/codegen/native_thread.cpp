// The hitting thread, the guard against hits inside a hit, and return addresses.
//
// A thread's %gs points to its kevt_self once it has hit. Threads inherit %gs and fork wipes kevt_self, so one compare
// with the thread pointer decides:
//
//   movq %fs:0, %r; cmpq %gs:0, %r; jne unknown; movq %gs:8, %r       faults (to `unknown`) where %fs or %gs is 0
//
// Return events first take the return address out of the newest instance and put it back into its slot on the stack:
// the function must return even if the hit is missed.
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>

#include <cstddef>

#include "common/abi/probe.h"
#include "compiler/codegen/native_hooks.h"

namespace kevt::codegen {

using llvm::BasicBlock;
using llvm::Value;

// The address of the thread's kevt_thread, as %gs tells it; goes to `unknown` if %gs is not the thread's own.
Value* NativeHooks::own_thread(llvm::IRBuilder<>& b, BasicBlock* unknown) {
  static_assert(offsetof(kevt_self, thread_pointer) == 0 && offsetof(kevt_self, thread) == 8);
  const char* text =
      "1: movq %fs:0, $0\n"
      "2: cmpq %gs:0, $0\n"
      "jne ${1:l}\n"
      "movq %gs:8, $0\n"
      ".pushsection kevt_faults,\"a\",@progbits\n"
      ".long 1b - .\n.long ${1:l} - .\n"
      ".long 2b - .\n.long ${1:l} - .\n.popsection";
  return branching_asm(b, b.getPtrTy(), text, "=&r,!i,~{flags}", {}, unknown);
}

// Joins two ways to find the thread in block `found`: `known`, from block `from`, or the agent's answer, from
// `unknown`. Leaves the builder in `found`.
void NativeHooks::see_thread(llvm::IRBuilder<>& b, Value* known, BasicBlock* from, BasicBlock* found,
                             BasicBlock* unknown) {
  b.SetInsertPoint(unknown);
  Value* looked_up = service(b, offsetof(kevt_services, thread), b.getPtrTy(), {event_});
  expect(b.CreateCondBr(b.CreateIsNull(looked_up), out_, found), 1);
  b.SetInsertPoint(found);
  llvm::PHINode* thread = b.CreatePHI(b.getPtrTy(), 2);
  thread->addIncoming(known, from);
  thread->addIncoming(looked_up, unknown);
  thread_ = thread;
}

void NativeHooks::find_thread(llvm::IRBuilder<>& b) {
  BasicBlock* unknown = block("unknown");
  BasicBlock* found = block("found");
  Value* known = own_thread(b, unknown);
  BasicBlock* from = b.GetInsertBlock();
  b.CreateBr(found);
  see_thread(b, known, from, found, unknown);
}

void NativeHooks::take_return_address(llvm::IRBuilder<>& b) {
  BasicBlock* slowly = block("slowly");
  BasicBlock* same = block("same");
  BasicBlock* ours = block("ours");
  BasicBlock* found = block("found");
  Value* slot = return_slot(b);
  Value* thread = own_thread(b, slowly);
  // If no instance is in use, `pending` lies at that place: a few low bits, which equal no slot.
  static_assert(sizeof(kevt_return_instance) == 32 &&
                offsetof(kevt_thread, pending) == offsetof(kevt_thread, instances) - sizeof(kevt_return_instance));
  Value* depth = read(b, thread, offsetof(kevt_thread, depth), 64);
  Value* before = b.CreateInBoundsGEP(b.getInt8Ty(), thread, b.CreateShl(depth, b.getInt64(5)));
  Value* newest = field(b, before, offsetof(kevt_thread, instances) - sizeof(kevt_return_instance));
  Value* its_slot = read(b, newest, offsetof(kevt_return_instance, slot), 64);
  expect(b.CreateCondBr(b.CreateICmpEQ(its_slot, b.CreatePtrToInt(slot, b.getInt64Ty())), same, slowly), 0);
  b.SetInsertPoint(same);
  static_assert(KEVT_INSTANCE_SPECIAL == 1ull << 63);
  Value* return_address = read(b, newest, offsetof(kevt_return_instance, return_address), 64);
  expect(b.CreateCondBr(b.CreateICmpSGE(return_address, b.getInt64(0)), ours, slowly), 0);

  b.SetInsertPoint(ours);
  // The order matters: if a signal handler jumps away in between, no instance looks like a call that is under way.
  change(b, "decq $0", thread, offsetof(kevt_thread, depth));
  write(b, b.getInt64(0), newest, offsetof(kevt_return_instance, slot));
  b.CreateStore(return_address, slot, true);
  b.CreateBr(found);

  b.SetInsertPoint(slowly);
  Value* shown_slowly = service(b, offsetof(kevt_services, leave), b.getInt64Ty(), {event_, slot});
  BasicBlock* unknown = block("unknown");
  b.CreateBr(unknown);
  see_thread(b, thread, ours, found, unknown);
  llvm::PHINode* either = b.CreatePHI(b.getInt64Ty(), 2);
  either->addIncoming(return_address, ours);
  either->addIncoming(shown_slowly, unknown);
  return_address_ = either;
}

void NativeHooks::take_guard(llvm::IRBuilder<>& b) {
  BasicBlock* guarded = block("guarded");
  BasicBlock* free = block("free");
  Value* guard = read(b, thread_, offsetof(kevt_thread, guard), 64);
  expect(b.CreateCondBr(b.CreateIsNull(guard), free, guarded), 0);
  b.SetInsertPoint(guarded);
  Value* stale = service(b, offsetof(kevt_services, guarded), b.getInt32Ty(), {event_, thread_, frame(b, 0)});
  b.CreateCondBr(b.CreateIsNull(stale), out_, free);
  b.SetInsertPoint(free);
  write(b, frame(b, 0), thread_, offsetof(kevt_thread, guard));
}

void NativeHooks::begin(llvm::IRBuilder<>& b, std::uint32_t sinks) {
  if (is_return_) {
    take_return_address(b);
  } else {
    find_thread(b);
  }
  take_guard(b);
  for (std::uint32_t i = 0; i < sinks; ++i) count_at(b, i * sizeof(kevt_counts) + offsetof(kevt_counts, hits));
}

void NativeHooks::finish(llvm::IRBuilder<>& b) {
  write(b, b.getInt64(0), thread_, offsetof(kevt_thread, guard));
  b.CreateBr(out_);
}

}  // namespace kevt::codegen

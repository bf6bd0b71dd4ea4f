// Strings of the program under trace. Up to 16 bytes with the NUL are measured and copied in place by one vector
// register, the program's own content of which waits in the thread's struct meanwhile; LLVM knows of no vector
// registers here. Legacy SSE instructions keep the upper halves of wider registers.
//
//   movups %xmm0, save;  movdqu (text), %xmm0  ─ may fault ─►  the agent
//   pcmpeqb zeros, %xmm0;  pmovmskb %xmm0, mask;  movups save, %xmm0
//
// The 16 bytes may reach into a page that is not there, while the string does not: the agent looks then, too.
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>

#include <cstddef>

#include "common/abi/probe.h"
#include "compiler/codegen/native_hooks.h"

namespace kevt::codegen {

using llvm::BasicBlock;
using llvm::Value;

namespace {

constexpr unsigned kInPlace = 16;  // bytes
static_assert(KEVT_RECORD_SLACK >= kInPlace - 1);

llvm::GlobalVariable* zeros(llvm::Module& module) {
  if (llvm::GlobalVariable* known = module.getNamedGlobal("zeros")) return known;
  auto* type = llvm::ArrayType::get(llvm::Type::getInt8Ty(module.getContext()), kInPlace);
  auto* made = new llvm::GlobalVariable(module, type, true, llvm::GlobalValue::ExternalLinkage,
                                        llvm::ConstantAggregateZero::get(type), "zeros");
  made->setAlignment(llvm::Align(kInPlace));
  made->setDSOLocal(true);
  return made;
}

}  // namespace

Value* NativeHooks::scratch(llvm::IRBuilder<>& b, std::uint32_t index) {
  return field(b, thread_, offsetof(kevt_thread, texts) + std::uint64_t{index} * KEVT_TEXT_BYTES);
}
Value* NativeHooks::text_fetch(llvm::IRBuilder<>& b, Value* to, Value* address) {
  return service(b, offsetof(kevt_services, text_fetch), b.getInt32Ty(), {to, address});
}

Value* NativeHooks::text_length(llvm::IRBuilder<>& b, Value* address) {
  BasicBlock* ended = block("ended");
  BasicBlock* slow = block("long");
  BasicBlock* known = block("measured");
  const char* text =
      "movups %xmm0, $1\n"
      "1: movdqu $2, %xmm0\n"
      "pcmpeqb $3, %xmm0\n"
      "pmovmskb %xmm0, ${0:k}\n"
      "movups $1, %xmm0\n"
      ".pushsection kevt_faults,\"a\",@progbits\n"
      ".long 1b - .\n.long ${4:l} - .\n.popsection";
  Value* mask = branching_asm(
      b, b.getInt32Ty(), text, "=r,*m,*m,*m,!i,~{dirflag},~{fpsr},~{flags}",
      {field(b, thread_, offsetof(kevt_thread, vector)), b.CreateIntToPtr(address, b.getPtrTy()), zeros(module_)},
      slow);
  expect(b.CreateCondBr(b.CreateIsNull(mask), slow, ended), 1);

  b.SetInsertPoint(ended);
  Value* last = b.CreateIntrinsic(llvm::Intrinsic::cttz, {b.getInt32Ty()}, {mask, b.getTrue()});
  Value* length = b.CreateAdd(last, b.getInt32(1));
  b.CreateBr(known);

  b.SetInsertPoint(slow);
  Value* by_agent = service(b, offsetof(kevt_services, text_length), b.getInt32Ty(), {address});
  b.CreateBr(known);
  b.SetInsertPoint(known);
  llvm::PHINode* either = b.CreatePHI(b.getInt32Ty(), 2, "length");
  either->addIncoming(length, ended);
  either->addIncoming(by_agent, slow);
  return either;
}

// What stands behind a short string is overwritten by the next one or lies in the record's slack.
Value* NativeHooks::text_copy(llvm::IRBuilder<>& b, Value* to, Value* address, Value* length) {
  BasicBlock* near = block("near");
  BasicBlock* slow = block("long");
  BasicBlock* done = block("copied");
  expect(b.CreateCondBr(b.CreateICmpULE(length, b.getInt32(kInPlace)), near, slow), 0);

  b.SetInsertPoint(near);
  const char* text =
      "movups %xmm0, $0\n"
      "1: movdqu $1, %xmm0\n"
      "movdqu %xmm0, $2\n"
      "movups $0, %xmm0\n"
      ".pushsection kevt_faults,\"a\",@progbits\n"
      ".long 1b - .\n.long ${3:l} - .\n.popsection";
  branching_asm(b, b.getVoidTy(), text, "*m,*m,*m,!i,~{memory},~{dirflag},~{fpsr},~{flags}",
                {field(b, thread_, offsetof(kevt_thread, vector)), b.CreateIntToPtr(address, b.getPtrTy()), to}, slow);
  Value* wide = b.CreateZExt(length, b.getInt64Ty());
  Value* last = b.CreateInBoundsGEP(b.getInt8Ty(), to, b.CreateSub(wide, b.getInt64(1)));
  b.CreateStore(b.getInt8(0), last);  // it may have grown since it was measured
  BasicBlock* copied = b.GetInsertBlock();
  b.CreateBr(done);

  b.SetInsertPoint(slow);
  Value* by_agent = service(b, offsetof(kevt_services, text_copy), b.getInt32Ty(), {to, address, length});
  b.CreateBr(done);
  b.SetInsertPoint(done);
  llvm::PHINode* written = b.CreatePHI(b.getInt32Ty(), 2);
  written->addIncoming(length, copied);
  written->addIncoming(by_agent, slow);
  return written;
}

Value* NativeHooks::comm(llvm::IRBuilder<>& b, Value* to) {
  return service(b, offsetof(kevt_services, comm), b.getInt32Ty(), {to});
}

Value* NativeHooks::match(llvm::IRBuilder<>& b, model::GlobKind kind, Value* pattern, std::uint32_t length, Value* text,
                          Value* text_length) {
  Value* matched =
      service(b, offsetof(kevt_services, match), b.getInt32Ty(),
              {b.getInt32(static_cast<std::uint32_t>(kind)), pattern, b.getInt32(length), text, text_length});
  return b.CreateIsNotNull(matched);
}

}  // namespace kevt::codegen

// The native half of an extractor. In the order a hit runs it:
//
//   movq %fs:0 ─► index ─► thread (tp and check word agree, else the agent's slow path)
//   row = thread.counts + event.row_offset;  incq hits
//   guard set? the agent decides: stale (go on) or nested (missed)
//   …the event's own code…
//   guard = 0
//
// Counters are this thread's own: one incq each, no lock, exact even when a signal handler hits
// the same event in between. Loads that may fault are inline assembly with a second way out
// (callbr) and an entry in the section kevt_faults: the fast path pays nothing for safety.
#include "compiler/codegen/native_hooks.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <cstddef>

#include "common/abi/probe.h"
#include "common/assert.h"

namespace kevt::codegen {

using llvm::BasicBlock;
using llvm::Value;

namespace {

constexpr unsigned kFsAddressSpace = 257;  // x86: %fs-relative

Value* inline_asm(llvm::IRBuilder<>& b, llvm::Type* result, const char* text, const char* constraints,
                  std::initializer_list<Value*> arguments) {
  std::vector<llvm::Type*> types;
  for (Value* argument : arguments) types.push_back(argument->getType());
  auto* type = llvm::FunctionType::get(result, types, false);
  return b.CreateCall(llvm::InlineAsm::get(type, text, constraints, true), std::vector<Value*>(arguments));
}

void unlikely(llvm::Instruction* branch, unsigned likely_successor) {
  auto& context = branch->getContext();
  auto weight = [&](unsigned n) {
    return llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), n));
  };
  llvm::Metadata* parts[] = {llvm::MDString::get(context, "branch_weights"),
                             weight(likely_successor == 0 ? 2000 : 1), weight(likely_successor == 0 ? 1 : 2000)};
  branch->setMetadata(llvm::LLVMContext::MD_prof, llvm::MDNode::get(context, parts));
}

}  // namespace

NativeHooks::NativeHooks(llvm::Module& module) : module_(module) {}

// ---- plumbing -------------------------------------------------------------------------------

Value* NativeHooks::field(llvm::IRBuilder<>& b, Value* base, std::uint64_t offset) {
  return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), base, offset);
}
Value* NativeHooks::read(llvm::IRBuilder<>& b, Value* base, std::uint64_t offset, unsigned bits) {
  return b.CreateLoad(b.getIntNTy(bits), field(b, base, offset));
}
Value* NativeHooks::read_pointer(llvm::IRBuilder<>& b, Value* base, std::uint64_t offset) {
  return b.CreateLoad(b.getPtrTy(), field(b, base, offset));
}
void NativeHooks::write(llvm::IRBuilder<>& b, Value* value, Value* base, std::uint64_t offset) {
  b.CreateStore(value, field(b, base, offset), true);
}
// One instruction, so that a signal on this thread sees all of it or nothing.
void NativeHooks::increment(llvm::IRBuilder<>& b, Value* base, std::uint64_t offset) {
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false);
  auto* text = llvm::InlineAsm::get(type, "incq $0", "=*m,~{flags}", true);
  llvm::CallInst* call = b.CreateCall(text, {field(b, base, offset)});
  call->addParamAttr(0, llvm::Attribute::get(b.getContext(), llvm::Attribute::ElementType, b.getInt64Ty()));
}

Value* NativeHooks::service(llvm::IRBuilder<>& b, std::uint64_t offset, llvm::Type* result,
                            std::initializer_list<Value*> arguments) {
  std::vector<llvm::Type*> types;
  for (Value* argument : arguments) types.push_back(argument->getType());
  auto* type = llvm::FunctionType::get(result, types, false);
  Value* target = read_pointer(b, event_, offsetof(kevt_event, services) + offset);
  llvm::CallInst* call = b.CreateCall(type, target, std::vector<Value*>(arguments));
  call->setCallingConv(llvm::CallingConv::PreserveMost);
  return call;
}

// ---- begin and finish -----------------------------------------------------------------------

llvm::Function* NativeHooks::declare(const std::string& name) {
  llvm::LLVMContext& context = module_.getContext();
  auto* pointer = llvm::PointerType::get(context, 0);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                                       {pointer, pointer, llvm::Type::getInt64Ty(context)}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module_);
  function_->setDSOLocal(true);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  function_->addFnAttr(llvm::Attribute::NoImplicitFloat);
  function_->addFnAttr(llvm::Attribute::NullPointerIsValid);
  function_->addFnAttr("no-builtins");
  function_->addFnAttr("no-jump-tables", "true");
  function_->addFnAttr("target-features", "-sse,-sse2,-mmx,-avx,-avx2,-x87");
  BasicBlock::Create(context, "entry", function_);
  registers_ = function_->getArg(0);
  event_ = function_->getArg(1);
  return_address_ = function_->getArg(2);
  return function_;
}

Value* NativeHooks::find_thread(llvm::IRBuilder<>& b, BasicBlock* missed) {
  llvm::LLVMContext& context = b.getContext();
  BasicBlock* indexed = BasicBlock::Create(context, "indexed", function_);
  BasicBlock* same = BasicBlock::Create(context, "same", function_);
  BasicBlock* slow = BasicBlock::Create(context, "slow", function_);
  BasicBlock* found = BasicBlock::Create(context, "found", function_);
  auto* fs = llvm::PointerType::get(context, kFsAddressSpace);
  auto fs_at = [&](Value* offset) { return b.CreateIntToPtr(offset, fs); };

  Value* tp = b.CreateLoad(b.getInt64Ty(), fs_at(b.getInt64(0)), true);
  Value* hash = b.CreateLShr(b.CreateMul(tp, b.getInt64(KEVT_HASH_MULTIPLIER)), b.getInt64(64 - KEVT_INDEX_BITS));
  Value* index = read_pointer(b, event_, offsetof(kevt_event, index));
  Value* candidate = b.CreateLoad(b.getPtrTy(), b.CreateInBoundsGEP(b.getInt64Ty(), index, hash));
  unlikely(b.CreateCondBr(b.CreateIsNull(candidate), slow, indexed), 1);

  b.SetInsertPoint(indexed);
  Value* offset = b.CreateZExt(read(b, event_, offsetof(kevt_event, check_offset), 32), b.getInt64Ty());
  Value* check = b.CreateLoad(b.getInt32Ty(), fs_at(offset), true);
  Value* tp_differs = b.CreateXor(tp, read(b, candidate, offsetof(kevt_thread, thread_pointer), 64));
  Value* check_differs = b.CreateXor(check, read(b, candidate, offsetof(kevt_thread, check), 32));
  Value* differs = b.CreateOr(tp_differs, b.CreateZExt(check_differs, b.getInt64Ty()));
  unlikely(b.CreateCondBr(b.CreateIsNull(differs), same, slow), 0);
  b.SetInsertPoint(same);
  b.CreateBr(found);

  b.SetInsertPoint(slow);
  Value* enrolled = service(b, offsetof(kevt_services, thread), b.getPtrTy(), {event_});
  unlikely(b.CreateCondBr(b.CreateIsNull(enrolled), missed, found), 1);

  b.SetInsertPoint(found);
  llvm::PHINode* thread = b.CreatePHI(b.getPtrTy(), 2);
  thread->addIncoming(candidate, same);
  thread->addIncoming(enrolled, slow);
  return thread;
}

void NativeHooks::begin(llvm::IRBuilder<>& b, std::uint32_t sinks) {
  llvm::LLVMContext& context = b.getContext();
  BasicBlock* missed = BasicBlock::Create(context, "missed", function_);
  BasicBlock* guarded = BasicBlock::Create(context, "guarded", function_);
  BasicBlock* free = BasicBlock::Create(context, "free", function_);
  thread_ = find_thread(b, missed);
  row_ = b.CreateInBoundsGEP(
      b.getInt8Ty(), read_pointer(b, thread_, offsetof(kevt_thread, counts)),
      b.CreateZExt(read(b, event_, offsetof(kevt_event, row_offset), 32), b.getInt64Ty()));
  Value* stack = b.CreatePtrToInt(registers_, b.getInt64Ty());
  Value* guard = read(b, thread_, offsetof(kevt_thread, guard), 64);
  unlikely(b.CreateCondBr(b.CreateIsNull(guard), free, guarded), 0);

  b.SetInsertPoint(guarded);
  Value* stale = service(b, offsetof(kevt_services, guarded), b.getInt32Ty(), {thread_, event_, stack});
  unlikely(b.CreateCondBr(b.CreateIsNull(stale), missed, free), 0);
  b.SetInsertPoint(missed);
  b.CreateRetVoid();

  b.SetInsertPoint(free);
  write(b, b.CreatePtrToInt(row_, b.getInt64Ty()), thread_, offsetof(kevt_thread, guard_counts));
  write(b, stack, thread_, offsetof(kevt_thread, guard));
  for (std::uint32_t i = 0; i < sinks; ++i)
    increment(b, row_, i * sizeof(kevt_counts) + offsetof(kevt_counts, hits));
}

void NativeHooks::finish(llvm::IRBuilder<>& b) {
  write(b, b.getInt64(0), thread_, offsetof(kevt_thread, guard));
  b.CreateRetVoid();
}

// ---- what the hit sees ----------------------------------------------------------------------

Value* NativeHooks::register_word(llvm::IRBuilder<>& b, std::uint32_t offset) {
  return read(b, registers_, offset, 64);
}
Value* NativeHooks::slot(llvm::IRBuilder<>& b, std::uint32_t index) {
  return read(b, event_, offsetof(kevt_event, slots) + 8ull * index, 64);
}
Value* NativeHooks::event_id(llvm::IRBuilder<>& b) {
  return b.CreateZExt(read(b, event_, offsetof(kevt_event, event_id), 32), b.getInt64Ty());
}
Value* NativeHooks::pid(llvm::IRBuilder<>& b) {
  return b.CreateZExt(read(b, thread_, offsetof(kevt_thread, tid), 32), b.getInt64Ty());
}
Value* NativeHooks::cpu(llvm::IRBuilder<>& b) {
  // IA32_TSC_AUX as Linux sets it: node << 12 | cpu (arch/x86/include/asm/segment.h, vdso_read_cpunode).
  Value* aux = inline_asm(b, b.getInt64Ty(), "rdpid $0", "=r", {});
  return b.CreateAnd(aux, b.getInt64(0xfff));
}
Value* NativeHooks::probe_address(llvm::IRBuilder<>& b) {
  return read(b, event_, offsetof(kevt_event, probe_address), 64);
}
Value* NativeHooks::return_address(llvm::IRBuilder<>&) { return return_address_; }

Value* NativeHooks::load(llvm::IRBuilder<>& b, Value* address, unsigned bytes, BasicBlock* fault) {
  const char* instruction = "movq $1, $0";
  if (bytes == 4) instruction = "movl $1, ${0:k}";
  if (bytes == 2) instruction = "movzwl $1, ${0:k}";
  if (bytes == 1) instruction = "movzbl $1, ${0:k}";
  const std::string text = std::string("1: ") + instruction +
                           "\n.pushsection kevt_faults,\"a\",@progbits\n"
                           ".long 1b - .\n.long ${2:l} - .\n.popsection";
  auto* type = llvm::FunctionType::get(b.getInt64Ty(), {b.getPtrTy()}, false);
  auto* assembly = llvm::InlineAsm::get(type, text, "=r,*m,!i,~{dirflag},~{fpsr},~{flags}", true);
  BasicBlock* readable = BasicBlock::Create(b.getContext(), "read", function_);
  llvm::Type* item = b.getIntNTy(bytes * 8);
  llvm::CallBrInst* call = b.CreateCallBr(type, assembly, readable, {fault}, {b.CreateIntToPtr(address, b.getPtrTy())});
  call->addParamAttr(0, llvm::Attribute::get(b.getContext(), llvm::Attribute::ElementType, item));
  b.SetInsertPoint(readable);
  return call;
}

// ---- counting -------------------------------------------------------------------------------

void NativeHooks::count_fault(llvm::IRBuilder<>& b) { increment(b, row_, offsetof(kevt_counts, faults)); }

void NativeHooks::count(llvm::IRBuilder<>& b, Counter counter, std::uint32_t sink) {
  std::uint64_t offset = 0;
  switch (counter) {
    case Counter::Recorded:
      offset = offsetof(kevt_counts, recorded);
      break;
    case Counter::Filtered:
      offset = offsetof(kevt_counts, filtered);
      break;
    case Counter::Lost:
      offset = offsetof(kevt_counts, lost);
      break;
  }
  increment(b, row_, sink * sizeof(kevt_counts) + offset);
}

Value* NativeHooks::gate(llvm::IRBuilder<>& b, std::uint32_t sink) {
  Value* gates = read(b, event_, offsetof(kevt_event, gates), 32);
  return b.CreateICmpNE(b.CreateAnd(gates, b.getInt32(1u << sink)), b.getInt32(0));
}

// ---- texts ----------------------------------------------------------------------------------

Value* NativeHooks::scratch(llvm::IRBuilder<>& b, std::uint32_t index) {
  return field(b, thread_, offsetof(kevt_thread, texts) + std::uint64_t{index} * KEVT_TEXT_BYTES);
}
Value* NativeHooks::text_fetch(llvm::IRBuilder<>& b, Value* to, Value* address) {
  return service(b, offsetof(kevt_services, text_fetch), b.getInt32Ty(), {to, address});
}
Value* NativeHooks::text_length(llvm::IRBuilder<>& b, Value* address) {
  return service(b, offsetof(kevt_services, text_length), b.getInt32Ty(), {address});
}
Value* NativeHooks::text_copy(llvm::IRBuilder<>& b, Value* to, Value* address, Value* length) {
  return service(b, offsetof(kevt_services, text_copy), b.getInt32Ty(), {to, address, length});
}
Value* NativeHooks::comm(llvm::IRBuilder<>& b, Value* to) {
  return service(b, offsetof(kevt_services, comm), b.getInt32Ty(), {to});
}
Value* NativeHooks::match(llvm::IRBuilder<>& b, model::GlobKind kind, Value* pattern, std::uint32_t length, Value* text,
                          Value* text_length) {
  Value* matched = service(b, offsetof(kevt_services, match), b.getInt32Ty(),
                           {b.getInt32(static_cast<std::uint32_t>(kind)), pattern, b.getInt32(length), text, text_length});
  return b.CreateIsNotNull(matched);
}

// ---- the ring -------------------------------------------------------------------------------

Value* NativeHooks::reserve(llvm::IRBuilder<>& b, Value* size, BasicBlock* full) {
  llvm::LLVMContext& context = b.getContext();
  BasicBlock* attempt = BasicBlock::Create(context, "reserve", function_);
  BasicBlock* room = BasicBlock::Create(context, "room", function_);
  BasicBlock* reserved = BasicBlock::Create(context, "reserved", function_);
  Value* wide = b.CreateZExt(size, b.getInt64Ty());
  Value* bytes = b.CreateAnd(b.CreateAdd(wide, b.getInt64(sizeof(kevt_record) + 7)), b.getInt64(~7ull));
  Value* ring = b.CreateInBoundsGEP(b.getInt8Ty(), read_pointer(b, event_, offsetof(kevt_event, rings)),
                                    b.CreateMul(cpu(b), read(b, event_, offsetof(kevt_event, ring_stride), 64)));
  Value* limit = read(b, event_, offsetof(kevt_event, ring_limit), 64);
  Value* first = b.CreateLoad(b.getInt64Ty(), field(b, ring, offsetof(kevt_ring, head)), true);
  BasicBlock* before = b.GetInsertBlock();
  b.CreateBr(attempt);

  b.SetInsertPoint(attempt);
  llvm::PHINode* head = b.CreatePHI(b.getInt64Ty(), 2);
  head->addIncoming(first, before);
  Value* end = b.CreateAdd(head, bytes);
  Value* tail = b.CreateLoad(b.getInt64Ty(), field(b, ring, offsetof(kevt_ring, tail)), true);
  unlikely(b.CreateCondBr(b.CreateICmpULE(b.CreateSub(end, tail), limit), room, full), 0);

  b.SetInsertPoint(room);
  Value* pair = b.CreateAtomicCmpXchg(field(b, ring, offsetof(kevt_ring, head)), head, end, llvm::MaybeAlign(8),
                                      llvm::AtomicOrdering::AcquireRelease, llvm::AtomicOrdering::Monotonic);
  head->addIncoming(b.CreateExtractValue(pair, 0), room);
  unlikely(b.CreateCondBr(b.CreateExtractValue(pair, 1), reserved, attempt), 0);

  b.SetInsertPoint(reserved);
  Value* offset = b.CreateAnd(head, b.CreateSub(limit, b.getInt64(1)));
  record_ = b.CreateInBoundsGEP(b.getInt8Ty(), field(b, ring, KEVT_RING_HEADER), offset);
  Value* tag = b.CreateShl(b.CreateLShr(head, b.getInt64(3)), b.getInt64(32));
  word_ = b.CreateOr(wide, tag);
  write(b, word_, thread_, offsetof(kevt_thread, open_word));
  write(b, b.CreatePtrToInt(record_, b.getInt64Ty()), thread_, offsetof(kevt_thread, open_record));
  Value* tsc = b.CreateIntrinsic(llvm::Intrinsic::x86_rdtsc, {}, {});
  b.CreateStore(tsc, field(b, record_, offsetof(kevt_record, tsc)));
  return field(b, record_, sizeof(kevt_record));
}

void NativeHooks::commit(llvm::IRBuilder<>& b) {
  llvm::StoreInst* store = b.CreateStore(word_, field(b, record_, offsetof(kevt_record, word)));
  store->setAtomic(llvm::AtomicOrdering::Release);
  store->setAlignment(llvm::Align(8));
  write(b, b.getInt64(0), thread_, offsetof(kevt_thread, open_record));
}

}  // namespace kevt::codegen

// The native half of an extractor. In the order a hit runs it:
//
//   movq %fs:0 ─► index ─► thread (tp and check word agree, else the agent looks, and calls us again)
//   row = thread.counts + event.row_offset;  incq hits
//   guard set? the agent decides: stale (it calls us again) or nested (missed)
//   …the event's own code…
//   guard = 0
//
// Counters are this thread's own: one incq each, no lock, exact even when a signal handler hits
// the same event in between. Loads that may fault are inline assembly with a second way out
// (callbr) and an entry in the section kevt_faults: the fast path pays nothing for safety.
#include "compiler/codegen/native_hooks.h"

#include <cpuid.h>
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

constexpr unsigned kFsAddressSpace = 257;         // x86: %fs-relative
constexpr std::uint64_t kPrefetchDistance = 512;  // bytes ahead in the ring

Value* inline_asm(llvm::IRBuilder<>& b, llvm::Type* result, const char* text, const char* constraints,
                  std::initializer_list<Value*> arguments) {
  std::vector<llvm::Type*> types;
  for (Value* argument : arguments) types.push_back(argument->getType());
  auto* type = llvm::FunctionType::get(result, types, false);
  return b.CreateCall(llvm::InlineAsm::get(type, text, constraints, true), std::vector<Value*>(arguments));
}

// Code runs on the machine that compiles it.
bool has_rdpid() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c & (1u << 22));
}

void unlikely(llvm::Instruction* branch, unsigned likely_successor) {
  auto& context = branch->getContext();
  auto weight = [&](unsigned n) {
    return llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), n));
  };
  llvm::Metadata* parts[] = {llvm::MDString::get(context, "branch_weights"), weight(likely_successor == 0 ? 2000 : 1),
                             weight(likely_successor == 0 ? 1 : 2000)};
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

llvm::Function* NativeHooks::make_function(const std::string& name, llvm::GlobalValue::LinkageTypes linkage) {
  llvm::LLVMContext& context = module_.getContext();
  auto* pointer = llvm::PointerType::get(context, 0);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                                       {pointer, pointer, llvm::Type::getInt64Ty(context), pointer}, false);
  llvm::Function* function = llvm::Function::Create(type, linkage, name, module_);
  function->setDSOLocal(true);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr(llvm::Attribute::NoImplicitFloat);
  function->addFnAttr(llvm::Attribute::NullPointerIsValid);
  function->addFnAttr("no-builtins");
  function->addFnAttr("no-jump-tables", "true");
  function->addFnAttr("target-features", "-sse,-sse2,-mmx,-avx,-avx2,-x87,+prfchw");
  BasicBlock::Create(context, "entry", function);
  return function;
}

void NativeHooks::enter(llvm::Function* function) {
  function_ = function;
  registers_ = function->getArg(0);
  event_ = function->getArg(1);
  return_address_ = function->getArg(2);
}

llvm::Function* NativeHooks::declare(const std::string& name) {
  enter(make_function(name, llvm::Function::ExternalLinkage));
  return function_;
}

// Hands the hit over to a service, as a jump: the rest of the function needs no frame for it.
void NativeHooks::leave_to(llvm::IRBuilder<>& b, std::uint64_t service_offset, Value* thread) {
  Value* target = read_pointer(b, event_, offsetof(kevt_event, services) + service_offset);
  llvm::CallInst* call =
      b.CreateCall(function_->getFunctionType(), target, {registers_, event_, return_address_, thread});
  call->setTailCallKind(llvm::CallInst::TCK_MustTail);
  b.CreateRetVoid();
}

Value* NativeHooks::find_thread(llvm::IRBuilder<>& b) {
  llvm::LLVMContext& context = b.getContext();
  BasicBlock* indexed = BasicBlock::Create(context, "indexed", function_);
  BasicBlock* unknown = BasicBlock::Create(context, "unknown", function_);
  BasicBlock* found = BasicBlock::Create(context, "found", function_);
  auto* fs = llvm::PointerType::get(context, kFsAddressSpace);
  auto fs_at = [&](Value* offset) { return b.CreateIntToPtr(offset, fs); };
  Value* tp = b.CreateLoad(b.getInt64Ty(), fs_at(b.getInt64(0)), true);
  Value* hash = b.CreateLShr(b.CreateMul(tp, b.getInt64(KEVT_HASH_MULTIPLIER)), b.getInt64(64 - KEVT_INDEX_BITS));
  Value* index = read_pointer(b, event_, offsetof(kevt_event, index));
  Value* candidate = b.CreateLoad(b.getPtrTy(), b.CreateInBoundsGEP(b.getInt64Ty(), index, hash));
  unlikely(b.CreateCondBr(b.CreateIsNull(candidate), unknown, indexed), 1);
  b.SetInsertPoint(indexed);
  Value* owner = read(b, candidate, offsetof(kevt_thread, thread_pointer), 64);
  Value* offset = b.CreateZExt(read(b, event_, offsetof(kevt_event, check_offset), 32), b.getInt64Ty());
  Value* check = b.CreateLoad(b.getInt32Ty(), fs_at(offset), true);
  Value* check_differs = b.CreateXor(check, read(b, candidate, offsetof(kevt_thread, check), 32));
  Value* differs = b.CreateOr(b.CreateXor(tp, owner), b.CreateZExt(check_differs, b.getInt64Ty()));
  unlikely(b.CreateCondBr(b.CreateIsNull(differs), found, unknown), 0);
  b.SetInsertPoint(unknown);
  leave_to(b, offsetof(kevt_services, thread), candidate);
  b.SetInsertPoint(found);
  return candidate;
}

Value* NativeHooks::find_row(llvm::IRBuilder<>& b) {
  return b.CreateInBoundsGEP(b.getInt8Ty(), read_pointer(b, thread_, offsetof(kevt_thread, counts)),
                             b.CreateZExt(read(b, event_, offsetof(kevt_event, row_offset), 32), b.getInt64Ty()));
}

void NativeHooks::begin(llvm::IRBuilder<>& b, std::uint32_t sinks) {
  llvm::LLVMContext& context = b.getContext();
  BasicBlock* guarded = BasicBlock::Create(context, "guarded", function_);
  BasicBlock* free = BasicBlock::Create(context, "free", function_);
  thread_ = find_thread(b);
  row_ = b.CreateInBoundsGEP(b.getInt8Ty(), read_pointer(b, thread_, offsetof(kevt_thread, counts)),
                             b.CreateZExt(read(b, event_, offsetof(kevt_event, row_offset), 32), b.getInt64Ty()));
  Value* guard = read(b, thread_, offsetof(kevt_thread, guard), 64);
  unlikely(b.CreateCondBr(b.CreateIsNull(guard), free, guarded), 0);
  b.SetInsertPoint(guarded);
  leave_to(b, offsetof(kevt_services, guarded), thread_);

  b.SetInsertPoint(free);
  write(b, b.CreatePtrToInt(event_, b.getInt64Ty()), thread_, offsetof(kevt_thread, guard_event));
  write(b, b.CreatePtrToInt(registers_, b.getInt64Ty()), thread_, offsetof(kevt_thread, guard));
  for (std::uint32_t i = 0; i < sinks; ++i) increment(b, row_, i * sizeof(kevt_counts) + offsetof(kevt_counts, hits));
}

// The recording half is a function of its own where it can be: the registers it saves are not saved for a hit that
// is rejected.
void NativeHooks::begin_record(llvm::IRBuilder<>& b, const std::string& name) {
  llvm::Function* record = make_function(name, llvm::Function::InternalLinkage);
  record->addFnAttr(llvm::Attribute::NoInline);
  llvm::CallInst* call = b.CreateCall(record, {registers_, event_, return_address_, thread_});
  call->setTailCallKind(llvm::CallInst::TCK_MustTail);
  b.CreateRetVoid();
  enter(record);
  thread_ = record->getArg(3);
  b.SetInsertPoint(&record->getEntryBlock());
  row_ = find_row(b);
}

// Assembly with a comment of its own, so that LLVM does not merge the ways out again.
void NativeHooks::finish(llvm::IRBuilder<>& b, WayOut way) {
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false);
  const char* text = way == WayOut::Recorded ? "movq $$0, $0 # recorded" : "movq $$0, $0 # rejected";
  llvm::CallInst* call = b.CreateCall(llvm::InlineAsm::get(type, text, "=*m,~{memory}", true),
                                      {field(b, thread_, offsetof(kevt_thread, guard))});
  call->addParamAttr(0, llvm::Attribute::get(b.getContext(), llvm::Attribute::ElementType, b.getInt64Ty()));
  b.CreateRetVoid();
}

// ---- what the hit sees ----------------------------------------------------------------------

// Read again at each use (volatile): a rejected hit then keeps nothing alive for the recording part, and its
// saved registers move there too.
Value* NativeHooks::register_word(llvm::IRBuilder<>& b, std::uint32_t offset) {
  return b.CreateLoad(b.getInt64Ty(), field(b, registers_, offset), true);
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
// node << 12 | cpu, as Linux keeps it for the vDSO: in IA32_TSC_AUX, which rdpid reads, and as the limit of the
// per-CPU segment 0x7b, which lsl reads on older CPUs (arch/x86/include/asm/segment.h, vdso_read_cpunode).
Value* NativeHooks::cpu(llvm::IRBuilder<>& b) {
  const char* text = has_rdpid() ? "rdpid $0" : "movl $$0x7b, ${0:k}\nlsl ${0:k}, ${0:k}";
  return b.CreateAnd(inline_asm(b, b.getInt64Ty(), text, "=r,~{flags}", {}), b.getInt64(0xfff));
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

namespace {

// Nonzero when a byte of `word` is 0; its lowest set bit then lies in the first such byte.
Value* zero_bytes(llvm::IRBuilder<>& b, Value* word) {
  Value* low = b.CreateSub(word, b.getInt64(0x0101010101010101ull));
  return b.CreateAnd(b.CreateAnd(low, b.CreateNot(word)), b.getInt64(0x8080808080808080ull));
}

// i1: `bytes` at `address` lie in one page.
Value* within_page(llvm::IRBuilder<>& b, Value* address, std::uint64_t bytes) {
  return b.CreateICmpULE(b.CreateAnd(address, b.getInt64(4095)), b.getInt64(4096 - bytes));
}

}  // namespace

// Strings of up to 16 bytes are measured in place: two words. Everything else, a fault included, is
// the agent's.
Value* NativeHooks::text_length(llvm::IRBuilder<>& b, Value* address) {
  llvm::LLVMContext& context = b.getContext();
  BasicBlock* near = BasicBlock::Create(context, "near", function_);
  BasicBlock* second = BasicBlock::Create(context, "second", function_);
  BasicBlock* slow = BasicBlock::Create(context, "long", function_);
  BasicBlock* known = BasicBlock::Create(context, "measured", function_);
  llvm::PHINode* length = llvm::PHINode::Create(b.getInt32Ty(), 3, "length", known);
  const auto found = [&](Value* zeros, unsigned before) {
    Value* bit = b.CreateIntrinsic(llvm::Intrinsic::cttz, {b.getInt64Ty()}, {zeros, b.getTrue()});
    Value* index = b.CreateTrunc(b.CreateLShr(bit, b.getInt64(3)), b.getInt32Ty());
    length->addIncoming(b.CreateAdd(index, b.getInt32(before + 1)), b.GetInsertBlock());
    b.CreateBr(known);
  };
  unlikely(b.CreateCondBr(within_page(b, address, 16), near, slow), 0);

  b.SetInsertPoint(near);
  BasicBlock* in_first = BasicBlock::Create(context, "first", function_);
  Value* zeros = zero_bytes(b, load(b, address, 8, slow));
  b.CreateCondBr(b.CreateIsNotNull(zeros), in_first, second);
  b.SetInsertPoint(in_first);
  found(zeros, 0);

  b.SetInsertPoint(second);
  BasicBlock* in_second = BasicBlock::Create(context, "second", function_);
  zeros = zero_bytes(b, load(b, b.CreateAdd(address, b.getInt64(8)), 8, slow));
  b.CreateCondBr(b.CreateIsNotNull(zeros), in_second, slow);
  b.SetInsertPoint(in_second);
  found(zeros, 8);

  b.SetInsertPoint(slow);
  length->addIncoming(service(b, offsetof(kevt_services, text_length), b.getInt32Ty(), {address}), slow);
  b.CreateBr(known);
  b.SetInsertPoint(known);
  return length;
}

// Up to 16 bytes as one or two words, the second one ending with the string. What a short string's word writes
// behind it is overwritten by the next one or lies in the record's slack (KEVT_RECORD_SLACK).
Value* NativeHooks::text_copy(llvm::IRBuilder<>& b, Value* to, Value* address, Value* length) {
  llvm::LLVMContext& context = b.getContext();
  BasicBlock* near = BasicBlock::Create(context, "near", function_);
  BasicBlock* second = BasicBlock::Create(context, "second", function_);
  BasicBlock* end = BasicBlock::Create(context, "end", function_);
  BasicBlock* slow = BasicBlock::Create(context, "long", function_);
  BasicBlock* copied = BasicBlock::Create(context, "copied", function_);
  Value* wide = b.CreateZExt(length, b.getInt64Ty());
  unlikely(b.CreateCondBr(b.CreateICmpULE(length, b.getInt32(16)), near, slow), 0);

  b.SetInsertPoint(near);
  Value* word = load(b, address, 8, slow);
  b.CreateAlignedStore(word, to, llvm::Align(1));
  b.CreateCondBr(b.CreateICmpUGT(length, b.getInt32(8)), second, end);
  b.SetInsertPoint(second);
  Value* last_word = b.CreateSub(wide, b.getInt64(8));
  word = load(b, b.CreateAdd(address, last_word), 8, slow);
  b.CreateAlignedStore(word, b.CreateInBoundsGEP(b.getInt8Ty(), to, last_word), llvm::Align(1));
  b.CreateBr(end);
  b.SetInsertPoint(end);
  Value* last = b.CreateInBoundsGEP(b.getInt8Ty(), to, b.CreateSub(wide, b.getInt64(1)));
  b.CreateStore(b.getInt8(0), last);  // it may have grown since it was measured
  b.CreateBr(copied);

  b.SetInsertPoint(slow);
  Value* by_agent = service(b, offsetof(kevt_services, text_copy), b.getInt32Ty(), {to, address, length});
  b.CreateBr(copied);
  b.SetInsertPoint(copied);
  llvm::PHINode* written = b.CreatePHI(b.getInt32Ty(), 2);
  written->addIncoming(length, end);
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

// ---- the ring -------------------------------------------------------------------------------

// One attempt here; when another writer came first, the agent goes on trying.
Value* NativeHooks::reserve(llvm::IRBuilder<>& b, Value* size, BasicBlock* full) {
  llvm::LLVMContext& context = b.getContext();
  BasicBlock* room = BasicBlock::Create(context, "room", function_);
  BasicBlock* again = BasicBlock::Create(context, "again", function_);
  BasicBlock* reserved = BasicBlock::Create(context, "reserved", function_);
  Value* wide = b.CreateZExt(size, b.getInt64Ty());
  Value* bytes =
      b.CreateAnd(b.CreateAdd(wide, b.getInt64(sizeof(kevt_record) + KEVT_RECORD_SLACK + 7)), b.getInt64(~7ull));
  Value* ring = b.CreateInBoundsGEP(b.getInt8Ty(), read_pointer(b, event_, offsetof(kevt_event, rings)),
                                    b.CreateMul(cpu(b), read(b, event_, offsetof(kevt_event, ring_stride), 64)));
  Value* limit = read(b, event_, offsetof(kevt_event, ring_limit), 64);
  Value* head = b.CreateLoad(b.getInt64Ty(), field(b, ring, offsetof(kevt_ring, head)), true);
  Value* tail = b.CreateLoad(b.getInt64Ty(), field(b, ring, offsetof(kevt_ring, tail)), true);
  // Behind the loads and before the locked instruction: reading the counter takes as long as they do, and as
  // earlier stores take to drain. The reader sorts by time.
  Value* tsc = b.CreateIntrinsic(llvm::Intrinsic::x86_rdtsc, {}, {});
  Value* end = b.CreateAdd(head, bytes);
  unlikely(b.CreateCondBr(b.CreateICmpULE(b.CreateSub(end, tail), limit), room, full), 0);

  // Noted before it is ours: whoever jumps out of this hit right behind the cmpxchg leaves a reservation that
  // the agent can still find (thread.c).
  b.SetInsertPoint(room);
  Value* offset = b.CreateAnd(head, b.CreateSub(limit, b.getInt64(1)));
  Value* first = b.CreateInBoundsGEP(b.getInt8Ty(), field(b, ring, KEVT_RING_HEADER), offset);
  Value* tag = b.CreateShl(b.CreateLShr(head, b.getInt64(3)), b.getInt64(32));
  write(b, b.CreateOr(wide, tag), thread_, offsetof(kevt_thread, open_word));
  write(b, b.CreatePtrToInt(first, b.getInt64Ty()), thread_, offsetof(kevt_thread, open_record));
  Value* pair = b.CreateAtomicCmpXchg(field(b, ring, offsetof(kevt_ring, head)), head, end, llvm::MaybeAlign(8),
                                      llvm::AtomicOrdering::AcquireRelease, llvm::AtomicOrdering::Monotonic);
  BasicBlock* tried = b.GetInsertBlock();
  unlikely(b.CreateCondBr(b.CreateExtractValue(pair, 1), reserved, again), 0);

  b.SetInsertPoint(again);
  Value* later = service(b, offsetof(kevt_services, reserve), b.getPtrTy(), {thread_, ring, wide});
  unlikely(b.CreateCondBr(b.CreateIsNull(later), full, reserved), 1);

  b.SetInsertPoint(reserved);
  llvm::PHINode* record = b.CreatePHI(b.getPtrTy(), 2);
  record->addIncoming(first, tried);
  record->addIncoming(later, again);
  record_ = record;
  // The reader has had these lines; taking them back early keeps the next reservation's lock short.
  Value* ahead = field(b, record_, kPrefetchDistance);
  b.CreateIntrinsic(llvm::Intrinsic::prefetch, {b.getPtrTy()}, {ahead, b.getInt32(1), b.getInt32(3), b.getInt32(1)});
  b.CreateStore(tsc, field(b, record_, offsetof(kevt_record, tsc)));
  return field(b, record_, sizeof(kevt_record));
}

void NativeHooks::commit(llvm::IRBuilder<>& b) {
  Value* word = read(b, thread_, offsetof(kevt_thread, open_word), 64);
  llvm::StoreInst* store = b.CreateStore(word, field(b, record_, offsetof(kevt_record, word)));
  store->setAtomic(llvm::AtomicOrdering::Release);
  store->setAlignment(llvm::Align(8));
  write(b, b.getInt64(0), thread_, offsetof(kevt_thread, open_record));
}

}  // namespace kevt::codegen

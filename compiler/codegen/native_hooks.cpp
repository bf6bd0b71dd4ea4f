// The native half of an extractor. In the order a hit runs it:
//
//   %gs:kevt_self ─► thread (its thread pointer is ours, else the agent looks)
//   return events: the newest instance is this slot's; the return address goes back there
//   row = thread.counts + event.row_offset;  guard set? the agent decides: stale, or nested and missed
//   incq hits …the event's own code…
//   guard = 0
//
// The function is called by a detour and keeps every register (LLVM: no_caller_saved_registers saves those it uses).
// The six argument registers, or the returned value, are read where the traced program left them: LLVM is told that
// they are arguments of the function, and that they must hold the same values again at the end. The other registers are
// in the frame (common/abi/probe.h).
//
// Counters are this thread's own: one incq each, no lock, exact even when a signal handler hits
// the same event in between. Loads that may fault are inline assembly with a second way out
// (callbr) and an entry in the section kevt_faults: the fast path pays nothing for safety.
#include "compiler/codegen/native_hooks.h"
#include "compiler/codegen/native_module.h"

#include <cpuid.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "common/abi/probe.h"
#include "common/assert.h"
#include "common/fs_base.h"
#include "compiler/model/span_context.h"
#include "compiler/model/thread_local.h"

namespace kevt::codegen {

using llvm::BasicBlock;
using llvm::Value;

namespace {

constexpr std::array<std::uint32_t, 6> kAtEntry = {offsetof(kevt_registers, di), offsetof(kevt_registers, si),
                                                   offsetof(kevt_registers, dx), offsetof(kevt_registers, cx),
                                                   offsetof(kevt_registers, r8), offsetof(kevt_registers, r9)};
constexpr std::array<const char*, 6> kNamesAtEntry = {"{di}", "{si}", "{dx}", "{cx}", "{r8}", "{r9}"};
constexpr std::array<std::uint32_t, 1> kAtReturn = {offsetof(kevt_registers, ax)};
constexpr std::array<const char*, 1> kNamesAtReturn = {"{ax}"};

// Code runs on the machine that compiles it.
bool has_rdpid() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c & (1u << 22));
}

// How many registers of registers_in_place() must be arguments, so that all that the program reads are among them.
unsigned arguments_read(const ir::Program& program) {
  const auto words = registers_in_place(program.probe_kind);
  unsigned count = 0;
  for (const ir::Value& value : program.values) {
    if (value.op != ir::Op::Register) continue;
    const auto* at = std::ranges::find(words, static_cast<std::uint32_t>(value.imm));
    if (at != words.end()) count = std::max(count, static_cast<unsigned>(at - words.begin()) + 1);
  }
  return count;
}

}  // namespace

llvm::ArrayRef<std::uint32_t> registers_in_place(model::ProbeKind point) {
  if (point == model::ProbeKind::Return) return kAtReturn;
  return kAtEntry;
}

void expect(llvm::Instruction* branch, unsigned likely) {
  auto& context = branch->getContext();
  auto weight = [&](unsigned n) {
    return llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), n));
  };
  llvm::Metadata* parts[] = {llvm::MDString::get(context, "branch_weights"), weight(likely == 0 ? 2000 : 1),
                             weight(likely == 0 ? 1 : 2000)};
  branch->setMetadata(llvm::LLVMContext::MD_prof, llvm::MDNode::get(context, parts));
}

NativeHooks::NativeHooks(llvm::Module& module) : module_(module) {}

// ---- memory ---------------------------------------------------------------------------------

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
// Changes memory with one instruction: a signal handler on this thread sees the whole change or none of it.
void NativeHooks::change(llvm::IRBuilder<>& b, const char* instruction, Value* base, std::uint64_t offset) {
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false);
  auto* text = llvm::InlineAsm::get(type, instruction, "=*m,~{flags}", true);
  llvm::CallInst* call = b.CreateCall(text, {field(b, base, offset)});
  call->addParamAttr(0, llvm::Attribute::get(b.getContext(), llvm::Attribute::ElementType, b.getInt64Ty()));
}

Value* NativeHooks::branching_asm(llvm::IRBuilder<>& b, llvm::Type* result, const std::string& text,
                                  const char* constraints, llvm::ArrayRef<Value*> pointers, BasicBlock* other) {
  const std::vector<llvm::Type*> types(pointers.size(), b.getPtrTy());
  auto* type = llvm::FunctionType::get(result, types, false);
  auto* assembly = llvm::InlineAsm::get(type, text, constraints, true);
  BasicBlock* next = block("went_on");
  llvm::CallBrInst* call = b.CreateCallBr(type, assembly, next, {other}, pointers);
  for (unsigned i = 0; i < pointers.size(); ++i)
    call->addParamAttr(i, llvm::Attribute::get(b.getContext(), llvm::Attribute::ElementType, b.getInt64Ty()));
  b.SetInsertPoint(next);
  return call;
}

// Calls a service of the agent in assembly: services keep more registers than any calling convention of LLVM.
Value* NativeHooks::service(llvm::IRBuilder<>& b, std::uint64_t offset, llvm::Type* result,
                            std::initializer_list<Value*> arguments) {
  std::vector<Value*> values(arguments);
  std::vector<llvm::Type*> types;
  std::string constraints = "={ax}";
  for (Value* argument : arguments) {
    constraints += std::string(",") + kNamesAtEntry[types.size()];
    types.push_back(argument->getType());
  }
  values.push_back(field(b, event_, offsetof(kevt_event, services) + offset));
  types.push_back(b.getPtrTy());
  constraints += ",*m,~{memory},~{flags}";
  auto* type = llvm::FunctionType::get(result, types, false);
  const std::string text = "callq *$" + std::to_string(values.size());
  llvm::CallInst* call = b.CreateCall(llvm::InlineAsm::get(type, text, constraints, true), values);
  call->addParamAttr(static_cast<unsigned>(values.size()) - 1,
                     llvm::Attribute::get(b.getContext(), llvm::Attribute::ElementType, b.getPtrTy()));
  return call;
}

// ---- the function ---------------------------------------------------------------------------

BasicBlock* NativeHooks::block(const char* name) { return BasicBlock::Create(module_.getContext(), name, function_); }

// Makes the function; its arguments are the first `arguments` of registers_in_place().
void NativeHooks::make_function(const std::string& name, unsigned arguments) {
  llvm::LLVMContext& context = module_.getContext();
  std::vector<llvm::Type*> types(arguments, llvm::Type::getInt64Ty(context));
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module_);
  // regcall passes the first argument in rax; C passes arguments in rdi, rsi, rdx…
  if (is_return_) function_->setCallingConv(llvm::CallingConv::X86_RegCall);
  function_->setDSOLocal(true);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  function_->addFnAttr(llvm::Attribute::NoRedZone);
  function_->addFnAttr(llvm::Attribute::NoImplicitFloat);
  function_->addFnAttr(llvm::Attribute::NullPointerIsValid);
  function_->addFnAttr("no_caller_saved_registers");
  function_->addFnAttr("no-builtins");
  function_->addFnAttr("no-jump-tables", "true");
  function_->addFnAttr("target-features", "-sse,-sse2,-mmx,-avx,-avx2,-x87,+prfchw");
  BasicBlock* entry = block("entry");
  out_ = block("out");
  llvm::IRBuilder<> b(out_);
  leave(b);
  b.SetInsertPoint(entry);
}

// Asks for the arguments in their registers once more: LLVM may have used argument registers for other values.
void NativeHooks::leave(llvm::IRBuilder<>& b) {
  std::string constraints;
  std::vector<Value*> values;
  std::vector<llvm::Type*> types;
  for (llvm::Argument& argument : function_->args()) {
    constraints += std::string(constraints.empty() ? "" : ",") +
                   (is_return_ ? kNamesAtReturn[argument.getArgNo()] : kNamesAtEntry[argument.getArgNo()]);
    values.push_back(&argument);
    types.push_back(argument.getType());
  }
  auto* type = llvm::FunctionType::get(b.getVoidTy(), types, false);
  if (!values.empty()) b.CreateCall(llvm::InlineAsm::get(type, "# as they were", constraints, true), values);
  b.CreateRetVoid();
}

llvm::Function* NativeHooks::declare(const std::string& name, const ir::Program& program) {
  auto* type =
      llvm::ArrayType::get(llvm::Type::getInt8Ty(module_.getContext()), sizeof(kevt_event) + 8 * program.slots.size());
  event_ = new llvm::GlobalVariable(module_, type, false, llvm::GlobalValue::ExternalLinkage,
                                    llvm::ConstantAggregateZero::get(type), data_block_of(name));
  event_->setAlignment(llvm::Align(64));
  event_->setDSOLocal(true);
  is_return_ = program.probe_kind == model::ProbeKind::Return;
  make_function(name, arguments_read(program));
  return function_;
}

// An address in the frame, or above it.
Value* NativeHooks::frame(llvm::IRBuilder<>& b, std::uint64_t offset) {
  if (slot_) return field(b, slot_, offset - KEVT_FRAME_BYTES);
  return field(b, b.CreateIntrinsic(llvm::Intrinsic::addressofreturnaddress, {b.getPtrTy()}, {}), 8 + offset);
}

// The address where the return address lies. It passes through an empty piece of assembly: otherwise LLVM would keep
// the frame's address in another register.
Value* NativeHooks::return_slot(llvm::IRBuilder<>& b) {
  slot_ = nullptr;
  auto* type = llvm::FunctionType::get(b.getPtrTy(), {b.getPtrTy()}, false);
  slot_ = b.CreateCall(llvm::InlineAsm::get(type, "# slot", "=r,0", false), {frame(b, KEVT_FRAME_BYTES)});
  return slot_;
}

// ---- what the hit sees ----------------------------------------------------------------------

Value* NativeHooks::register_word(llvm::IRBuilder<>& b, std::uint32_t offset) {
  const auto words = registers_in_place(is_return_ ? model::ProbeKind::Return : model::ProbeKind::Entry);
  if (const auto* at = std::ranges::find(words, offset); at != words.end())
    return function_->getArg(static_cast<unsigned>(at - words.begin()));
  return b.CreateLoad(b.getInt64Ty(), frame(b, offset), true);
}
// The traced program's register: none of our code changes vector registers between the probe point and here.
Value* NativeHooks::vector_word(llvm::IRBuilder<>& b, std::uint32_t number) {
  auto* type = llvm::FunctionType::get(b.getInt64Ty(), {}, false);
  return b.CreateCall(llvm::InlineAsm::get(type, "movq %xmm" + std::to_string(number) + ", $0", "=r", true));
}
Value* NativeHooks::slot(llvm::IRBuilder<>& b, std::uint32_t index) {
  return read(b, event_, offsetof(kevt_event, slots) + 8ull * index, 64);
}

// The word at the thread pointer is its own address, as the ABI has it; not in programs of Go.
Value* NativeHooks::thread_pointer(llvm::IRBuilder<>& b) {
  const char* text = may_read_fs_base() ? "rdfsbase $0" : "movq %fs:0, $0";
  auto* type = llvm::FunctionType::get(b.getInt64Ty(), {}, false);
  return b.CreateCall(llvm::InlineAsm::get(type, text, "=r", true));
}

Value* NativeHooks::thread_local_address(llvm::IRBuilder<>& b, std::uint32_t slot_index) {
  Value* const word = slot(b, slot_index);
  Value* const pointer = thread_pointer(b);
  BasicBlock* const fixed = block("in_static_block");
  BasicBlock* const dynamic = block("in_dtv");
  BasicBlock* const counted = block("in_modules");
  BasicBlock* const made = block("has_block");
  BasicBlock* const missing = block("no_block");
  BasicBlock* const done = block("thread_local");
  expect(b.CreateCondBr(b.CreateICmpSLT(word, b.getInt64(0)), fixed, dynamic), 0);
  b.SetInsertPoint(fixed);
  Value* const in_static = b.CreateAdd(pointer, word);
  b.CreateBr(done);

  b.SetInsertPoint(dynamic);
  Value* const dtv = load(b, b.CreateAdd(pointer, b.getInt64(model::kDtvAt)), 8, missing);
  Value* const count =
      load(b, b.CreateAdd(dtv, b.getInt64(static_cast<std::uint64_t>(model::kDtvCountAt))), 8, missing);
  Value* const module = b.CreateLShr(word, b.getInt64(32));
  b.CreateCondBr(b.CreateICmpULE(module, count), counted, missing);
  b.SetInsertPoint(counted);
  Value* const entry = b.CreateAdd(dtv, b.CreateMul(module, b.getInt64(model::kDtvEntryBytes)));
  Value* const start = load(b, entry, 8, missing);
  // Neither 0, which the C library has not looked at yet, nor kNoBlock.
  b.CreateCondBr(b.CreateICmpULT(b.CreateSub(start, b.getInt64(1)), b.getInt64(model::kNoBlock - 1)), made, missing);
  b.SetInsertPoint(made);
  Value* const in_block = b.CreateAdd(start, b.CreateAnd(word, b.getInt64(UINT32_MAX)));
  b.CreateBr(done);

  b.SetInsertPoint(missing);
  b.CreateBr(done);
  b.SetInsertPoint(done);
  llvm::PHINode* const address = b.CreatePHI(b.getInt64Ty(), 3);
  address->addIncoming(in_static, fixed);
  address->addIncoming(in_block, made);
  address->addIncoming(b.getInt64(0), missing);
  return address;
}

Value* NativeHooks::span_context(llvm::IRBuilder<>& b, Value* pointer, BasicBlock* absent) {
  BasicBlock* const there = block("has_record");
  BasicBlock* const counts = block("counts");
  Value* const record = load(b, pointer, 8, absent);
  b.CreateCondBr(b.CreateIsNotNull(record), there, absent);
  b.SetInsertPoint(there);
  Value* const valid = load(b, b.CreateAdd(record, b.getInt64(model::kSpanValidAt)), 1, absent);
  b.CreateCondBr(b.CreateICmpEQ(valid, b.getInt64(1)), counts, absent);
  b.SetInsertPoint(counts);
  return record;
}

Value* NativeHooks::shared_cell(llvm::IRBuilder<>& b, std::uint32_t slot_index) {
  return b.CreateIntToPtr(slot(b, slot_index), b.getPtrTy());
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
  auto* type = llvm::FunctionType::get(b.getInt64Ty(), {}, false);
  return b.CreateAnd(b.CreateCall(llvm::InlineAsm::get(type, text, "=r,~{flags}", true)), b.getInt64(0xfff));
}
Value* NativeHooks::probe_address(llvm::IRBuilder<>& b) {
  return read(b, event_, offsetof(kevt_event, probe_address), 64);
}
Value* NativeHooks::return_address(llvm::IRBuilder<>&) { return return_address_; }
Value* NativeHooks::entry_argument(llvm::IRBuilder<>& b, std::uint32_t index) {
  return b.CreateLoad(b.getInt64Ty(), frame(b, KEVT_FRAME_ARGUMENTS + 8ull * index), true);
}

// The first address of the stack: where the probe is, or behind the call.
Value* NativeHooks::stack_begins(llvm::IRBuilder<>& b) { return is_return_ ? return_address_ : probe_address(b); }
Value* NativeHooks::stack_number(llvm::IRBuilder<>& b) {
  return service(b, offsetof(kevt_services, stack), b.getInt64Ty(),
                 {thread_, stack_begins(b), b.getInt64(is_return_ ? 0 : 1), frame(b, 0)});
}
void NativeHooks::stack_sample(llvm::IRBuilder<>& b, Value* to) {
  service(b, offsetof(kevt_services, stack_sample), b.getInt64Ty(), {thread_, stack_begins(b), frame(b, 0), to});
}

Value* NativeHooks::load(llvm::IRBuilder<>& b, Value* address, unsigned bytes, BasicBlock* fault) {
  const char* instruction = "movq $1, $0";
  if (bytes == 4) instruction = "movl $1, ${0:k}";
  if (bytes == 2) instruction = "movzwl $1, ${0:k}";
  if (bytes == 1) instruction = "movzbl $1, ${0:k}";
  const std::string text = std::string("1: ") + instruction +
                           "\n.pushsection kevt_faults,\"a\",@progbits\n"
                           ".long 1b - .\n.long ${2:l} - .\n.popsection";
  return branching_asm(b, b.getInt64Ty(), text, "=r,*m,!i", {b.CreateIntToPtr(address, b.getPtrTy())}, fault);
}

// ---- counting -------------------------------------------------------------------------------

// `offset`: bytes from sink 0's kevt_counts. Its address is read each time: two loads cost less than a register that is
// saved and kept over the whole hit.
void NativeHooks::count_at(llvm::IRBuilder<>& b, std::uint64_t offset) {
  llvm::LoadInst* shard = b.CreateLoad(b.getPtrTy(), field(b, thread_, offsetof(kevt_thread, counts)), true);
  llvm::LoadInst* row = b.CreateLoad(b.getInt64Ty(), field(b, event_, offsetof(kevt_event, row_offset)), true);
  increment(b, b.CreateInBoundsGEP(b.getInt8Ty(), shard, row), offset);
}

void NativeHooks::count_fault(llvm::IRBuilder<>& b) { count_at(b, offsetof(kevt_counts, faults)); }

void NativeHooks::count(llvm::IRBuilder<>& b, Counter counter, std::uint32_t sink) {
  std::uint64_t offset = 0;
  switch (counter) {
    case Counter::Recorded:
      offset = offsetof(kevt_counts, recorded);
      break;
    case Counter::Aggregated:
      offset = offsetof(kevt_counts, aggregated);
      break;
    case Counter::Filtered:
      offset = offsetof(kevt_counts, filtered);
      break;
    case Counter::Lost:
      offset = offsetof(kevt_counts, lost);
      break;
  }
  count_at(b, sink * sizeof(kevt_counts) + offset);
}

TargetHooks::HitTableShape NativeHooks::hit_table_shape() const {
  return {.bytes = KEVT_HIT_TABLE_BYTES, .near_bytes = KEVT_HIT_NEAR_BYTES, .is_shared = false};
}

// The tables of all threads' shards lie in a row, KEVT_HIT_TABLE_BYTES each; this thread's is taken.
Value* NativeHooks::hit_table(llvm::IRBuilder<>& b, std::uint32_t slot_index) {
  Value* shard = b.CreateZExt(read(b, thread_, offsetof(kevt_thread, shard), 32), b.getInt64Ty());
  Value* own = b.CreateShl(shard, b.getInt64(KEVT_HIT_TABLE_SHIFT));
  return b.CreateInBoundsGEP(b.getInt8Ty(), b.CreateIntToPtr(slot(b, slot_index), b.getPtrTy()), own);
}

void NativeHooks::add(llvm::IRBuilder<>& b, Value* number, Value* amount) {
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getInt64Ty()}, false);
  auto* text = llvm::InlineAsm::get(type, "addq $1, $0", "=*m,re,~{flags}", true);
  llvm::CallInst* call = b.CreateCall(text, {number, amount});
  call->addParamAttr(0, llvm::Attribute::get(b.getContext(), llvm::Attribute::ElementType, b.getInt64Ty()));
}

void NativeHooks::add_one(llvm::IRBuilder<>& b, Value* number) { increment(b, number, 0); }

// A signal's hits may come between the look and the exchange, in the same table. New extremes are seldom: most hits
// only compare.
void NativeHooks::raise(llvm::IRBuilder<>& b, Value* number, Value* least) {
  llvm::Function* function = b.GetInsertBlock()->getParent();
  llvm::LLVMContext& context = b.getContext();
  auto* look = llvm::BasicBlock::Create(context, "extreme", function);
  auto* exchange = llvm::BasicBlock::Create(context, "new_extreme", function);
  auto* done = llvm::BasicBlock::Create(context, "kept", function);
  b.CreateBr(look);
  b.SetInsertPoint(look);
  llvm::LoadInst* known = b.CreateAlignedLoad(b.getInt64Ty(), number, llvm::Align(8), true);
  b.CreateCondBr(b.CreateICmpULT(known, least), exchange, done, llvm::MDBuilder(context).createBranchWeights(1, 1000));
  b.SetInsertPoint(exchange);
  constexpr auto kOrder = llvm::AtomicOrdering::Monotonic;
  Value* had =
      b.CreateAtomicCmpXchg(number, known, least, llvm::Align(8), kOrder, kOrder, llvm::SyncScope::SingleThread);
  b.CreateCondBr(b.CreateExtractValue(had, 1), done, look);
  b.SetInsertPoint(done);
}

Value* NativeHooks::gate(llvm::IRBuilder<>& b, std::uint32_t sink) {
  Value* gates = read(b, event_, offsetof(kevt_event, gates), 32);
  return b.CreateICmpNE(b.CreateAnd(gates, b.getInt32(1u << sink)), b.getInt32(0));
}

Value* NativeHooks::inject(llvm::IRBuilder<>& b) {
  return b.CreateIsNotNull(service(b, offsetof(kevt_services, inject), b.getInt32Ty(), {event_, frame(b, 0)}));
}

}  // namespace kevt::codegen

// The BPF half of an extractor: its context, its counters, the words of the hit.
//
//   r6 = ctx; cpu = smp_processor_id() & (cpus - 1)
//   event = &event, or events[attach_cookie]          row = event + 64 + cpu * 64 * sinks
//   row.hits += 1; …the event's own code…; row.faults += faults of this hit
//
// Counters are the CPU's own. Kprobes do not nest and are not preempted, so plain additions are exact; they also are in
// programs that the kernel runs once at a time on a CPU. Programs of user threads can be preempted and add
// atomically.
//
// The verifier follows every path through a program and knows values by ranges. So fetching has no branches (a bad
// address becomes one that no machine has, and the helper writes 0), and opaque() values keep LLVM from rewriting
// checks of bounds.
#include "compiler/codegen/bpf_hooks.h"

#include <llvm/IR/InlineAsm.h>

#include <cstddef>

#include "common/abi/bpf.h"
#include "common/abi/hit_table.h"
#include "common/abi/registers.h"
#include "common/assert.h"
#include "compiler/codegen/bpf_helpers.h"

namespace kevt::codegen {

using llvm::BasicBlock;
using llvm::Value;

namespace {

std::uint32_t texts_kept(const ir::Program& program) {
  bool compared = program.sinks.size() > 1 || !ir::conditions_of(program).empty() || !program.aggregates.empty();
  std::uint32_t strings = 0, names = 0;
  for (const ir::Value& value : program.values) {
    strings += compared && ir::reads_text(value.op) ? 1 : 0;
    if (value.op == ir::Op::Comm) names = 1;
  }
  return strings + names;
}

bool needs_scratch(const ir::Program& program) {
  for (const ir::Value& value : program.values)
    if (ir::result_type(value.op) == ir::ResultType::Text) return true;
  for (const ir::Store& store : program.stores)
    if (ir::is_dynamic(store.kind)) return true;
  return program.takes_stack;
}

}  // namespace

BpfHooks::BpfHooks(llvm::Module& module, const BpfInput& input, unsigned cpus) : module_(module), input_(input) {
  const ir::Program& program = *input.program;
  layout_.context = input.context;
  layout_.cpus = cpus;
  layout_.slots_offset =
      static_cast<std::uint32_t>(sizeof(kevt_bpf_event) + cpus * program.sinks.size() * sizeof(kevt_bpf_counts));
  layout_.event_bytes = layout_.slots_offset + 8 * static_cast<std::uint32_t>(program.slots.size());
  if (!needs_scratch(program)) return;
  // Room for one string more than are kept: comparisons may read behind the end of the last one.
  one_scratch_ = KEVT_BPF_TEXTS + (texts_kept(program) + 1) * KEVT_BPF_TEXT_BYTES;
  layout_.scratch_bytes = may_sleep() ? KEVT_BPF_SCRATCHES * one_scratch_ + KEVT_BPF_TEXT_BYTES : one_scratch_;
}

// ---- plumbing -------------------------------------------------------------------------------

BasicBlock* BpfHooks::block(const char* name) { return BasicBlock::Create(module_.getContext(), name, function_); }

Value* BpfHooks::opaque(llvm::IRBuilder<>& b, Value* value) {
  auto* type = llvm::FunctionType::get(value->getType(), {value->getType()}, false);
  return b.CreateCall(llvm::InlineAsm::get(type, "", "=r,0", true), {value});
}

Value* BpfHooks::at(llvm::IRBuilder<>& b, Value* base, Value* offset) {
  return b.CreateGEP(b.getInt8Ty(), base, offset);
}
Value* BpfHooks::at(llvm::IRBuilder<>& b, Value* base, std::uint64_t offset) {
  return b.CreateConstGEP1_64(b.getInt8Ty(), base, offset);
}
Value* BpfHooks::load(llvm::IRBuilder<>& b, Value* from, unsigned bits) {
  return b.CreateAlignedLoad(b.getIntNTy(bits), from, llvm::Align(bits / 8));
}
void BpfHooks::store(llvm::IRBuilder<>& b, Value* value, Value* to) {
  const unsigned bytes = value->getType()->getIntegerBitWidth() / 8;
  b.CreateAlignedStore(value, to, llvm::Align(bytes));
}

Value* BpfHooks::helper(llvm::IRBuilder<>& b, std::uint64_t number, llvm::ArrayRef<Value*> arguments,
                        llvm::Type* result) {
  std::vector<llvm::Type*> types;
  for (Value* argument : arguments) types.push_back(argument->getType());
  auto* type = llvm::FunctionType::get(result ? result : b.getInt64Ty(), types, false);
  return b.CreateCall(type, llvm::ConstantExpr::getIntToPtr(b.getInt64(number), b.getPtrTy()), arguments);
}

Value* BpfHooks::map(llvm::IRBuilder<>& b, const char* symbol) {
  if (llvm::GlobalVariable* known = module_.getNamedGlobal(symbol)) return known;
  return new llvm::GlobalVariable(module_, b.getInt8Ty(), false, llvm::GlobalValue::ExternalLinkage, nullptr, symbol);
}

// The store is volatile, so that readers of hit tables see the stores in this order.
void BpfHooks::add(llvm::IRBuilder<>& b, Value* to, Value* amount) {
  if (input_.context != model::BpfContext::Uprobe) {
    b.CreateAlignedStore(b.CreateAdd(load(b, to, 64), amount), to, llvm::Align(8), true);
    return;
  }
  b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, to, amount, llvm::Align(8), llvm::AtomicOrdering::Monotonic);
}

// Only where hits are alone on their CPU: others would need a loop (HitAggregation leaves those to the reader).
void BpfHooks::raise(llvm::IRBuilder<>& b, Value* number, Value* least) {
  KEVT_ASSERT(input_.context != model::BpfContext::Uprobe);
  Value* known = load(b, number, 64);
  Value* greater = b.CreateSelect(b.CreateICmpULT(known, least), least, known);
  b.CreateAlignedStore(greater, number, llvm::Align(8), true);
}

// ---- the function ---------------------------------------------------------------------------

llvm::Function* BpfHooks::declare(const std::string& name, const ir::Program&) {
  llvm::LLVMContext& context = module_.getContext();
  auto* type = llvm::FunctionType::get(llvm::Type::getInt64Ty(context), {llvm::PointerType::get(context, 0)}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module_);
  function_->setSection("kevt/" + name);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  function_->addFnAttr(llvm::Attribute::NullPointerIsValid);
  function_->addFnAttr("no-builtins");
  BasicBlock* entry = block("entry");
  out_ = block("out");
  llvm::IRBuilder<> b(out_);
  // If a static event's program returns 0, no perf user of the event gets the hit, and we do not either.
  b.CreateRet(b.getInt64(input_.context == model::BpfContext::Tracepoint ? 1 : 0));
  b.SetInsertPoint(entry);
  word_ = b.CreateAlloca(b.getInt64Ty(), nullptr, "word");
  key_ = b.CreateAlloca(b.getInt32Ty(), nullptr, "key");
  faults_ = b.CreateAlloca(b.getInt64Ty(), nullptr, "faults");
  kept_words_ = ir::entry_arguments(*input_.program).size();
  if (kept_words_ == 0) return function_;
  kept_ = b.CreateAlloca(llvm::ArrayType::get(b.getInt64Ty(), 1 + kept_words_), nullptr, "kept");
  call_ = b.CreateAlloca(llvm::ArrayType::get(b.getInt64Ty(), sizeof(kevt_bpf_call) / 8), nullptr, "call");
  return function_;
}

// ---- arguments of the entry -------------------------------------------------------------------

// Takes this call's kept words from the map; returns whether that failed. The words are copied first and then deleted
// from the map: only if the deletion succeeds were they this call's all the time. When the map is full it drops an
// entry and gives its place to another call at once.
Value* BpfHooks::take_from_map(llvm::IRBuilder<>& b, Value* cookie, BasicBlock* none) {
  const auto keep = [&](Value* value, std::size_t offset) {
    b.CreateAlignedStore(value, at(b, call_, offset), llvm::Align(8), true);
  };
  // The return has taken its address off the stack.
  Value* slot = b.CreateSub(register_word(b, offsetof(kevt_registers, sp)), b.getInt64(8));
  keep(slot, offsetof(kevt_bpf_call, slot));
  keep(cookie, offsetof(kevt_bpf_call, cookie));
  keep(helper(b, kPidTgid, {}), offsetof(kevt_bpf_call, thread));
  Value* found = helper(b, kMapLookup, {map(b, "kevt_kept"), call_}, b.getPtrTy());
  BasicBlock* there = block("kept");
  b.CreateCondBr(b.CreateIsNull(found), none, there);
  b.SetInsertPoint(there);
  for (std::size_t i = 0; i < kept_words_; ++i)
    b.CreateAlignedStore(load(b, at(b, found, kept_word(i)), 64), at(b, kept_, kept_word(i)), llvm::Align(8), true);
  Value* doubt = load(b, at(b, found, offsetof(kevt_bpf_kept, doubt)), 64);
  return b.CreateOr(doubt, helper(b, kMapDelete, {map(b, "kevt_kept"), call_}));
}

// Fills in kept_. kevtrace.ko's cookies are addresses of the kernel, negative as numbers; all others are small.
BpfHooks::Call BpfHooks::take_kept(llvm::IRBuilder<>& b, Value* cookie) {
  for (std::size_t i = 0; i <= kept_words_; ++i)
    b.CreateAlignedStore(b.getInt64(0), at(b, kept_, 8 * i), llvm::Align(8), true);
  BasicBlock* instance = block("instance");
  BasicBlock* in_map = block("in_map");
  BasicBlock* taken = block("taken");
  BasicBlock* none = block("none");
  b.CreateCondBr(b.CreateICmpSLT(cookie, b.getInt64(0)), instance, in_map);

  b.SetInsertPoint(instance);
  const auto bytes = static_cast<std::uint32_t>(kept_word(kept_words_));
  Value* unreadable = helper(b, kProbeReadKernel, {kept_, b.getInt32(bytes), cookie});
  Value* own = b.CreateAlignedLoad(b.getInt64Ty(), kept_, llvm::Align(8), true);
  b.CreateBr(taken);

  b.SetInsertPoint(in_map);
  Value* failed = take_from_map(b, cookie, none);
  BasicBlock* copied = b.GetInsertBlock();
  b.CreateBr(taken);
  b.SetInsertPoint(none);
  b.CreateBr(taken);

  b.SetInsertPoint(taken);
  Call call{.cookie = b.CreatePHI(b.getInt64Ty(), 3), .lost = b.CreatePHI(b.getInt64Ty(), 3)};
  const auto from = [&](BasicBlock* before, Value* its, Value* lost) {
    call.cookie->addIncoming(its, before);
    call.lost->addIncoming(lost, before);
  };
  from(instance, own, unreadable);
  from(copied, cookie, failed);
  from(none, cookie, b.getInt64(1));
  return call;
}

void BpfHooks::begin(llvm::IRBuilder<>& b, std::uint32_t sinks) {
  b.CreateStore(b.getInt64(0), faults_);
  if (may_sleep()) stay_on_thread_stack(b);
  cpu_ = b.CreateAnd(opaque(b, helper(b, kProcessorId, {})), b.getInt64(layout_.cpus - 1));
  Value* cookie = nullptr;
  Value* lost = nullptr;
  const bool many = input_.users == BpfUsers::Many && model::has_cookie(input_.context);
  if (many || kept_) cookie = helper(b, kAttachCookie, {function_->getArg(0)});
  if (kept_) {
    const Call call = take_kept(b, cookie);
    cookie = call.cookie;
    lost = call.lost;
  }
  if (!many) {
    event_ = map(b, "kevt_event");
  } else {
    b.CreateAlignedStore(b.CreateTrunc(cookie, b.getInt32Ty()), key_, llvm::Align(4), true);
    event_ = helper(b, kMapLookup, {map(b, "kevt_events"), key_}, b.getPtrTy());
    BasicBlock* found = block("found");
    b.CreateCondBr(b.CreateIsNull(event_), out_, found);
    b.SetInsertPoint(found);
  }
  Value* distance = b.CreateMul(cpu_, b.getInt64(sinks * sizeof(kevt_bpf_counts)));
  row_ = at(b, at(b, event_, sizeof(kevt_bpf_event)), distance);
  add(b, at(b, row_, offsetof(kevt_bpf_counts, hits)), b.getInt64(1));
  if (lost) miss_where(b, b.CreateIsNotNull(lost));
  if (layout_.scratch_bytes == 0) return;
  scratches_ = at(b, map(b, "kevt_scratch"), b.CreateMul(cpu_, b.getInt64(layout_.scratch_bytes)));
  if (!may_sleep()) scratch_ = scratches_;
}

// From 6.13 on a program that needs 64 bytes of stack or more gets a stack for each CPU (check_max_stack_depth() of
// kernel/bpf/verifier.c). But a uprobe's program may be preempted by another thread that runs the same program, which
// would overwrite that stack, with pointers of the kernel in it. Programs that hold a tail call stay on the stack of
// the thread. The tail call here is never made: the verifier knows that, too, and removes it.
void BpfHooks::stay_on_thread_stack(llvm::IRBuilder<>& b) {
  BasicBlock* never = block("never");
  BasicBlock* always = block("always");
  b.CreateCondBr(b.CreateIsNull(opaque(b, b.getInt64(0))), always, never);
  b.SetInsertPoint(never);
  helper(b, kTailCall, {function_->getArg(0), b.getInt64(0), b.getInt64(0)});
  b.CreateBr(out_);
  b.SetInsertPoint(always);
}

void BpfHooks::miss_where(llvm::IRBuilder<>& b, Value* missed) {
  BasicBlock* busy = block("busy");
  BasicBlock* ours = block("ours");
  b.CreateCondBr(missed, busy, ours);
  b.SetInsertPoint(busy);
  add(b, at(b, row_, offsetof(kevt_bpf_counts, busy)), b.getInt64(1));
  b.CreateBr(out_);
  b.SetInsertPoint(ours);
}

void BpfHooks::finish(llvm::IRBuilder<>& b) {
  add(b, at(b, row_, offsetof(kevt_bpf_counts, faults)), b.CreateLoad(b.getInt64Ty(), faults_));
  if (scratch_ && input_.context == model::BpfContext::Uprobe) {
    Value* in_use = at(b, scratch_, offsetof(kevt_bpf_scratch, in_use));
    b.CreateAlignedStore(b.getInt64(0), in_use, llvm::Align(8), true);
  }
  b.CreateBr(out_);
}

// ---- what the hit sees ----------------------------------------------------------------------

Value* BpfHooks::register_word(llvm::IRBuilder<>& b, std::uint32_t offset) {
  return b.CreateAlignedLoad(b.getInt64Ty(), at(b, function_->getArg(0), offset), llvm::Align(8), true);
}
Value* BpfHooks::vector_word(llvm::IRBuilder<>&, std::uint32_t) {
  KEVT_ASSERT(!"bpf_refusal()");
  return nullptr;
}
Value* BpfHooks::thread_local_address(llvm::IRBuilder<>&, std::uint32_t) {
  KEVT_ASSERT(!"bpf_refusal()");
  return nullptr;
}
// The slot of an address in a user program's file holds the distance from the probed instruction.
Value* BpfHooks::slot(llvm::IRBuilder<>& b, std::uint32_t index) {
  Value* word = load(b, at(b, event_, layout_.slots_offset + 8ull * index), 64);
  if (input_.program->slots[index].kind != model::SlotKind::FileAddress) return word;
  return b.CreateAdd(word, register_word(b, offsetof(kevt_registers, ip)));
}
// The slot holds the cell's distance in bytes from the first cell.
Value* BpfHooks::shared_cell(llvm::IRBuilder<>& b, std::uint32_t slot_index) {
  static_assert((KEVT_BPF_WORDS & (KEVT_BPF_WORDS - 1)) == 0);
  Value* distance = load(b, at(b, event_, layout_.slots_offset + 8ull * slot_index), 64);
  Value* inside = b.CreateAnd(opaque(b, distance), b.getInt64(8 * (KEVT_BPF_WORDS - 1)));
  return at(b, map(b, "kevt_words"), opaque(b, inside));
}
Value* BpfHooks::event_id(llvm::IRBuilder<>& b) {
  return b.CreateZExt(load(b, at(b, event_, offsetof(kevt_bpf_event, event_id)), 32), b.getInt64Ty());
}
Value* BpfHooks::pid(llvm::IRBuilder<>& b) { return b.CreateAnd(helper(b, kPidTgid, {}), b.getInt64(0xffffffff)); }
Value* BpfHooks::cpu(llvm::IRBuilder<>&) { return cpu_; }
Value* BpfHooks::probe_address(llvm::IRBuilder<>& b) {
  if (input_.context == model::BpfContext::Uprobe || input_.context == model::BpfContext::Watch)
    return register_word(b, offsetof(kevt_registers, ip));
  if (input_.context == model::BpfContext::Tracepoint) return b.CreatePtrToInt(function_->getArg(0), b.getInt64Ty());
  return load(b, at(b, event_, offsetof(kevt_bpf_event, probe_address)), 64);
}
// To the verifier the record's address is a pointer, with which a program may not compute; a copy that a helper makes
// is a number to it.
Value* BpfHooks::record_address(llvm::IRBuilder<>& b) {
  if (input_.context != model::BpfContext::Tracepoint) return probe_address(b);
  b.CreateAlignedStore(probe_address(b), word_, llvm::Align(8), true);
  helper(b, kProbeReadKernel, {word_, b.getInt32(8), word_});
  return b.CreateAlignedLoad(b.getInt64Ty(), word_, llvm::Align(8), true);
}
// Handlers of return probes see the registers as they are when the function has returned.
Value* BpfHooks::return_address(llvm::IRBuilder<>& b) { return register_word(b, offsetof(kevt_registers, ip)); }

Value* BpfHooks::entry_argument(llvm::IRBuilder<>& b, std::uint32_t index) {
  return b.CreateAlignedLoad(b.getInt64Ty(), at(b, kept_, kept_word(index)), llvm::Align(8), true);
}

// ---- counting -------------------------------------------------------------------------------

void BpfHooks::count_fault(llvm::IRBuilder<>& b) { add_faults(b, b.getInt64(1)); }
void BpfHooks::add_faults(llvm::IRBuilder<>& b, Value* count) {
  b.CreateStore(b.CreateAdd(b.CreateLoad(b.getInt64Ty(), faults_), count), faults_);
}

void BpfHooks::count(llvm::IRBuilder<>& b, Counter counter, std::uint32_t sink) {
  std::uint64_t offset = 0;
  switch (counter) {
    case Counter::Recorded:
      offset = offsetof(kevt_bpf_counts, recorded);
      break;
    case Counter::Aggregated:
      offset = offsetof(kevt_bpf_counts, aggregated);
      break;
    case Counter::Filtered:
      offset = offsetof(kevt_bpf_counts, filtered);
      break;
    case Counter::Lost:
      offset = offsetof(kevt_bpf_counts, lost);
      break;
  }
  add(b, at(b, row_, sink * sizeof(kevt_bpf_counts) + offset), b.getInt64(1));
}

TargetHooks::HitTableShape BpfHooks::hit_table_shape() const {
  return {.bytes = KEVT_HIT_BPF_BYTES,
          .near_bytes = KEVT_HIT_BPF_BYTES,
          .is_shared = input_.context == model::BpfContext::Uprobe};
}

// In the map lie the first histogram's tables, one for each CPU, then those of the next histogram.
Value* BpfHooks::hit_table(llvm::IRBuilder<>& b, std::uint32_t slot_index) {
  const auto table = static_cast<std::uint64_t>(input_.program->slots[slot_index].addend);
  Value* const first = at(b, map(b, "kevt_hits"), table * layout_.cpus * KEVT_HIT_BPF_BYTES);
  return at(b, first, b.CreateMul(cpu_, b.getInt64(KEVT_HIT_BPF_BYTES)));
}

Value* BpfHooks::gate(llvm::IRBuilder<>& b, std::uint32_t sink) {
  Value* gates = load(b, at(b, event_, offsetof(kevt_bpf_event, gates)), 32);
  return b.CreateICmpNE(b.CreateAnd(gates, b.getInt32(1u << sink)), b.getInt32(0));
}

Value* BpfHooks::inject(llvm::IRBuilder<>& b) {
  KEVT_ASSERT(!"compile_events() refuses it");
  return b.getFalse();
}

}  // namespace kevt::codegen

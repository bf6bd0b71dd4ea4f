// One event's extractor. The shape, for two sinks:
//
//   begin ─► actions ─► gate 0 ─► condition 0 ─► record 0 ─► gate 1 ─► condition 1 ─► record 1 ─► late actions ─►
//   finish
//               └────────── filtered ──┘
//
// Aggregates, if there are any, replace the condition (aggregate_emitter.cpp).
//
// Laziness: a value that costs something (a load, a string, the thread's name) has three locals: a `done`
// flag, the value, and whether it could be read. Every use first makes sure that the value was fetched.
// Which values are certainly fetched is tracked along the blocks, so most flags are never read and
// LLVM removes them; the rest stay, which is what short circuits need.
//
// Pure values (registers, constants, narrowing) are emitted at each use: LLVM shares them. A pure value
// is 0 if its operand faulted, because the operand is 0 then.
#include "compiler/codegen/event_emitter.h"

#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "common/assert.h"
#include "compiler/model/floating.h"

namespace kevt::codegen {

using ir::ConditionKind;
using ir::Op;
using ir::StoreKind;
using llvm::BasicBlock;
using llvm::Value;

namespace {

// Whether a value is fetched once and kept: all values but those that are cheap to compute again.
bool is_memoized(Op op) {
  return ir::result_type(op) == ir::ResultType::Text || ir::row_of(op).fault == ir::Fault::Reads;
}

void texts_of(const ir::Program& program, const ir::Condition& c, std::set<ir::ValueId>& out) {
  if (c.kind == ConditionKind::MatchText) out.insert(c.value);
  for (const ir::Condition& child : c.children) texts_of(program, child, out);
}

}  // namespace

EventEmitter::EventEmitter(llvm::Module& module, const ir::Program& program, TargetHooks& hooks)
    : module_(module), program_(program), hooks_(hooks), b_(module.getContext()) {}

// ---- plumbing -------------------------------------------------------------------------------

BasicBlock* EventEmitter::block(const char* name) { return BasicBlock::Create(module_.getContext(), name, function_); }

void EventEmitter::note_known(BasicBlock* at) {
  auto [it, is_new] = known_at_.try_emplace(at, known_);
  if (is_new) return;
  std::set<ir::ValueId> both;
  std::ranges::set_intersection(it->second, known_, std::inserter(both, both.end()));
  it->second = std::move(both);
}

void EventEmitter::go(BasicBlock* to) {
  note_known(to);
  b_.CreateBr(to);
}

void EventEmitter::branch(Value* c, BasicBlock* yes, BasicBlock* no, Likely likely) {
  note_known(yes);
  note_known(no);
  llvm::MDNode* weights = nullptr;
  if (likely == Likely::First) weights = llvm::MDBuilder(module_.getContext()).createLikelyBranchWeights();
  b_.CreateCondBr(c, yes, no, weights);
}

void EventEmitter::start(BasicBlock* at) {
  b_.SetInsertPoint(at);
  if (auto it = known_at_.find(at); it != known_at_.end()) known_ = it->second;
}

llvm::AllocaInst* EventEmitter::local(llvm::Type* type, const char* name) {
  llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  return entry.CreateAlloca(type, nullptr, name);
}

Value* EventEmitter::constant_text(const std::string& text) { return b_.CreateGlobalString(text, "text", 0, &module_); }

// ---- the event ------------------------------------------------------------------------------

// Strings stay in scratch if a filter reads them (the compared bytes must be the recorded bytes) or
// if several sinks record them.
void EventEmitter::plan_memos() {
  std::set<ir::ValueId> compared;
  for (const ir::Condition* condition : ir::conditions_of(program_)) texts_of(program_, *condition, compared);
  if (keeps_text_keys())
    for (const ir::Aggregate& aggregate : program_.aggregates)
      for (const ir::Measured& key : aggregate.keys) compared.insert(key.value);
  std::uint32_t scratch = 0;
  std::optional<std::uint32_t> name_scratch;  // all values that are the thread's name share one place
  for (ir::ValueId id = 0; id < program_.values.size(); ++id) {
    const ir::Value& value = program_.values[id];
    if (!is_memoized(value.op)) continue;
    Memo memo;
    memo.done = local(b_.getInt1Ty(), "done");
    b_.CreateStore(b_.getFalse(), memo.done);
    const bool is_text = ir::result_type(value.op) == ir::ResultType::Text;
    memo.value = local(is_text ? b_.getInt32Ty() : b_.getInt64Ty(), "value");
    if (!is_text) memo.ok = local(b_.getInt1Ty(), "ok");
    if (value.op == Op::Comm) {
      if (!name_scratch) name_scratch = scratch++;
      memo.in_scratch = true;
      memo.scratch = *name_scratch;
    } else if (ir::reads_text(value.op) && (compared.contains(id) || program_.sinks.size() > 1)) {
      memo.in_scratch = true;
      memo.scratch = scratch++;
    } else if (ir::reads_text(value.op)) {
      for (llvm::AllocaInst*& word : memo.words) word = local(b_.getInt64Ty(), "word");
    }
    memos_.emplace(id, memo);
  }
}

void EventEmitter::emit(const std::string& name) {
  function_ = hooks_.declare(name, program_);
  b_.SetInsertPoint(&function_->getEntryBlock());
  plan_memos();
  hooks_.begin(b_, static_cast<std::uint32_t>(program_.sinks.size()));
  prepare();
  read_early_gates();
  emit_actions();
  for (std::uint32_t i = 0; i < program_.sinks.size(); ++i) {
    BasicBlock* next = block("next");
    emit_sink(i, next);
    start(next);
  }
  emit_late_actions();
  hooks_.finish(b_);
}

void EventEmitter::emit_sink(std::uint32_t index, BasicBlock* next) {
  BasicBlock* open = block("open");
  BasicBlock* accepted = block("accepted");
  BasicBlock* filtered = block("filtered");
  branch(b_.CreateAnd(hooks_.gate(b_, index), gates_are_open()), open, filtered, Likely::First);

  start(open);
  const ir::InstanceSink& sink = program_.sinks[index];
  if (!program_.aggregates.empty()) {
    emit_aggregates(index, next, filtered, accepted);
  } else if (sink.condition) {
    condition(*sink.condition, accepted, filtered);
  } else {
    go(accepted);
  }
  start(filtered);
  hooks_.count(b_, Counter::Filtered, index);
  go(next);

  start(accepted);
  if (program_.injects) {
    BasicBlock* injected = block("injected");
    branch(hooks_.inject(b_), injected, filtered);
    start(injected);
  }
  emit_record(index, next);
}

// ---- conditions -----------------------------------------------------------------------------

void EventEmitter::condition(const ir::Condition& c, BasicBlock* yes, BasicBlock* no) {
  switch (c.kind) {
    case ConditionKind::Never:
      return go(no);
    case ConditionKind::Not:
      return condition(c.children.front(), no, yes);
    case ConditionKind::And:
    case ConditionKind::Or:
      for (std::size_t i = 0; i + 1 < c.children.size(); ++i) {
        BasicBlock* next = block("term");
        if (c.kind == ConditionKind::And) {
          condition(c.children[i], next, no);
        } else {
          condition(c.children[i], yes, next);
        }
        start(next);
      }
      return condition(c.children.back(), yes, no);
    case ConditionKind::Compare:
      return compare(c, yes, no);
    case ConditionKind::MatchText:
      return match_text(c, yes, no);
  }
}

void EventEmitter::compare(const ir::Condition& c, BasicBlock* yes, BasicBlock* no) {
  Value* left = integer(c.value);
  Value* right = b_.getInt64(c.constant);
  using P = llvm::CmpInst::Predicate;
  P predicate = P::ICMP_EQ;
  switch (c.op) {
    case model::CompareOp::Equal:
      break;
    case model::CompareOp::NotEqual:
      predicate = P::ICMP_NE;
      break;
    case model::CompareOp::Less:
      predicate = c.is_signed ? P::ICMP_SLT : P::ICMP_ULT;
      break;
    case model::CompareOp::LessEqual:
      predicate = c.is_signed ? P::ICMP_SLE : P::ICMP_ULE;
      break;
    case model::CompareOp::Greater:
      predicate = c.is_signed ? P::ICMP_SGT : P::ICMP_UGT;
      break;
    case model::CompareOp::GreaterEqual:
      predicate = c.is_signed ? P::ICMP_SGE : P::ICMP_UGE;
      break;
    case model::CompareOp::BitAnd:
      left = b_.CreateAnd(left, right);
      right = b_.getInt64(0);
      predicate = P::ICMP_NE;
      break;
    case model::CompareOp::Glob:
      KEVT_ASSERT(!"verify() keeps globs out of integer comparisons");
  }
  branch(b_.CreateICmp(predicate, left, right), yes, no);
}

// ---- values ---------------------------------------------------------------------------------

bool EventEmitter::can_fault(ir::ValueId id) const {
  const ir::Value& value = program_.values[id];
  const ir::Fault fault = ir::row_of(value.op).fault;
  return fault == ir::Fault::Reads || (fault == ir::Fault::Passes && can_fault(value.a));
}

std::uint32_t EventEmitter::entry_argument_index(std::int64_t number) const {
  const auto numbers = ir::entry_arguments(program_);
  return static_cast<std::uint32_t>(std::ranges::find(numbers, number) - numbers.begin());
}

Value* EventEmitter::value_constant(ir::ValueId id) {
  return constant(ir::value_position(id), program_.values[id].imm);
}
Value* EventEmitter::store_constant(const ir::Store& store) {
  return constant(ir::store_position(program_, static_cast<std::size_t>(&store - program_.stores.data())), store.imm);
}

Value* EventEmitter::register_word(ir::ValueId id) {
  return hooks_.register_word(b_, static_cast<std::uint32_t>(program_.values[id].imm));
}
Value* EventEmitter::entry_argument(ir::ValueId id) {
  return hooks_.entry_argument(b_, entry_argument_index(program_.values[id].imm));
}
Value* EventEmitter::take_bits(ir::ValueId id) {
  const ir::Value& v = program_.values[id];
  Value* shifted = b_.CreateLShr(integer(v.a), b_.getInt64(v.shift));
  return v.width >= 64 ? shifted : b_.CreateAnd(shifted, b_.getInt64((1ull << v.width) - 1));
}

// Emits what model::order_of_float() computes.
Value* EventEmitter::float_order(const ir::Value& value) {
  Value* bits = integer(value.a);
  if (value.bytes == 4) bits = b_.CreateShl(bits, b_.getInt64(32));
  Value* size = b_.CreateAnd(bits, b_.getInt64(~model::kFloatSign));
  Value* is_number = b_.CreateICmpULE(size, b_.getInt64(model::float_infinity(value.bytes)));
  Value* order = b_.CreateSelect(b_.CreateICmpEQ(bits, size), size, b_.CreateNeg(size));
  return b_.CreateSelect(is_number, order, b_.getInt64(model::kOrderOfNan));
}

// The number of bytes that a CountedString reads at most.
Value* EventEmitter::text_bytes(ir::ValueId count) {
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, integer(count), b_.getInt64(model::kMaxStringBytes - 1));
}

Value* EventEmitter::counted_bytes(const ir::Store& store, Value* first) {
  Value* const length = integer(store.length);
  const std::uint64_t bits = std::countr_zero(store.bytes);
  Value* items = length;
  if (store.length_is_end) {
    Value* const end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, length, first);
    items = b_.CreateLShr(b_.CreateSub(end, first), bits);
  }
  return b_.CreateShl(b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, items, b_.getInt64(store.count)), bits);
}

Value* EventEmitter::loaded(ir::ValueId id) {
  ensure(id);
  return b_.CreateLoad(b_.getInt64Ty(), memos_.at(id).value);
}

Value* EventEmitter::integer(ir::ValueId id) {
  const ir::Value& v = program_.values[id];
  switch (v.op) {
    case Op::Register:
      return register_word(id);
    case Op::Vector:
      return hooks_.vector_word(b_, static_cast<std::uint32_t>(v.imm));
    case Op::Immediate:
      return value_constant(id);
    case Op::Slot:
      return hooks_.slot(b_, static_cast<std::uint32_t>(v.imm));
    case Op::ThreadLocal:
      return hooks_.thread_local_address(b_, static_cast<std::uint32_t>(v.imm));
    case Op::Load:
    case Op::SpanContext:
    case Op::StackNumber:
      return loaded(id);
    case Op::Bits:
      return take_bits(id);
    case Op::Narrow: {
      if (v.bytes == 8) return integer(v.a);
      llvm::Type* narrow = b_.getIntNTy(v.bytes * 8u);
      Value* low = b_.CreateTrunc(integer(v.a), narrow);
      return v.is_signed ? b_.CreateSExt(low, b_.getInt64Ty()) : b_.CreateZExt(low, b_.getInt64Ty());
    }
    case Op::FloatOrder:
      return float_order(v);
    case Op::ByteSwap: {
      Value* swapped = b_.CreateUnaryIntrinsic(llvm::Intrinsic::bswap, integer(v.a));
      const std::uint64_t above = 64 - 8 * v.bytes;
      return v.is_signed ? b_.CreateAShr(swapped, above) : b_.CreateLShr(swapped, above);
    }
    case Op::ProbeAddress:
      return hooks_.probe_address(b_);
    case Op::Located: {
      Value* word = integer(v.a);
      Value* address = b_.CreateAdd(hooks_.record_address(b_), b_.CreateAnd(word, b_.getInt64(0xffff)));
      return b_.CreateSelect(b_.CreateICmpEQ(word, b_.getInt64(0)), b_.getInt64(0), address);
    }
    case Op::ReturnAddress:
      return program_.probe_kind == model::ProbeKind::Return ? hooks_.return_address(b_) : b_.getInt64(0);
    case Op::EntryArgument:
      return entry_argument(id);
    case Op::EventId:
      return hooks_.event_id(b_);
    case Op::Pid:
      return hooks_.pid(b_);
    case Op::Cpu:
      return hooks_.cpu(b_);
    case Op::String:
    case Op::CountedString:
    case Op::ImmediateText:
    case Op::Comm:
    case Op::SymbolText:
      break;
  }
  KEVT_ASSERT(!"verify() keeps texts out of integer operands");
  return nullptr;
}

Value* EventEmitter::is_ok(ir::ValueId id) {
  if (!can_fault(id)) return b_.getTrue();
  const ir::Value& v = program_.values[id];
  if (ir::row_of(v.op).fault != ir::Fault::Reads) return is_ok(v.a);
  ensure(id);
  return b_.CreateLoad(b_.getInt1Ty(), memos_.at(id).ok);
}

void EventEmitter::ensure(ir::ValueId id) {
  if (known_.contains(id)) return;
  const Memo& memo = memos_.at(id);
  BasicBlock* missing = block("fetch");
  BasicBlock* ready = block("ready");
  const std::set<ir::ValueId> before = known_;
  b_.CreateCondBr(b_.CreateLoad(b_.getInt1Ty(), memo.done), ready, missing);
  b_.SetInsertPoint(missing);
  fetch(id);
  b_.CreateStore(b_.getTrue(), memo.done);
  b_.CreateBr(ready);
  b_.SetInsertPoint(ready);
  known_ = before;  // the value's operands were fetched only on the path that needed them
  known_.insert(id);
}

void EventEmitter::fetch(ir::ValueId id) {
  const ir::Value& value = program_.values[id];
  const Memo& memo = memos_.at(id);
  if (ir::result_type(value.op) == ir::ResultType::Integer) {
    fetch_load(id, memo);
  } else {
    fetch_text(id, memo);
  }
}

// Fetches a text: sets its length, and its bytes if it is kept in scratch.
void EventEmitter::fetch_text(ir::ValueId id, const Memo& memo) {
  const ir::Value& value = program_.values[id];
  switch (value.op) {
    case Op::ImmediateText: {
      const auto size = program_.texts[static_cast<std::size_t>(value.imm)].size() + 1;
      b_.CreateStore(b_.getInt32(static_cast<std::uint32_t>(size)), memo.value);
      return;
    }
    case Op::Comm:
      b_.CreateStore(hooks_.comm(b_, hooks_.scratch(b_, memo.scratch)), memo.value);
      return;
    case Op::SymbolText: {  // the address itself; the reader makes the text
      Value* length = b_.CreateSelect(is_ok(value.a), b_.getInt32(8), b_.getInt32(0));
      b_.CreateStore(length, memo.value);
      return;
    }
    default:
      return fetch_string(id, memo);
  }
}

}  // namespace kevt::codegen

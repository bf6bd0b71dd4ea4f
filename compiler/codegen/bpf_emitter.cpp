// One event's BPF program. Records of a known size are reserved first and filled in place: 6.1's verifier takes no
// reservation whose size it does not know. Records with strings, or a stack, grow in the scratch:
//
//   at = 24                                            (in memory; see bpf_memory.cpp)
//   n = read_str(record + at, 4096, address)           0 when unreadable
//   word = n << 16 | at;  at += n                      over the limit of a record: lost
//   output(ring, record, at)
//
// Whether a load faulted is a number, not a branch of the program: `bad` = 1 makes every address that depends on the
// load unreadable, and no fault counts twice.
#include "compiler/codegen/bpf_emitter.h"

#include "common/abi/bpf.h"
#include "common/abi/hit_table.h"
#include "compiler/ir/interpreter.h"

namespace kevt::codegen {

using ir::Op;
using ir::StoreKind;
using llvm::BasicBlock;
using llvm::Value;

namespace {

// The `bytes` bytes of the text from `at` on as a word; 0 behind the text's end.
std::uint64_t bytes_from(const std::string& text, std::size_t at, unsigned bytes) {
  std::uint64_t word = 0;
  for (unsigned i = bytes; i-- > 0;)
    word = word << 8 | (at + i < text.size() ? static_cast<std::uint8_t>(text[at + i]) : 0u);
  return word;
}

}  // namespace

// ---- values ---------------------------------------------------------------------------------

Value* BpfEmitter::bad(ir::ValueId id) {
  if (!can_fault(id)) return b_.getInt64(0);
  const ir::Value& value = program_.values[id];
  if (ir::row_of(value.op).fault != ir::Fault::Reads) return bad(value.a);
  if (is_reading_in_) {
    loaded(id);
    return passed_.at(id).bad;
  }
  ensure(id);
  return b_.CreateLoad(b_.getInt64Ty(), bad_.at(id));
}

void BpfEmitter::fetch_load(ir::ValueId id, const Memo& memo) {
  const ir::Value& value = program_.values[id];
  if (value.op == Op::StackNumber) {
    Value* const number = bpf_.stack_number(b_);
    b_.CreateStore(number, memo.value);
    b_.CreateStore(b_.CreateIsNotNull(number), memo.ok);
    return;
  }
  llvm::AllocaInst*& bad_at = bad_[id];
  if (!bad_at) {
    bad_at = local(b_.getInt64Ty(), "bad");
    llvm::IRBuilder<> entry(bad_at->getNextNode());
    entry.CreateStore(entry.getInt64(0), bad_at);
  }
  Value* of_address = bad(value.a);
  const BpfHooks::Source from{address_of(value.a, value_constant(id)), BpfHooks::memory(value.from_user)};
  const BpfHooks::Read read = bpf_.read(b_, from, value.bytes, of_address);
  b_.CreateStore(read.value, memo.value);
  b_.CreateStore(read.bad, bad_at);
}

Value* BpfEmitter::bad_operands(const ir::Value& value) {
  Value* any = b_.getInt64(0);
  for (const ir::ValueId operand : ir::operands_of(value)) any = b_.CreateOr(any, bad(operand));
  return any;
}

Value* BpfEmitter::read_text(ir::ValueId id, Value* to) {
  const ir::Value& value = program_.values[id];
  Value* any_bad = bad_operands(value);
  const BpfHooks::Source from{address_of(value.a, value_constant(id)), BpfHooks::memory(value.from_user)};
  return bpf_.read_text(b_, to, from, any_bad, value.op == Op::CountedString ? text_bytes(value.b) : nullptr);
}

// Reads a string that a filter reads, or that several instances record, into its scratch.
void BpfEmitter::fetch_string(ir::ValueId id, const Memo& memo) {
  if (!memo.in_scratch) return;  // it is read when it is recorded
  Value* length = read_text(id, bpf_.scratch(b_, memo.scratch));
  b_.CreateStore(b_.CreateTrunc(length, b_.getInt32Ty()), memo.value);
}

Value* BpfEmitter::equal_bytes(Value* text, const std::string& constant) {
  Value* differ = b_.getInt64(0);
  for (std::size_t at = 0; at < constant.size();) {
    const std::size_t left = constant.size() - at;
    const unsigned bytes = left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
    const std::uint64_t word = bytes_from(constant, at, bytes);
    Value* loaded = b_.CreateAlignedLoad(b_.getIntNTy(bytes * 8), bpf_.at(b_, text, at), llvm::Align(bytes));
    differ = b_.CreateOr(differ, b_.CreateXor(b_.CreateZExt(loaded, b_.getInt64Ty()), b_.getInt64(word)));
    at += bytes;
  }
  return b_.CreateICmpEQ(differ, b_.getInt64(0));
}

void BpfEmitter::match_text(const ir::Condition& c, BasicBlock* yes, BasicBlock* no) {
  const ir::Value& value = program_.values[c.value];
  if (value.op == Op::ImmediateText) {
    const bool holds = ir::match_text(c.glob, c.text, program_.texts[static_cast<std::size_t>(value.imm)]);
    return go(holds != c.negated ? yes : no);
  }
  if (c.negated) std::swap(yes, no);
  ensure(c.value);
  const Memo& memo = memos_.at(c.value);
  Value* text = bpf_.scratch(b_, memo.scratch);
  // The length with the NUL. An unreadable string compares as "": the helper has left a NUL in its place.
  Value* length = b_.CreateZExt(b_.CreateLoad(b_.getInt32Ty(), memo.value), b_.getInt64Ty());
  const auto size = c.text.size();
  switch (c.glob) {
    case model::GlobKind::Full:
      return branch(equal_bytes(text, c.text + '\0'), yes, no);
    case model::GlobKind::Prefix:
      return branch(equal_bytes(text, c.text), yes, no);
    case model::GlobKind::Suffix: {
      BasicBlock* enough = block("enough");
      branch(b_.CreateICmpUGT(length, b_.getInt64(size)), enough, no);
      start(enough);
      Value* skipped = b_.CreateSub(length, b_.getInt64(size + 1));
      Value* end = bpf_.at(b_, text, b_.CreateAnd(bpf_.opaque(b_, skipped), b_.getInt64(KEVT_BPF_TEXT_BYTES - 1)));
      return branch(equal_bytes(end, c.text), yes, no);
    }
    case model::GlobKind::Middle:
    case model::GlobKind::Glob: {
      Value* has_nul = b_.CreateLShr(b_.CreateNeg(length), b_.getInt64(63));
      return match_segments(c, {.text = text, .chars = b_.CreateSub(length, has_nul), .no = no}, yes);
    }
  }
}

// The key is the text's first 16 bytes, 0 behind its end. It is made without branches: each would be another path for
// the verifier. An unreadable string is empty.
void BpfEmitter::append_text_key(ir::ValueId text, std::vector<Value*>& key, BasicBlock* full) {
  static_assert(KEVT_HIT_TEXT_WORDS == 2);
  const ir::Value& value = program_.values[text];
  BasicBlock* fits = block("fits");
  if (value.op == Op::ImmediateText) {
    const std::string& constant = program_.texts[static_cast<std::size_t>(value.imm)];
    branch(b_.getInt1(constant.size() < 16), fits, full);
    start(fits);
    for (const std::size_t at : {0, 8}) key.push_back(b_.getInt64(bytes_from(constant, at, 8)));
    return;
  }
  ensure(text);
  const Memo& memo = memos_.at(text);
  Value* const length = b_.CreateZExt(b_.CreateLoad(b_.getInt32Ty(), memo.value), b_.getInt64Ty());
  branch(b_.CreateICmpULE(length, b_.getInt64(16)), fits, full, Likely::First);
  start(fits);
  Value* const place = bpf_.scratch(b_, memo.scratch);
  // -1 if the text has fewer bytes, else 0.
  const auto below = [&](std::uint64_t bytes) {
    return bpf_.opaque(b_, b_.CreateAShr(b_.CreateSub(length, b_.getInt64(bytes)), b_.getInt64(63)));
  };
  Value* const below_8 = below(8);
  Value* const below_16 = below(16);
  // A mask of the bytes behind the first `length` modulo 8.
  Value* const rest =
      b_.CreateShl(b_.getInt64(~0ull), b_.CreateAnd(b_.CreateShl(length, b_.getInt64(3)), b_.getInt64(63)));
  const auto word = [&](std::uint64_t at) {
    return b_.CreateAlignedLoad(b_.getInt64Ty(), bpf_.at(b_, place, at), llvm::Align(8), true);
  };
  key.push_back(b_.CreateAnd(word(0), b_.CreateNot(b_.CreateAnd(rest, below_8))));
  Value* const second = b_.CreateAnd(word(8), b_.CreateNot(b_.CreateAnd(rest, below_16)));
  key.push_back(b_.CreateAnd(second, b_.CreateNot(below_8)));
}

// ---- records --------------------------------------------------------------------------------

BpfEmitter::Loop BpfEmitter::begin_loop(std::uint32_t count) {
  Loop loop{.index = nullptr, .head = block("loop"), .done = block("done")};
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock* body = block("body");
  go(loop.head);
  start(loop.head);
  loop.index = b_.CreatePHI(b_.getInt64Ty(), 2, "i");
  loop.index->addIncoming(b_.getInt64(0), before);
  branch(b_.CreateICmpULT(loop.index, b_.getInt64(count)), body, loop.done);
  start(body);
  return loop;
}

void BpfEmitter::end_loop(const Loop& loop) {
  loop.index->addIncoming(b_.CreateAdd(loop.index, b_.getInt64(1)), b_.GetInsertBlock());
  go(loop.head);
  start(loop.done);
}

void BpfEmitter::store_header(Value* record) {
  bpf_.store(b_, b_.CreateTrunc(common_word(), b_.getInt32Ty()), record);
  bpf_.store(b_, b_.CreateTrunc(hooks_.pid(b_), b_.getInt32Ty()), bpf_.at(b_, record, 4));
  if (ir::header_size(program_.probe_kind) > 8) bpf_.store(b_, hooks_.probe_address(b_), bpf_.at(b_, record, 8));
  if (ir::header_size(program_.probe_kind) > 16) bpf_.store(b_, hooks_.return_address(b_), bpf_.at(b_, record, 16));
}

void BpfEmitter::store_constant(const std::string& text, Value* to) {
  const std::size_t size = text.size() + 1;
  for (std::size_t at = 0; at < size;) {
    const std::size_t left = size - at;
    const unsigned bytes = left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
    const std::uint64_t word = bytes_from(text, at, bytes);
    bpf_.store(b_, llvm::ConstantInt::get(b_.getIntNTy(bytes * 8), word), bpf_.at(b_, to, at));
    at += bytes;
  }
}

// Appends one string to the record, and stores its word.
void BpfEmitter::store_one_text(const ir::Store& store, Value* word_at, BasicBlock* lost) {
  const ir::Value& value = program_.values[store.value];
  const auto memo = memos_.find(store.value);
  const bool is_kept = memo != memos_.end() && memo->second.in_scratch;
  if (is_kept) ensure(store.value);
  Value* of_operands = bad_operands(value);
  Value* address = value.op == Op::SymbolText ? integer(value.a) : nullptr;
  // Loads on the way to the text come before the text's place in the record is taken.
  if (!is_kept && ir::reads_text(value.op))
    for (const ir::ValueId operand : ir::operands_of(value)) integer(operand);
  const BpfHooks::End end = bpf_.growing_end(b_, lost);
  Value* length = nullptr;
  if (value.op == Op::ImmediateText) {
    const std::string& text = program_.texts[static_cast<std::size_t>(value.imm)];
    store_constant(text, end.place);
    length = b_.getInt64(text.size() + 1);
  } else if (value.op == Op::SymbolText) {  // the address; its reader makes the text
    bpf_.store(b_, address, end.place);
    length = b_.CreateShl(b_.CreateXor(of_operands, b_.getInt64(1)), b_.getInt64(3));
  } else if (is_kept) {
    // An unreadable string takes no bytes, not even a NUL.
    Value* kept = b_.CreateZExt(b_.CreateLoad(b_.getInt32Ty(), memo->second.value), b_.getInt64Ty());
    Value* there = bpf_.opaque(b_, b_.CreateAShr(b_.CreateNeg(kept), b_.getInt64(63)));
    const std::uint32_t room = value.op == Op::Comm ? 16 : KEVT_BPF_TEXT_BYTES;
    Value* copied = bpf_.copy_text(b_, end.place, room, hooks_.scratch(b_, memo->second.scratch));
    length = b_.CreateAnd(copied, there);
  } else {
    length = read_text(store.value, end.place);
  }
  Value* word = b_.CreateOr(b_.CreateShl(length, b_.getInt64(16)), end.offset);
  bpf_.store(b_, b_.CreateTrunc(word, b_.getInt32Ty()), word_at);
  bpf_.set_growing_end(b_, b_.CreateAdd(end.offset, length));
}

void BpfEmitter::store_text_array(const ir::Store& store, Value* record, BasicBlock* lost) {
  Value* of_base = bad(store.value);
  Value* base = address_of(store.value, EventEmitter::store_constant(store));
  const Loop loop = begin_loop(store.count);
  // Faults of the array's pointers are not counted.
  Value* item = b_.CreateAdd(base, b_.CreateShl(loop.index, b_.getInt64(3)));
  const BpfHooks::Read read = bpf_.read_uncounted(b_, {item, BpfHooks::memory(store.from_user)}, 8, of_base);
  const BpfHooks::End end = bpf_.growing_end(b_, lost);
  Value* unreadable = b_.CreateOr(read.bad, of_base);
  const BpfHooks::Source from{read.value, BpfHooks::memory(store.texts_from_user)};
  Value* length = bpf_.read_text(b_, end.place, from, bpf_.opaque(b_, unreadable));
  Value* word = b_.CreateOr(b_.CreateShl(length, b_.getInt64(16)), end.offset);
  Value* word_at = bpf_.at(b_, bpf_.at(b_, record, store.offset), b_.CreateShl(loop.index, b_.getInt64(2)));
  bpf_.store(b_, b_.CreateTrunc(word, b_.getInt32Ty()), word_at);
  bpf_.set_growing_end(b_, b_.CreateAdd(end.offset, length));
  end_loop(loop);
}

// Stores an array item by item: some items may be unreadable, or only some bits of each are wanted.
void BpfEmitter::store_items(const ir::Store& store, Value* record) {
  Value* of_base = bad(store.value);
  Value* base = address_of(store.value, EventEmitter::store_constant(store));
  const Loop loop = begin_loop(store.count);
  Value* distance = b_.CreateMul(loop.index, b_.getInt64(store.bytes));
  const BpfHooks::Source from{b_.CreateAdd(base, distance), BpfHooks::memory(store.from_user)};
  Value* item = bpf_.read(b_, from, store.bytes, of_base).value;
  if (store.width) {
    item = b_.CreateLShr(item, b_.getInt64(store.shift));
    if (store.width < 64) item = b_.CreateAnd(item, b_.getInt64((1ull << store.width) - 1));
  }
  Value* to = bpf_.at(b_, bpf_.at(b_, record, store.offset), distance);
  bpf_.store(b_, b_.CreateTrunc(item, b_.getIntNTy(store.bytes * 8u)), to);
  end_loop(loop);
}

// Stores an array with one read if all of it can be read.
void BpfEmitter::store_integers(const ir::Store& store, Value* record) {
  if (store.width) return store_items(store, record);
  Value* of_base = bad(store.value);
  Value* address = bpf_.unless(b_, address_of(store.value, EventEmitter::store_constant(store)), of_base);
  Value* answer = bpf_.read_bytes(b_, bpf_.at(b_, record, store.offset), b_.getInt32(store.count * store.bytes),
                                  {address, BpfHooks::memory(store.from_user)});
  BasicBlock* partly = block("partly");
  BasicBlock* read = block("read");
  branch(b_.CreateICmpSLT(answer, b_.getInt64(0)), partly, read);
  start(partly);
  store_items(store, record);
  go(read);
  start(read);
}

// Appends the items of a counted array to the record, and stores its word. An array without items is not read.
void BpfEmitter::store_counted(const ir::Store& store, Value* record, BasicBlock* lost) {
  constexpr std::uint64_t kMostBytes = 1023;  // a bound that the verifier sees
  static_assert(8 * ir::kMaxArrayCount <= kMostBytes);
  Value* const is_unknown = b_.CreateOr(bad(store.value), bad(store.length));
  Value* const first = address_of(store.value, EventEmitter::store_constant(store));
  Value* const is_known = b_.CreateSub(bpf_.opaque(b_, is_unknown), b_.getInt64(1));  // all bits, or none
  Value* const wanted = b_.CreateAnd(counted_bytes(store, first), is_known);
  const BpfHooks::End end = bpf_.growing_end(b_, lost);
  Value* const bytes = b_.CreateAnd(bpf_.opaque(b_, wanted), b_.getInt64(kMostBytes));
  Value* const answer = bpf_.read_bytes(b_, end.place, bytes, {first, BpfHooks::memory(store.from_user)});
  Value* const is_none = b_.CreateLShr(b_.CreateSub(bpf_.opaque(b_, bytes), b_.getInt64(1)), b_.getInt64(63));
  Value* const failed = bpf_.opaque(b_, b_.CreateLShr(answer, b_.getInt64(63)));
  bpf_.add_faults(b_, b_.CreateAnd(failed, b_.CreateXor(is_none, b_.getInt64(1))));
  Value* const length = b_.CreateAnd(bytes, bpf_.opaque(b_, b_.CreateSub(failed, b_.getInt64(1))));
  Value* const word = b_.CreateOr(b_.CreateShl(length, b_.getInt64(16)), end.offset);
  bpf_.store(b_, b_.CreateTrunc(word, b_.getInt32Ty()), bpf_.at(b_, record, store.offset));
  bpf_.set_growing_end(b_, b_.CreateAdd(end.offset, length));
}

void BpfEmitter::store_texts(const ir::Store& store, Value* record, BasicBlock* lost) {
  if (store.kind == StoreKind::TextArray) return store_text_array(store, record, lost);
  store_one_text(store, bpf_.at(b_, record, store.offset), lost);
}

void BpfEmitter::emit_record(std::uint32_t sink, BasicBlock* next) {
  bool grows = program_.takes_stack;
  for (const ir::Store& store : program_.stores) grows = grows || ir::is_dynamic(store.kind);
  BasicBlock* lost = block("lost");
  const std::set<ir::ValueId> before = known_;
  Value* record =
      grows ? bpf_.begin_growing(b_, program_.fixed_size) : bpf_.reserve_fixed(b_, program_.fixed_size, lost);
  store_header(record);
  for (const ir::Store& store : program_.stores) {
    switch (store.kind) {
      case StoreKind::Integer: {
        Value* value = b_.CreateTrunc(integer(store.value), b_.getIntNTy(store.bytes * 8u));
        bpf_.store(b_, value, bpf_.at(b_, record, store.offset));
        break;
      }
      case StoreKind::IntegerArray:
        store_integers(store, record);
        break;
      case StoreKind::CountedArray:
        store_counted(store, record, lost);
        break;
      case StoreKind::Text:
      case StoreKind::TextArray:
        store_texts(store, record, lost);
        break;
    }
  }
  if (program_.takes_stack) bpf_.append_stack(b_, lost);
  if (grows) {
    bpf_.output_growing(b_, lost);
  } else {
    bpf_.commit(b_);
  }
  hooks_.count(b_, Counter::Recorded, sink);
  go(next);

  b_.SetInsertPoint(lost);
  known_ = before;
  hooks_.count(b_, Counter::Lost, sink);
  go(next);
}

}  // namespace kevt::codegen

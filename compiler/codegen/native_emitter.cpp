// Values of native code: constants that are left open, loads that may fault, strings. Records: native_record.cpp.
#include "compiler/codegen/native_emitter.h"

#include <llvm/IR/Intrinsics.h>

#include "common/abi/hit_table.h"

namespace kevt::codegen {

using ir::Op;
using llvm::BasicBlock;
using llvm::Value;

namespace {

// The first `bytes` (i64, 0 to 8) bytes of the word; the others are 0.
Value* first_bytes(llvm::IRBuilder<>& b, Value* word, Value* bytes) {
  Value* const unused = b.CreateShl(b.CreateSub(b.getInt64(kWordBytes), bytes), b.getInt64(3));
  Value* const mask = b.CreateLShr(b.getInt64(~0ull), b.CreateAnd(unused, b.getInt64(63)));
  return b.CreateSelect(b.CreateICmpEQ(bytes, b.getInt64(0)), b.getInt64(0), b.CreateAnd(word, mask));
}

}  // namespace

Value* NativeEmitter::constant(std::uint32_t position, std::int64_t word) {
  const auto symbol = symbols_.find(position);
  if (symbol != symbols_.end()) return llvm::ConstantExpr::getPtrToInt(symbol->second, b_.getInt64Ty());
  return b_.getInt64(static_cast<std::uint64_t>(word));
}

void NativeEmitter::fetch_load(ir::ValueId id, const Memo& memo) {
  const ir::Value& value = program_.values[id];
  if (value.op == Op::StackNumber) {
    Value* number = native_.stack_number(b_);
    b_.CreateStore(number, memo.value);
    b_.CreateStore(b_.CreateIsNotNull(number), memo.ok);
    return;
  }
  BasicBlock* readable = block("readable");
  BasicBlock* unreadable = block("unreadable");
  BasicBlock* skipped = block("skipped");
  BasicBlock* done = block("loaded");
  Value* ok = is_ok(value.a);
  b_.CreateCondBr(ok, readable, skipped);

  b_.SetInsertPoint(readable);
  const bool is_span = value.op == Op::SpanContext;  // of which nothing is a fault
  Value* address = is_span ? integer(value.a) : b_.CreateAdd(integer(value.a), value_constant(id));
  Value* loaded =
      is_span ? native_.span_context(b_, address, skipped) : native_.load(b_, address, value.bytes, unreadable);
  b_.CreateStore(loaded, memo.value);
  b_.CreateStore(b_.getTrue(), memo.ok);
  b_.CreateBr(done);

  b_.SetInsertPoint(unreadable);
  native_.count_fault(b_);
  b_.CreateBr(skipped);
  b_.SetInsertPoint(skipped);
  b_.CreateStore(b_.getInt64(0), memo.value);
  b_.CreateStore(b_.getFalse(), memo.ok);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
}

void NativeEmitter::fetch_string(ir::ValueId id, const Memo& memo) {
  const ir::Value& value = program_.values[id];
  BasicBlock* readable = block("readable");
  BasicBlock* unreadable = block("unreadable");
  BasicBlock* done = block("measured");
  const bool is_counted = value.op == Op::CountedString;
  b_.CreateCondBr(is_counted ? b_.CreateAnd(is_ok(value.a), is_ok(value.b)) : is_ok(value.a), readable, unreadable);
  b_.SetInsertPoint(readable);
  Value* address = b_.CreateAdd(integer(value.a), value_constant(id));
  Value* most = is_counted ? b_.CreateTrunc(text_bytes(value.b), b_.getInt32Ty()) : nullptr;
  if (memo.in_scratch) {
    b_.CreateStore(native_.text_fetch(b_, native_.scratch(b_, memo.scratch), address, most), memo.value);
  } else {
    const NativeHooks::Measured text = native_.text_measure(b_, address, most);
    b_.CreateStore(text.length, memo.value);
    for (int i : {0, 1}) b_.CreateStore(text.words[i], memo.words[i]);
  }
  b_.CreateBr(done);
  b_.SetInsertPoint(unreadable);
  b_.CreateStore(b_.getInt32(0), memo.value);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
}

// i1: the `constant.size()` bytes at `text` (readable, ours) equal `constant`.
Value* NativeEmitter::equal_constant(Value* text, const std::string& constant) {
  Value* all = b_.getTrue();
  for (std::size_t at = 0; at < constant.size();) {
    const std::size_t left = constant.size() - at;
    const unsigned bytes = left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
    std::uint64_t word = 0;
    for (unsigned i = bytes; i-- > 0;) word = word << 8 | static_cast<std::uint8_t>(constant[at + i]);
    llvm::Type* type = b_.getIntNTy(bytes * 8);
    Value* pointer = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), text, at);
    Value* loaded = b_.CreateAlignedLoad(type, pointer, llvm::Align(1));
    all = b_.CreateAnd(all, b_.CreateICmpEQ(loaded, llvm::ConstantInt::get(type, word)));
    at += bytes;
  }
  return all;
}

void NativeEmitter::match_text(const ir::Condition& c, BasicBlock* yes, BasicBlock* no) {
  if (c.negated) std::swap(yes, no);
  ensure(c.value);
  const ir::Value& value = program_.values[c.value];
  const Memo& memo = memos_.at(c.value);
  Value* text = value.op == Op::ImmediateText ? constant_text(program_.texts[static_cast<std::size_t>(value.imm)])
                                              : native_.scratch(b_, memo.scratch);
  Value* length = b_.CreateLoad(b_.getInt32Ty(), memo.value);
  // The length without the NUL; an unreadable string compares as "".
  Value* chars = b_.CreateSelect(b_.CreateICmpEQ(length, b_.getInt32(0)), length, b_.CreateSub(length, b_.getInt32(1)));
  const auto size = static_cast<std::uint32_t>(c.text.size());
  if (c.glob == model::GlobKind::Full || c.glob == model::GlobKind::Prefix) {
    BasicBlock* bytes = block("bytes");
    branch(c.glob == model::GlobKind::Full ? b_.CreateICmpEQ(chars, b_.getInt32(size))
                                           : b_.CreateICmpUGE(chars, b_.getInt32(size)),
           bytes, no);
    start(bytes);
    return branch(equal_constant(text, c.text), yes, no);
  }
  Value* matched = native_.match(b_, c.glob, c.text, text, chars);
  branch(matched, yes, no);
}

void NativeEmitter::append_text_key(ir::ValueId text, std::vector<Value*>& key, BasicBlock* full) {
  TextItem item;
  Value* const length = measure({.kind = ir::StoreKind::Text, .value = text}, item);
  BasicBlock* fits = block("fits");
  branch(b_.CreateICmpULE(length, b_.getInt32(KEVT_HIT_TEXT_WORDS * kWordBytes)), fits, full, Likely::First);
  start(fits);
  Value* const all = b_.CreateZExt(length, b_.getInt64Ty());
  for (std::uint32_t i = 0; i < KEVT_HIT_TEXT_WORDS; ++i) {
    Value* const behind = b_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, all, b_.getInt64(i * kWordBytes));
    Value* const here = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, behind, b_.getInt64(kWordBytes));
    key.push_back(first_bytes(b_, item.text.words[i], here));
  }
}

}  // namespace kevt::codegen

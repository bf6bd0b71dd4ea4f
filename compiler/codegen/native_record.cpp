// Records of native code: measure the strings, reserve exactly that much, write in
// place, commit. If possible, everything that can fault is fetched before the reservation, so
// that the time between reserve and commit stays short.
#include "compiler/codegen/native_emitter.h"

#include "common/abi/hit_stack.h"

namespace kevt::codegen {

using ir::Op;
using ir::StoreKind;
using llvm::BasicBlock;
using llvm::Value;

namespace {

// The 8 bytes of `text` from `at` on as a word, with 0 behind the text's end.
std::uint64_t word_of(const std::string& text, std::size_t at) {
  std::uint64_t word = 0;
  for (std::size_t i = 8; i-- > 0;)
    word = word << 8 | (at + i < text.size() ? static_cast<std::uint8_t>(text[at + i]) : 0);
  return word;
}

}  // namespace

// Emits `for (i = 0; i < count; i++) body`, leaves the builder in the body; the caller ends it by
// storing i + 1 through the returned local and branching to `body`'s header.
Value* NativeEmitter::counted_loop(std::uint32_t count, BasicBlock*& header, BasicBlock*& done) {
  llvm::AllocaInst* i = local(b_.getInt32Ty(), "i");
  b_.CreateStore(b_.getInt32(0), i);
  header = block("loop");
  BasicBlock* body = block("body");
  done = block("done");
  go(header);
  start(header);
  branch(b_.CreateICmpULT(b_.CreateLoad(b_.getInt32Ty(), i), b_.getInt32(count)), body, done);
  start(body);
  return i;
}

// Length of a text store (i32), and where its bytes come from.
Value* NativeEmitter::measure(const ir::Store& store, TextItem& item) {
  const ir::Value& value = program_.values[store.value];
  ensure(store.value);
  const Memo& memo = memos_.at(store.value);
  item.text.length = b_.CreateLoad(b_.getInt32Ty(), memo.value);
  const auto words = [&](auto&& word) {
    for (unsigned i : {0u, 1u}) item.text.words[i] = word(i);
  };
  if (value.op == Op::ImmediateText) {
    const std::string& text = program_.texts[static_cast<std::size_t>(value.imm)];
    item.source = b_.CreatePtrToInt(constant_text(text), b_.getInt64Ty());
    words([&](unsigned i) { return b_.getInt64(word_of(text, 8 * i)); });
  } else if (memo.in_scratch) {
    Value* scratch = native_.scratch(b_, memo.scratch);
    item.source = b_.CreatePtrToInt(scratch, b_.getInt64Ty());
    words([&](unsigned i) {
      return b_.CreateAlignedLoad(b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), scratch, i),
                                  llvm::Align(1));
    });
  } else if (ir::reads_text(value.op)) {
    item.source = b_.CreateAdd(integer(value.a), value_constant(store.value));
    words([&](unsigned i) { return b_.CreateLoad(b_.getInt64Ty(), memo.words[i]); });
  } else {
    item.source = integer(value.a);  // SymbolText
  }
  return item.text.length;
}

// Fetches the pointers of a TextArray and measures what they point to. Returns the sum (i32).
Value* NativeEmitter::measure_array(const ir::Store& store, llvm::AllocaInst* addresses, llvm::AllocaInst* lengths) {
  llvm::AllocaInst* sum = local(b_.getInt32Ty(), "sum");
  b_.CreateStore(b_.getInt32(0), sum);
  Value* base_ok = is_ok(store.value);
  Value* base = b_.CreateAdd(integer(store.value), store_constant(store));
  BasicBlock *header, *done;
  Value* counter = counted_loop(store.count, header, done);
  Value* i = b_.CreateLoad(b_.getInt32Ty(), counter);
  BasicBlock* readable = block("readable");
  BasicBlock* absent = block("absent");
  BasicBlock* measured = block("measured");
  Value* address_at = b_.CreateInBoundsGEP(b_.getInt64Ty(), addresses, i);
  Value* length_at = b_.CreateInBoundsGEP(b_.getInt32Ty(), lengths, i);
  b_.CreateCondBr(base_ok, readable, absent);

  b_.SetInsertPoint(readable);
  Value* pointer = b_.CreateAdd(base, b_.CreateZExt(b_.CreateShl(i, b_.getInt32(3)), b_.getInt64Ty()));
  Value* address = native_.load(b_, pointer, 8, absent);
  Value* length = native_.text_measure(b_, address).length;
  b_.CreateStore(address, address_at);
  b_.CreateStore(length, length_at);
  b_.CreateStore(b_.CreateAdd(b_.CreateLoad(b_.getInt32Ty(), sum), length), sum);
  b_.CreateBr(measured);

  b_.SetInsertPoint(absent);
  b_.CreateStore(b_.getInt32(0), length_at);
  b_.CreateBr(measured);

  b_.SetInsertPoint(measured);
  b_.CreateStore(b_.CreateAdd(i, b_.getInt32(1)), counter);
  go(header);
  start(done);
  return b_.CreateLoad(b_.getInt32Ty(), sum);
}

namespace {

Value* byte_at(llvm::IRBuilder<>& b, Value* record, Value* offset) {
  return b.CreateInBoundsGEP(b.getInt8Ty(), record, offset);
}

void store_at(llvm::IRBuilder<>& b, Value* value, Value* record, std::uint32_t offset) {
  b.CreateAlignedStore(value, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), record, offset), llvm::Align(1));
}

Value* data_loc(llvm::IRBuilder<>& b, Value* length, Value* at) {
  return b.CreateOr(b.CreateShl(length, b.getInt32(16)), at);
}

}  // namespace

// Writes one string at dynamic offset `at`; returns the next one.
Value* NativeEmitter::store_text(const ir::Store& store, const TextItem& item, Value* record, Value* at) {
  Value* to = byte_at(b_, record, at);
  Value* written = item.text.length;
  if (program_.values[store.value].op == Op::SymbolText) {  // 8 bytes: the address itself, or slack
    b_.CreateAlignedStore(item.source, to, llvm::Align(1));
  } else {
    written = native_.text_store(b_, to, item.source, item.text);
  }
  store_at(b_, data_loc(b_, written, at), record, store.offset);
  return b_.CreateAdd(at, written);
}

Value* NativeEmitter::store_text_array(const ir::Store& store, llvm::AllocaInst* addresses, llvm::AllocaInst* lengths,
                                       Value* record, Value* start_at) {
  llvm::AllocaInst* at = local(b_.getInt32Ty(), "at");
  b_.CreateStore(start_at, at);
  BasicBlock *header, *done;
  Value* counter = counted_loop(store.count, header, done);
  Value* i = b_.CreateLoad(b_.getInt32Ty(), counter);
  Value* length = b_.CreateLoad(b_.getInt32Ty(), b_.CreateInBoundsGEP(b_.getInt32Ty(), lengths, i));
  Value* offset = b_.CreateLoad(b_.getInt32Ty(), at);
  BasicBlock* copy = block("copy");
  BasicBlock* after = block("copied");
  BasicBlock* from = b_.GetInsertBlock();
  b_.CreateCondBr(b_.CreateICmpNE(length, b_.getInt32(0)), copy, after);
  b_.SetInsertPoint(copy);
  Value* address = b_.CreateLoad(b_.getInt64Ty(), b_.CreateInBoundsGEP(b_.getInt64Ty(), addresses, i));
  Value* copied_length = native_.text_copy(b_, byte_at(b_, record, offset), address, length);
  BasicBlock* copied = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  llvm::PHINode* written = b_.CreatePHI(b_.getInt32Ty(), 2);
  written->addIncoming(b_.getInt32(0), from);
  written->addIncoming(copied_length, copied);
  Value* word_at = b_.CreateAdd(b_.getInt32(store.offset), b_.CreateShl(i, b_.getInt32(2)));
  b_.CreateAlignedStore(data_loc(b_, written, offset), byte_at(b_, record, word_at), llvm::Align(1));
  b_.CreateStore(b_.CreateAdd(offset, written), at);
  b_.CreateStore(b_.CreateAdd(i, b_.getInt32(1)), counter);
  go(header);
  start(done);
  return b_.CreateLoad(b_.getInt32Ty(), at);
}

void NativeEmitter::store_array(const ir::Store& store, Value* record) {
  llvm::Type* item_type = b_.getIntNTy(store.bytes * 8u);
  Value* base_ok = is_ok(store.value);
  Value* base = b_.CreateAdd(integer(store.value), store_constant(store));
  BasicBlock *header, *done;
  Value* counter = counted_loop(store.count, header, done);
  Value* i = b_.CreateLoad(b_.getInt32Ty(), counter);
  Value* distance = b_.CreateMul(i, b_.getInt32(store.bytes));
  BasicBlock* readable = block("readable");
  BasicBlock* unreadable = block("unreadable");
  BasicBlock* skipped = block("skipped");
  BasicBlock* stored = block("stored");
  Value* to = byte_at(b_, record, b_.CreateAdd(distance, b_.getInt32(store.offset)));
  b_.CreateCondBr(base_ok, readable, skipped);

  b_.SetInsertPoint(readable);
  Value* item = native_.load(b_, b_.CreateAdd(base, b_.CreateZExt(distance, b_.getInt64Ty())), store.bytes, unreadable);
  if (store.width) {
    item = b_.CreateLShr(item, b_.getInt64(store.shift));
    if (store.width < 64) item = b_.CreateAnd(item, b_.getInt64((1ull << store.width) - 1));
  }
  b_.CreateAlignedStore(b_.CreateTrunc(item, item_type), to, llvm::Align(1));
  b_.CreateBr(stored);

  b_.SetInsertPoint(unreadable);
  native_.count_fault(b_);
  b_.CreateBr(skipped);
  b_.SetInsertPoint(skipped);
  b_.CreateAlignedStore(llvm::ConstantInt::get(item_type, 0), to, llvm::Align(1));
  b_.CreateBr(stored);

  b_.SetInsertPoint(stored);
  b_.CreateStore(b_.CreateAdd(i, b_.getInt32(1)), counter);
  go(header);
  start(done);
}

// Bytes (i32) of a counted array, 0 if it cannot be read: it is shorter than a page, so both its ends tell.
Value* NativeEmitter::measure_counted(const ir::Store& store) {
  Value* const is_known = b_.CreateAnd(is_ok(store.value), is_ok(store.length));
  Value* const first = b_.CreateAdd(integer(store.value), store_constant(store));
  Value* const bytes = b_.CreateSelect(is_known, counted_bytes(store, first), b_.getInt64(0));
  BasicBlock* some = block("some");
  BasicBlock* unreadable = block("unreadable");
  BasicBlock* none = block("none");
  BasicBlock* measured = block("measured");
  b_.CreateCondBr(b_.CreateIsNull(bytes), none, some);
  b_.SetInsertPoint(some);
  native_.load(b_, first, 1, unreadable);
  native_.load(b_, b_.CreateAdd(first, b_.CreateSub(bytes, b_.getInt64(1))), 1, unreadable);
  BasicBlock* const readable = b_.GetInsertBlock();
  b_.CreateBr(measured);
  b_.SetInsertPoint(unreadable);
  native_.count_fault(b_);
  b_.CreateBr(none);
  b_.SetInsertPoint(none);
  b_.CreateBr(measured);
  b_.SetInsertPoint(measured);
  llvm::PHINode* const found = b_.CreatePHI(b_.getInt32Ty(), 2);
  llvm::IRBuilder<> in_readable(readable->getTerminator());
  found->addIncoming(in_readable.CreateTrunc(bytes, b_.getInt32Ty()), readable);
  found->addIncoming(b_.getInt32(0), none);
  return found;
}

// Writes a counted array of `bytes` bytes at dynamic offset `at`, by words and then by items; returns the next offset.
Value* NativeEmitter::store_counted(const ir::Store& store, Value* bytes, Value* record, Value* at) {
  Value* const first = b_.CreateAdd(integer(store.value), store_constant(store));
  llvm::AllocaInst* copied = local(b_.getInt32Ty(), "copied");
  b_.CreateStore(b_.getInt32(0), copied);
  BasicBlock* unreadable = block("unreadable");
  BasicBlock* done = block("counted");
  constexpr unsigned kWord = 8;
  for (unsigned step = kWord; step != 0; step = step == kWord && store.bytes != kWord ? store.bytes : 0) {
    BasicBlock* header = block("loop");
    BasicBlock* body = block("body");
    BasicBlock* next = block("next");
    go(header);
    start(header);
    Value* const offset = b_.CreateLoad(b_.getInt32Ty(), copied);
    branch(b_.CreateICmpULE(b_.CreateAdd(offset, b_.getInt32(step)), bytes), body, next);
    start(body);
    Value* const item = native_.load(b_, b_.CreateAdd(first, b_.CreateZExt(offset, b_.getInt64Ty())), step, unreadable);
    b_.CreateAlignedStore(b_.CreateTrunc(item, b_.getIntNTy(8 * step)), byte_at(b_, record, b_.CreateAdd(at, offset)),
                          llvm::Align(1));
    b_.CreateStore(b_.CreateAdd(offset, b_.getInt32(step)), copied);
    go(header);
    start(next);
  }
  BasicBlock* const whole = b_.GetInsertBlock();
  b_.CreateBr(done);
  b_.SetInsertPoint(unreadable);  // since it was measured
  native_.count_fault(b_);
  BasicBlock* const absent = b_.GetInsertBlock();
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  llvm::PHINode* const written = b_.CreatePHI(b_.getInt32Ty(), 2);
  written->addIncoming(bytes, whole);
  written->addIncoming(b_.getInt32(0), absent);
  store_at(b_, data_loc(b_, written, at), record, store.offset);
  return b_.CreateAdd(at, written);
}

// Bytes (i32) behind the record for its stack: the number, and a sample in front of it where the stack is not known.
Value* NativeEmitter::stack_bytes(ir::ValueId number) {
  constexpr std::uint32_t kNumber = sizeof(std::uint64_t);
  return b_.CreateSelect(is_ok(number), b_.getInt32(kNumber), b_.getInt32(sizeof(kevt_stack_sample) + kNumber));
}

void NativeEmitter::store_stack(ir::ValueId number, Value* to) {
  BasicBlock* known = block("known_stack");
  BasicBlock* sampled = block("sampled_stack");
  BasicBlock* done = block("with_stack");
  BasicBlock* from = b_.GetInsertBlock();
  b_.CreateCondBr(is_ok(number), known, sampled);
  b_.SetInsertPoint(sampled);
  native_.stack_sample(b_, to);
  Value* behind = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), to, sizeof(kevt_stack_sample));
  b_.CreateBr(known);
  b_.SetInsertPoint(known);
  llvm::PHINode* at = b_.CreatePHI(b_.getPtrTy(), 2);
  at->addIncoming(to, from);
  at->addIncoming(behind, sampled);
  b_.CreateAlignedStore(integer(number), at, llvm::Align(1));
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
}

void NativeEmitter::emit_record(std::uint32_t sink, BasicBlock* next) {
  const auto count = program_.stores.size();
  std::vector<TextItem> texts(count);
  std::vector<Value*> integers(count);
  std::vector<llvm::AllocaInst*> addresses(count), lengths(count);
  Value* size = b_.getInt32(program_.fixed_size);
  for (std::size_t i = 0; i < count; ++i) {
    const ir::Store& store = program_.stores[i];
    switch (store.kind) {
      case StoreKind::Integer:
        integers[i] = integer(store.value);
        break;
      case StoreKind::Text:
        size = b_.CreateAdd(size, measure(store, texts[i]));
        break;
      case StoreKind::TextArray:
        addresses[i] = local(llvm::ArrayType::get(b_.getInt64Ty(), store.count), "addresses");
        lengths[i] = local(llvm::ArrayType::get(b_.getInt32Ty(), store.count), "lengths");
        size = b_.CreateAdd(size, measure_array(store, addresses[i], lengths[i]));
        break;
      case StoreKind::IntegerArray:
        (void)is_ok(store.value);  // fetches the array's base before the reservation
        break;
      case StoreKind::CountedArray:
        integers[i] = measure_counted(store);
        size = b_.CreateAdd(size, integers[i]);
        break;
    }
  }
  const auto number = ir::stack_number(program_);
  const bool has_stack = program_.takes_stack && number.has_value();
  const ir::ValueId stack = number.value_or(0);
  Value* const behind = has_stack ? stack_bytes(stack) : b_.getInt32(0);
  // counted_loop() leaves the integers' defining blocks in front of everything after them.
  BasicBlock* fits = block("fits");
  BasicBlock* lost = block("lost");
  branch(b_.CreateICmpULE(size, b_.getInt32(model::kMaxRecordBytes)), fits, lost, Likely::First);
  start(lost);
  native_.count(b_, Counter::Lost, sink);
  go(next);

  start(fits);
  Value* record = native_.reserve(b_, b_.CreateAdd(size, behind), lost);
  const bool is_return = program_.probe_kind == model::ProbeKind::Return;
  store_at(b_, b_.CreateOr(b_.CreateShl(native_.pid(b_), b_.getInt64(32)), common_word()), record, 0);
  store_at(b_, native_.probe_address(b_), record, 8);
  if (is_return) store_at(b_, native_.return_address(b_), record, 16);
  Value* at = b_.getInt32(program_.fixed_size);
  for (std::size_t i = 0; i < count; ++i) {
    const ir::Store& store = program_.stores[i];
    switch (store.kind) {
      case StoreKind::Integer:
        store_at(b_, b_.CreateTrunc(integers[i], b_.getIntNTy(store.bytes * 8u)), record, store.offset);
        break;
      case StoreKind::Text:
        at = store_text(store, texts[i], record, at);
        break;
      case StoreKind::TextArray:
        at = store_text_array(store, addresses[i], lengths[i], record, at);
        break;
      case StoreKind::IntegerArray:
        store_array(store, record);
        break;
      case StoreKind::CountedArray:
        at = store_counted(store, integers[i], record, at);
        break;
    }
  }
  if (has_stack) store_stack(stack, byte_at(b_, record, size));
  native_.commit(b_);
  native_.count(b_, Counter::Recorded, sink);
  go(next);
}

}  // namespace kevt::codegen

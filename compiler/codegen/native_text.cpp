// Strings of the traced program. A string of up to 16 bytes with the NUL is kept in two general registers from
// measuring to storing: the measured bytes are the recorded ones, and no vector register of the program has to be saved
// for them. The first zero byte of a word x is where
//
//   (x - 0x0101…) & ~x & 0x8080…
//
// has its lowest set bit. The 16 bytes may reach into a page that is not mapped although the string does not: then the
// agent reads, and puts a short string into the thread's struct. A string with a given length ends there, unless a NUL
// comes before.
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
static_assert(KEVT_RECORD_SLACK >= kInPlace);

// Not 0 when a byte of `word` is; the lowest bit set is in the first such byte.
Value* zero_bytes(llvm::IRBuilder<>& b, Value* word) {
  Value* borrowed = b.CreateSub(word, b.getInt64(0x0101010101010101));
  return b.CreateAnd(b.CreateAnd(borrowed, b.CreateNot(word)), b.getInt64(0x8080808080808080));
}
Value* first_zero(llvm::IRBuilder<>& b, Value* zeros) {
  return b.CreateLShr(b.CreateIntrinsic(llvm::Intrinsic::cttz, {b.getInt64Ty()}, {zeros, b.getTrue()}), b.getInt64(3));
}

}  // namespace

Value* NativeHooks::scratch(llvm::IRBuilder<>& b, std::uint32_t index) {
  return field(b, thread_, offsetof(kevt_thread, texts) + std::uint64_t{index} * KEVT_TEXT_BYTES);
}
Value* NativeHooks::text_fetch(llvm::IRBuilder<>& b, Value* to, Value* address, Value* most) {
  if (!most) most = b.getInt32(KEVT_TEXT_BYTES);
  return service(b, offsetof(kevt_services, text_fetch), b.getInt32Ty(), {to, address, most});
}

NativeHooks::Measured NativeHooks::text_measure(llvm::IRBuilder<>& b, Value* address, Value* most) {
  BasicBlock* ended = block("ended");
  BasicBlock* slow = block("long");
  BasicBlock* known = block("measured");
  if (most) {  // a string of 0 bytes is not read, whatever its address is
    BasicBlock* some = block("some");
    expect(b.CreateCondBr(b.CreateIsNull(most), slow, some), 1);
    b.SetInsertPoint(some);
  }
  Value* low = load(b, address, 8, slow);
  Value* high = load(b, b.CreateAdd(address, b.getInt64(8)), 8, slow);
  Value* in_low = zero_bytes(b, low);
  Value* in_high = zero_bytes(b, high);
  const Measured fast = most ? cut_short(b, {low, high}, {in_low, in_high}, most, ended, slow)
                             : ended_short(b, {low, high}, {in_low, in_high}, ended, slow);
  b.CreateBr(known);

  b.SetInsertPoint(slow);
  Value* head = field(b, thread_, offsetof(kevt_thread, head));
  Value* limit = most ? most : b.getInt32(KEVT_TEXT_BYTES);
  Value* by_agent = service(b, offsetof(kevt_services, text_length), b.getInt32Ty(), {address, head, limit});
  Value* words[2] = {read(b, head, 0, 64), read(b, head, 8, 64)};
  b.CreateBr(known);
  b.SetInsertPoint(known);
  const auto either = [&](Value* quickly, Value* slowly) {
    llvm::PHINode* phi = b.CreatePHI(quickly->getType(), 2);
    phi->addIncoming(quickly, ended);
    phi->addIncoming(slowly, slow);
    return phi;
  };
  return {either(fast.length, by_agent), {either(fast.words[0], words[0]), either(fast.words[1], words[1])}};
}

// A string whose NUL is among the 16 bytes; others go to `slow`. Leaves the builder in `ended`.
NativeHooks::Measured NativeHooks::ended_short(llvm::IRBuilder<>& b, Words text, Words zeros, BasicBlock* ended,
                                               BasicBlock* slow) {
  expect(b.CreateCondBr(b.CreateIsNull(b.CreateOr(zeros[0], zeros[1])), slow, ended), 1);
  b.SetInsertPoint(ended);
  Value* behind = b.CreateAdd(first_zero(b, zeros[1]), b.getInt64(9));
  Value* within = b.CreateAdd(first_zero(b, zeros[0]), b.getInt64(1));
  Value* length = b.CreateTrunc(b.CreateSelect(b.CreateIsNull(zeros[0]), behind, within), b.getInt32Ty());
  return {length, text};
}

// A string that ends among the first 15 bytes, by a NUL or by its given length; bytes behind its end become 0.
NativeHooks::Measured NativeHooks::cut_short(llvm::IRBuilder<>& b, Words text, Words zeros, Value* most,
                                             BasicBlock* ended, BasicBlock* slow) {
  const auto min = [&](Value* x, Value* y) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, x, y); };
  // Bytes before the first zero; 8 where there is none.
  const auto before_zero = [&](Value* of_word) {
    return b.CreateSelect(b.CreateIsNull(of_word), b.getInt64(8), first_zero(b, of_word));
  };
  Value* in_low = before_zero(zeros[0]);
  Value* in_both = b.CreateAdd(b.getInt64(8), before_zero(zeros[1]));
  Value* up_to_nul = b.CreateSelect(b.CreateIsNull(zeros[0]), in_both, in_low);
  Value* bytes = min(up_to_nul, b.CreateZExt(most, b.getInt64Ty()));
  expect(b.CreateCondBr(b.CreateICmpULT(bytes, b.getInt64(kInPlace)), ended, slow), 0);
  b.SetInsertPoint(ended);
  // The low `count` bytes of a word, up to 8.
  const auto low_bytes = [&](Value* word, Value* count) {
    Value* shift = b.CreateShl(b.CreateSub(b.getInt64(8), count), b.getInt64(3));
    Value* kept = b.CreateLShr(b.getInt64(~0ull), b.CreateAnd(shift, b.getInt64(63)));
    return b.CreateSelect(b.CreateIsNull(count), b.getInt64(0), b.CreateAnd(word, kept));
  };
  Value* of_low = min(bytes, b.getInt64(8));
  const Words words = {low_bytes(text[0], of_low), low_bytes(text[1], b.CreateSub(bytes, of_low))};
  return {b.CreateTrunc(b.CreateAdd(bytes, b.getInt64(1)), b.getInt32Ty()), words};
}

// Stores 16 bytes of a short string: those behind its end are overwritten by the next string or lie in the record's
// slack.
Value* NativeHooks::text_store(llvm::IRBuilder<>& b, Value* to, Value* address, const Measured& text) {
  BasicBlock* near = block("near");
  BasicBlock* slow = block("long");
  BasicBlock* done = block("copied");
  expect(b.CreateCondBr(b.CreateICmpULE(text.length, b.getInt32(kInPlace)), near, slow), 0);

  b.SetInsertPoint(near);
  for (int i : {0, 1}) b.CreateAlignedStore(text.words[i], field(b, to, 8u * static_cast<unsigned>(i)), llvm::Align(1));
  b.CreateBr(done);
  b.SetInsertPoint(slow);
  Value* copied = text_copy(b, to, address, text.length);
  b.CreateBr(done);
  b.SetInsertPoint(done);
  llvm::PHINode* written = b.CreatePHI(b.getInt32Ty(), 2);
  written->addIncoming(text.length, near);
  written->addIncoming(copied, slow);
  return written;
}

Value* NativeHooks::text_copy(llvm::IRBuilder<>& b, Value* to, Value* address, Value* length) {
  return service(b, offsetof(kevt_services, text_copy), b.getInt32Ty(), {to, address, length});
}

Value* NativeHooks::comm(llvm::IRBuilder<>& b, Value* to) {
  return service(b, offsetof(kevt_services, comm), b.getInt32Ty(), {to});
}

Value* NativeHooks::match(llvm::IRBuilder<>& b, model::GlobKind kind, const std::string& pattern, Value* text,
                          Value* text_length) {
  Value* bytes = b.CreateGlobalString(pattern, "text", 0, &module_);
  Value* matched = service(b, offsetof(kevt_services, match), b.getInt32Ty(),
                           {b.getInt32(static_cast<std::uint32_t>(kind)), bytes,
                            b.getInt32(static_cast<std::uint32_t>(pattern.size())), text, text_length});
  return b.CreateIsNotNull(matched);
}

}  // namespace kevt::codegen

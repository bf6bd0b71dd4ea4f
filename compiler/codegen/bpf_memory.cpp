// Reads, strings and records of BPF programs.
//
// The oldest helpers (bpf_probe_read, bpf_probe_read_str) decide by the address whether to read the user's or the
// kernel's memory, as the kernel's own probes do; on x86-64 the two do not overlap. The helpers for `ustring` and
// `+u0()` (bpf_probe_read_user, …_user_str) refuse the kernel's memory. All write 0 if they cannot read. An address
// that must not be read becomes ~0, where no memory is. Programs of user threads read only the user's memory, and wait
// for memory that is not resident (bpf_resident.cpp).
//
// A record with strings grows in the CPU's scratch. Its length is kept in memory: read back from there the length is
// the same unknown number to the verifier whatever strings were fetched before, so 128 strings are 128 steps and not
// 2^128 paths.
#include <cstddef>

#include "common/abi/bpf.h"
#include "common/assert.h"
#include "compiler/codegen/bpf_helpers.h"
#include "compiler/codegen/bpf_hooks.h"

namespace kevt::codegen {

using llvm::BasicBlock;
using llvm::Value;

namespace {

constexpr std::uint64_t kNoWakeup = 1;  // BPF_RB_NO_WAKEUP: the reader polls
constexpr std::uint32_t kCommBytes = 16;

}  // namespace

Value* BpfHooks::read_bytes(llvm::IRBuilder<>& b, Value* to, Value* bytes, Source from) {
  const std::uint64_t number = may_sleep() ? kCopyFromUser : from.memory == Memory::User ? kProbeReadUser : kProbeRead;
  return helper(b, number, {to, bytes, from.address});
}

Value* BpfHooks::unless(llvm::IRBuilder<>& b, Value* address, Value* bad) {
  return llvm::isa<llvm::ConstantInt>(bad) ? address : b.CreateOr(address, opaque(b, b.CreateNeg(bad)));
}

BpfHooks::Read BpfHooks::read_uncounted(llvm::IRBuilder<>& b, Source from, unsigned bytes, Value* bad) {
  if (bytes < 8) b.CreateAlignedStore(b.getInt64(0), word_, llvm::Align(8), true);
  Value* answer = read_bytes(b, word_, b.getInt32(bytes), {unless(b, from.address, bad), from.memory});
  Value* failed = opaque(b, b.CreateLShr(answer, b.getInt64(63)));
  return {b.CreateAlignedLoad(b.getInt64Ty(), word_, llvm::Align(8), true), failed};
}

BpfHooks::Read BpfHooks::read(llvm::IRBuilder<>& b, Source from, unsigned bytes, Value* bad) {
  const Read read = read_uncounted(b, from, bytes, bad);
  const bool is_good = llvm::isa<llvm::ConstantInt>(bad);
  add_faults(b, is_good ? read.bad : b.CreateAnd(read.bad, b.CreateXor(bad, b.getInt64(1))));
  return read;
}

// Makes a negative length, of an unreadable string, 0.
Value* BpfHooks::clamp_length(llvm::IRBuilder<>& b, Value* length) {
  Value* sign = opaque(b, b.CreateAShr(length, b.getInt64(63)));
  return b.CreateAnd(length, b.CreateNot(sign));
}

Value* BpfHooks::read_text(llvm::IRBuilder<>& b, Value* to, Source from, Value* bad, Value* most) {
  if (most) return read_counted(b, to, from, bad, most);
  const std::uint64_t number = from.memory == Memory::User || may_sleep() ? kProbeReadUserStr : kProbeReadStr;
  return clamp_length(b, helper(b, number, {to, b.getInt32(KEVT_BPF_TEXT_BYTES), unless(b, from.address, bad)}));
}

// The helper reads one byte more than may be kept. If that byte cannot be read, the text ends before it: the text is
// then read as bytes, and measured in the copy. Each path stores its result in memory, so that behind them there is one
// path for the verifier. A text of 0 bytes is readable whatever its address is: the helper has left a NUL, although it
// reports that it cannot read.
Value* BpfHooks::read_counted(llvm::IRBuilder<>& b, Value* to, Source from, Value* bad, Value* most) {
  const bool of_user = from.memory == Memory::User || may_sleep();
  most = b.CreateAnd(opaque(b, most), b.getInt64(KEVT_BPF_TEXT_BYTES - 1));
  Value* size = b.CreateAdd(most, b.getInt64(1));
  Value* address = unless(b, from.address, bad);
  const auto found = [&](Value* length) { b.CreateAlignedStore(length, word_, llvm::Align(8), true); };
  BasicBlock* at_an_end = block("at_an_end");
  BasicBlock* whole = block("whole");
  BasicBlock* done = block("counted");
  Value* length = helper(b, of_user ? kProbeReadUserStr : kProbeReadStr, {to, size, address});
  found(length);
  b.CreateCondBr(b.CreateICmpSLT(length, b.getInt64(0)), at_an_end, done);
  b.SetInsertPoint(at_an_end);
  Value* failed = helper(b, of_user ? kProbeReadUser : kProbeRead, {to, most, address});
  b.CreateCondBr(b.CreateICmpSLT(failed, b.getInt64(0)), done, whole);
  b.SetInsertPoint(whole);
  store(b, b.getInt8(0), at(b, to, most));
  found(helper(b, kProbeReadKernelStr, {to, size, to}));
  b.CreateBr(done);
  b.SetInsertPoint(done);
  length = clamp_length(b, b.CreateAlignedLoad(b.getInt64Ty(), word_, llvm::Align(8), true));
  Value* is_empty = b.CreateLShr(b.CreateSub(opaque(b, most), b.getInt64(1)), b.getInt64(63));
  return b.CreateOr(length, opaque(b, b.CreateAnd(is_empty, b.CreateXor(bad, b.getInt64(1)))));
}
Value* BpfHooks::copy_text(llvm::IRBuilder<>& b, Value* to, std::uint32_t room, Value* from) {
  return clamp_length(b, helper(b, kProbeReadKernelStr, {to, b.getInt32(room), from}));
}

// ---- strings that are kept --------------------------------------------------------------------

Value* BpfHooks::scratch(llvm::IRBuilder<>& b, std::uint32_t index) {
  return at(b, scratch_, KEVT_BPF_TEXTS + std::uint64_t{index} * KEVT_BPF_TEXT_BYTES);
}
// Writes the name, and measures it by copying it once more behind itself: names have at most 15 bytes.
Value* BpfHooks::comm(llvm::IRBuilder<>& b, Value* to) {
  helper(b, kCurrentComm, {to, b.getInt32(kCommBytes)});
  Value* copy = at(b, to, 2 * kCommBytes);
  return b.CreateTrunc(copy_text(b, copy, kCommBytes, to), b.getInt32Ty());
}

void BpfHooks::set_search_position(llvm::IRBuilder<>& b, Value* position) {
  b.CreateAlignedStore(position, at(b, scratch_, offsetof(kevt_bpf_scratch, position)), llvm::Align(8), true);
}
Value* BpfHooks::search_position(llvm::IRBuilder<>& b) {
  Value* from = at(b, scratch_, offsetof(kevt_bpf_scratch, position));
  return opaque(b, b.CreateAlignedLoad(b.getInt64Ty(), from, llvm::Align(8), true));
}

// ---- records --------------------------------------------------------------------------------

Value* BpfHooks::ring(llvm::IRBuilder<>& b, BasicBlock* none) {
  b.CreateAlignedStore(b.CreateTrunc(cpu_, b.getInt32Ty()), key_, llvm::Align(4), true);
  Value* found = helper(b, kMapLookup, {map(b, "kevt_rings"), key_}, b.getPtrTy());
  BasicBlock* there = block("ring");
  b.CreateCondBr(b.CreateIsNull(found), none, there);
  b.SetInsertPoint(there);
  return found;
}

void BpfHooks::fill_prefix(llvm::IRBuilder<>& b, Value* prefix) {
  helper(b, kCurrentComm, {at(b, prefix, offsetof(kevt_bpf_prefix, comm)), b.getInt32(kCommBytes)});
  store(b, helper(b, kKtimeNs, {}), at(b, prefix, offsetof(kevt_bpf_prefix, time_ns)));
  Value* handle = load(b, at(b, event_, offsetof(kevt_bpf_event, handle)), 32);
  store(b, b.CreateZExt(handle, b.getInt64Ty()), at(b, prefix, offsetof(kevt_bpf_prefix, handle)));
}

Value* BpfHooks::reserve_fixed(llvm::IRBuilder<>& b, std::uint32_t bytes, BasicBlock* full) {
  Value* size = b.getInt64(sizeof(kevt_bpf_prefix) + bytes);
  record_ = helper(b, kRingReserve, {ring(b, full), size, b.getInt64(0)}, b.getPtrTy());
  BasicBlock* reserved = block("reserved");
  b.CreateCondBr(b.CreateIsNull(record_), full, reserved);
  b.SetInsertPoint(reserved);
  fill_prefix(b, record_);
  return at(b, record_, sizeof(kevt_bpf_prefix));
}

void BpfHooks::commit(llvm::IRBuilder<>& b) { helper(b, kRingSubmit, {record_, b.getInt64(kNoWakeup)}); }

Value* BpfHooks::begin_growing(llvm::IRBuilder<>& b, std::uint32_t bytes) {
  set_growing_end(b, b.getInt64(bytes));
  fill_prefix(b, at(b, scratch_, sizeof(kevt_bpf_scratch)));
  return at(b, scratch_, sizeof(kevt_bpf_scratch) + sizeof(kevt_bpf_prefix));
}

void BpfHooks::set_growing_end(llvm::IRBuilder<>& b, Value* offset) {
  b.CreateAlignedStore(offset, at(b, scratch_, offsetof(kevt_bpf_scratch, at)), llvm::Align(8), true);
}

BpfHooks::End BpfHooks::growing_end(llvm::IRBuilder<>& b, BasicBlock* lost, std::uint64_t most) {
  Value* from = at(b, scratch_, offsetof(kevt_bpf_scratch, at));
  Value* offset = opaque(b, b.CreateAlignedLoad(b.getInt64Ty(), from, llvm::Align(8), true));
  BasicBlock* fits = block("fits");
  b.CreateCondBr(b.CreateICmpUGT(offset, b.getInt64(most)), lost, fits);
  b.SetInsertPoint(fits);
  Value* known = opaque(b, offset);
  return {known, at(b, at(b, scratch_, sizeof(kevt_bpf_scratch) + sizeof(kevt_bpf_prefix)), known)};
}

// The number of frames that are skipped, and whose stack it is.
std::uint64_t BpfHooks::stack_flags() const {
  constexpr std::uint64_t kUserStack = 1u << 8;  // BPF_F_USER_STACK
  constexpr std::uint64_t kOurs = 2;  // frames of a raw tracepoint's program and of its caller (bpf_trace_run*)
  if (input_.context == model::BpfContext::Uprobe) return kUserStack;
  return input_.context == model::BpfContext::RawTracepoint ? kOurs : 0;
}

// Negative: another stack has the place that the hash names, and keeps it.
Value* BpfHooks::stack_number(llvm::IRBuilder<>& b) {
  KEVT_ASSERT(!may_sleep());  // programs that may sleep have no such maps
  Value* const place = helper(b, kGetStackId, {function_->getArg(0), map(b, "kevt_stacks"), b.getInt64(stack_flags())});
  Value* const is_kept = b.CreateICmpSGE(place, b.getInt64(0));
  return b.CreateSelect(is_kept, b.CreateAdd(place, b.getInt64(1)), b.getInt64(0));
}

void BpfHooks::append_stack(llvm::IRBuilder<>& b, BasicBlock* lost) {
  const End end = growing_end(b, lost);
  Value* const taken = clamp_length(
      b, helper(b, kGetStack,
                {function_->getArg(0), end.place, b.getInt32(KEVT_BPF_STACK_BYTES), b.getInt64(stack_flags())}));
  Value* const prefix = at(b, scratch_, sizeof(kevt_bpf_scratch));
  store(b, b.CreateTrunc(taken, b.getInt32Ty()), at(b, prefix, offsetof(kevt_bpf_prefix, stack_bytes)));
  set_growing_end(b, b.CreateAdd(end.offset, taken));
}

void BpfHooks::output_growing(llvm::IRBuilder<>& b, BasicBlock* full) {
  const End end =
      growing_end(b, full, model::kMaxRecordBytes + (input_.program->takes_stack ? KEVT_BPF_STACK_BYTES : 0));
  Value* target = ring(b, full);
  Value* size = b.CreateAdd(end.offset, b.getInt64(sizeof(kevt_bpf_prefix)));
  Value* answer =
      helper(b, kRingOutput, {target, at(b, scratch_, sizeof(kevt_bpf_scratch)), size, b.getInt64(kNoWakeup)});
  BasicBlock* written = block("written");
  b.CreateCondBr(b.CreateIsNotNull(answer), full, written);
  b.SetInsertPoint(written);
}

}  // namespace kevt::codegen

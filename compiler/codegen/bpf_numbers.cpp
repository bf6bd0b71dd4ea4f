// Numbers of a BPF program that are known only on the machine that runs it: offsets of members, registers of arguments.
//
//   r1 = kevt_number_2 ll        16 bytes; whoever loads the program writes the number there
//   r3 += r1                     an offset;  r2 >>= r1  a bit's place
//   if r1 == 112 goto …          one way for each register: the verifier knows the number, and takes out the others
//
// Problem: LLVM would fold and share a number that it knows, so the number could not be found again; and a context may
// be read only at an offset that is part of the instruction. Idea: the number is an instruction that LLVM cannot see
// through. For an offset that must be part of an instruction there is a branch for each possible one; the kernel keeps
// one of the branches.
#include <llvm/IR/InlineAsm.h>

#include "compiler/codegen/bpf_emitter.h"
#include "compiler/ir/type_relocations.h"

namespace kevt::codegen {

using ir::TypeRelocationKind;
using llvm::BasicBlock;
using llvm::Value;

// ---- hooks ----------------------------------------------------------------------------------

Value* BpfHooks::open_number(llvm::IRBuilder<>& b, std::uint32_t number) {
  auto* type = llvm::FunctionType::get(b.getInt64Ty(), false);
  const std::string load = "$0 = " + (kNumberSymbol + std::to_string(number)) + " ll";
  return b.CreateCall(llvm::InlineAsm::get(type, load, "=r", false));
}

Value* BpfHooks::register_among(llvm::IRBuilder<>& b, std::span<const std::uint32_t> offsets, Value* offset) {
  auto* type = llvm::FunctionType::get(b.getInt64Ty(), {b.getPtrTy()}, false);
  BasicBlock* done = block("register");
  std::vector<std::pair<Value*, BasicBlock*>> found;
  for (const std::uint32_t one : offsets) {
    BasicBlock* here = block("here");
    BasicBlock* next = block("elsewhere");
    b.CreateCondBr(b.CreateICmpEQ(offset, b.getInt64(one)), here, next);
    b.SetInsertPoint(here);
    const std::string load = "$0 = *(u64 *)($1 + " + std::to_string(one) + ")";
    found.emplace_back(b.CreateCall(llvm::InlineAsm::get(type, load, "=r,r", true), {function_->getArg(0)}), here);
    b.CreateBr(done);
    b.SetInsertPoint(next);
  }
  found.emplace_back(b.getInt64(0), b.GetInsertBlock());
  b.CreateBr(done);
  b.SetInsertPoint(done);
  llvm::PHINode* word = b.CreatePHI(b.getInt64Ty(), static_cast<unsigned>(found.size()));
  for (const auto& [value, from] : found) word->addIncoming(value, from);
  return word;
}

Value* BpfHooks::entry_argument_at(llvm::IRBuilder<>& b, Value* index) {
  Value* place = at(b, at(b, kept_, kept_word(0)), b.CreateShl(index, b.getInt64(3)));
  return b.CreateAlignedLoad(b.getInt64Ty(), place, llvm::Align(8), true);
}

// ---- the emitter ------------------------------------------------------------------------------

BpfEmitter::BpfEmitter(llvm::Module& module, const BpfInput& input, BpfHooks& hooks)
    : EventEmitter(module, *input.program, hooks), bpf_(hooks), context_(input.context) {
  if (input.numbers == BpfNumbers::Known) return;
  std::uint32_t number = 0;
  for (const ir::TypeRelocation& one : ir::type_relocations(program_, context_))
    open_[{one.position, one.kind}] = number++;
}

Value* BpfEmitter::open_number(std::uint32_t position, TypeRelocationKind kind) {
  const auto open = open_.find({position, kind});
  return open == open_.end() ? nullptr : bpf_.open_number(b_, open->second);
}

Value* BpfEmitter::constant(std::uint32_t position, std::int64_t word) {
  Value* open = open_number(position, TypeRelocationKind::Offset);
  return open ? open : b_.getInt64(static_cast<std::uint64_t>(word));
}

Value* BpfEmitter::register_word(ir::ValueId id) {
  Value* open = open_number(ir::value_position(id), TypeRelocationKind::Register);
  return open ? bpf_.register_among(b_, ir::argument_registers(context_), open) : EventEmitter::register_word(id);
}

Value* BpfEmitter::entry_argument(ir::ValueId id) {
  Value* open = open_number(ir::value_position(id), TypeRelocationKind::EntryArgument);
  return open ? bpf_.entry_argument_at(b_, open) : EventEmitter::entry_argument(id);
}

Value* BpfEmitter::take_bits(ir::ValueId id) {
  Value* shift = open_number(ir::value_position(id), TypeRelocationKind::Shift);
  if (!shift) return EventEmitter::take_bits(id);
  Value* shifted = b_.CreateLShr(integer(program_.values[id].a), shift);
  return b_.CreateAnd(shifted, open_number(ir::value_position(id), TypeRelocationKind::Mask));
}

}  // namespace kevt::codegen

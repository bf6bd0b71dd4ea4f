// NativeHooks: the TargetHooks for processes: thread lookup, guard, per-thread counters, rings, safe loads
// through a fault table, and the agent's services. The struct offsets are common/abi/probe.h's.
//
//   native_hooks.cpp   the function, registers, loads, counters, event words
//   native_thread.cpp  the hitting thread, the guard, return addresses
//   native_text.cpp    strings
//   native_ring.cpp    room for a record
#pragma once

#include <array>

#include "compiler/codegen/event_emitter.h"

namespace kevt::codegen {

class NativeHooks final : public TargetHooks {
 public:
  explicit NativeHooks(llvm::Module& module);

  llvm::Function* declare(const std::string& name, const ir::Program& program) override;
  void begin(llvm::IRBuilder<>& b, std::uint32_t sinks) override;
  void finish(llvm::IRBuilder<>& b) override;

  llvm::Value* register_word(llvm::IRBuilder<>& b, std::uint32_t offset) override;
  llvm::Value* vector_word(llvm::IRBuilder<>& b, std::uint32_t number) override;
  llvm::Value* slot(llvm::IRBuilder<>& b, std::uint32_t index) override;
  llvm::Value* thread_local_address(llvm::IRBuilder<>& b, std::uint32_t slot) override;
  llvm::Value* shared_cell(llvm::IRBuilder<>& b, std::uint32_t slot) override;
  llvm::Value* event_id(llvm::IRBuilder<>& b) override;
  llvm::Value* pid(llvm::IRBuilder<>& b) override;
  llvm::Value* cpu(llvm::IRBuilder<>& b) override;
  llvm::Value* probe_address(llvm::IRBuilder<>& b) override;
  llvm::Value* return_address(llvm::IRBuilder<>& b) override;
  llvm::Value* entry_argument(llvm::IRBuilder<>& b, std::uint32_t index) override;

  // Loads `bytes` bytes at `address`, zero-extended to 64 bits; goes to `fault` if they are unreadable.
  llvm::Value* load(llvm::IRBuilder<>& b, llvm::Value* address, unsigned bytes, llvm::BasicBlock* fault);
  void count_fault(llvm::IRBuilder<>& b) override;
  void count(llvm::IRBuilder<>& b, Counter counter, std::uint32_t sink) override;
  llvm::Value* gate(llvm::IRBuilder<>& b, std::uint32_t sink) override;
  llvm::Value* inject(llvm::IRBuilder<>& b) override;

  llvm::Value* scratch(llvm::IRBuilder<>& b, std::uint32_t index) override;
  llvm::Value* comm(llvm::IRBuilder<>& b, llvm::Value* to) override;

  // The record that Op::SpanContext means, by the address of the thread's pointer to it; goes to `absent` if there is
  // none.
  llvm::Value* span_context(llvm::IRBuilder<>& b, llvm::Value* pointer, llvm::BasicBlock* absent);

  // Stacks (common/abi/hit_stack.h). The stack's number, 0: not known; and a sample for the reader, at `to`.
  llvm::Value* stack_number(llvm::IRBuilder<>& b);
  void stack_sample(llvm::IRBuilder<>& b, llvm::Value* to);

  // Texts. Lengths are i32 with the NUL; 0: unreadable. A text may change between measuring and copying; the bytes of a
  // short text are kept from measuring to storing.
  struct Measured {
    llvm::Value* length = nullptr;
    // i64: the text's bytes if `length` is at most 16; bits behind the NUL are undefined
    std::array<llvm::Value*, 2> words = {};
  };
  // `most`: i32, how many bytes may be read, up to KEVT_TEXT_BYTES - 1; nullptr: up to the NUL.
  llvm::Value* text_fetch(llvm::IRBuilder<>& b, llvm::Value* to, llvm::Value* address, llvm::Value* most = nullptr);
  Measured text_measure(llvm::IRBuilder<>& b, llvm::Value* address, llvm::Value* most = nullptr);
  llvm::Value* text_store(llvm::IRBuilder<>& b, llvm::Value* to, llvm::Value* address, const Measured& text);
  llvm::Value* text_copy(llvm::IRBuilder<>& b, llvm::Value* to, llvm::Value* address, llvm::Value* length);
  llvm::Value* match(llvm::IRBuilder<>& b, model::GlobKind kind, const std::string& pattern, llvm::Value* text,
                     llvm::Value* text_length);  // i1

  HitTableShape hit_table_shape() const override;
  llvm::Value* hit_table(llvm::IRBuilder<>& b, std::uint32_t slot) override;
  void add(llvm::IRBuilder<>& b, llvm::Value* number, llvm::Value* amount) override;
  void add_one(llvm::IRBuilder<>& b, llvm::Value* number) override;
  void raise(llvm::IRBuilder<>& b, llvm::Value* number, llvm::Value* least) override;

  // Reserves a record of `size` (i32) bytes and returns its first byte. Goes to `full` if there is no room.
  llvm::Value* reserve(llvm::IRBuilder<>& b, llvm::Value* size, llvm::BasicBlock* full);
  void commit(llvm::IRBuilder<>& b);

 private:
  // Memory.
  llvm::Value* field(llvm::IRBuilder<>& b, llvm::Value* base, std::uint64_t offset);
  llvm::Value* read(llvm::IRBuilder<>& b, llvm::Value* base, std::uint64_t offset, unsigned bits);
  llvm::Value* read_pointer(llvm::IRBuilder<>& b, llvm::Value* base, std::uint64_t offset);
  void write(llvm::IRBuilder<>& b, llvm::Value* value, llvm::Value* base, std::uint64_t offset);
  void change(llvm::IRBuilder<>& b, const char* instruction, llvm::Value* base, std::uint64_t offset);
  void increment(llvm::IRBuilder<>& b, llvm::Value* base, std::uint64_t offset) { change(b, "incq $0", base, offset); }
  void count_at(llvm::IRBuilder<>& b, std::uint64_t offset);  // increments a counter in this thread's row
  // Assembly that may fault or jump to `other`; the builder goes on in a new block.
  llvm::Value* branching_asm(llvm::IRBuilder<>& b, llvm::Type* result, const std::string& text, const char* constraints,
                             llvm::ArrayRef<llvm::Value*> pointers, llvm::BasicBlock* other);
  llvm::Value* service(llvm::IRBuilder<>& b, std::uint64_t offset, llvm::Type* result,
                       std::initializer_list<llvm::Value*> arguments);

  // The function.
  void make_function(const std::string& name, unsigned arguments);
  llvm::BasicBlock* block(const char* name);
  void leave(llvm::IRBuilder<>& b);
  llvm::Value* frame(llvm::IRBuilder<>& b, std::uint64_t offset);
  llvm::Value* return_slot(llvm::IRBuilder<>& b);
  llvm::Value* stack_begins(llvm::IRBuilder<>& b);
  llvm::Value* thread_pointer(llvm::IRBuilder<>& b);

  // The hitting thread.
  llvm::Value* read_time(llvm::IRBuilder<>& b);
  llvm::Value* own_thread(llvm::IRBuilder<>& b, llvm::BasicBlock* unknown);
  void find_thread(llvm::IRBuilder<>& b);
  void take_return_address(llvm::IRBuilder<>& b);
  void take_guard(llvm::IRBuilder<>& b);
  void see_thread(llvm::IRBuilder<>& b, llvm::Value* known, llvm::BasicBlock* from, llvm::BasicBlock* found,
                  llvm::BasicBlock* unknown);

  // Strings that end within 16 bytes; longer ones go to `slow`. `zeros` marks the zero bytes of `text`.
  using Words = std::array<llvm::Value*, 2>;  // i64
  Measured ended_short(llvm::IRBuilder<>& b, Words text, Words zeros, llvm::BasicBlock* ended, llvm::BasicBlock* slow);
  Measured cut_short(llvm::IRBuilder<>& b, Words text, Words zeros, llvm::Value* most, llvm::BasicBlock* ended,
                     llvm::BasicBlock* slow);

  llvm::Module& module_;
  llvm::GlobalVariable* event_ = nullptr;  // kevt_event
  llvm::Function* function_ = nullptr;
  llvm::Value* slot_ = nullptr;      // where the return address lies, once return_slot() has found it
  llvm::BasicBlock* out_ = nullptr;  // the block that returns
  bool is_return_ = false;
  llvm::Value* return_address_ = nullptr;
  llvm::Value* thread_ = nullptr;
  llvm::Value* record_ = nullptr;
};

// The words of kevt_registers that an extractor reads from the registers themselves, in the order of its arguments.
llvm::ArrayRef<std::uint32_t> registers_in_place(model::ProbeKind point);

// Marks a branch that goes to successor number `likely` nearly always.
void expect(llvm::Instruction* branch, unsigned likely);

}  // namespace kevt::codegen

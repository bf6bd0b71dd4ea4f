// BpfEmitter: EventEmitter for the BPF target: reads without branches, records that are built front to back.
#pragma once

#include <map>

#include "compiler/codegen/bpf_hooks.h"
#include "compiler/codegen/event_emitter.h"

namespace kevt::codegen {

class BpfEmitter final : public EventEmitter {
 public:
  BpfEmitter(llvm::Module& module, const ir::Program& program, BpfHooks& hooks)
      : EventEmitter(module, program, hooks), bpf_(hooks) {}

 private:
  void emit_record(std::uint32_t sink, llvm::BasicBlock* next) override;
  void fetch_load(ir::ValueId id, const Memo& memo) override;
  void fetch_string(ir::ValueId id, const Memo& memo) override;
  void match_text(const ir::Condition& c, llvm::BasicBlock* yes, llvm::BasicBlock* no) override;

  llvm::Value* bad(ir::ValueId id);  // i64: 1 where the value was unreadable
  llvm::Value* address_of(ir::ValueId id, std::int64_t offset);
  llvm::Value* equal_bytes(llvm::Value* text, const std::string& constant);

  void store_header(llvm::Value* record);
  void store_texts(const ir::Store& store, llvm::Value* record, llvm::BasicBlock* lost);
  void store_one_text(const ir::Store& store, llvm::Value* word_at, llvm::BasicBlock* lost);
  void store_constant(const std::string& text, llvm::Value* to);
  void store_text_array(const ir::Store& store, llvm::Value* record, llvm::BasicBlock* lost);
  void store_integers(const ir::Store& store, llvm::Value* record);
  void store_items(const ir::Store& store, llvm::Value* record);
  // `for (i = 0; i < count; ++i)`: leaves the builder in its body; end_loop() goes on behind it.
  struct Loop {
    llvm::PHINode* index = nullptr;  // i64
    llvm::BasicBlock* head = nullptr;
    llvm::BasicBlock* done = nullptr;
  };
  Loop begin_loop(std::uint32_t count);
  void end_loop(const Loop& loop);

  BpfHooks& bpf_;
  std::map<ir::ValueId, llvm::AllocaInst*> bad_;
};

}  // namespace kevt::codegen

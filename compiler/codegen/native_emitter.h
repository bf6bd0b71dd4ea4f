// NativeEmitter: the EventEmitter for processes: loads with a second exit for faults, and strings that are measured
// before exactly that much room is reserved.
//
//   native_emitter.cpp  constants, loads, strings, comparisons with texts
//   native_record.cpp   the record
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "compiler/codegen/event_emitter.h"
#include "compiler/codegen/native_hooks.h"

namespace kevt::codegen {

class NativeEmitter final : public EventEmitter {
 public:
  // Position (ir/shape.h) → symbol, for constants that are symbols of the module; all other constants are numbers.
  using Symbols = std::map<std::uint32_t, llvm::Constant*>;

  NativeEmitter(llvm::Module& module, const ir::Program& program, NativeHooks& hooks, Symbols symbols)
      : EventEmitter(module, program, hooks), native_(hooks), symbols_(std::move(symbols)) {}

 private:
  llvm::Value* constant(std::uint32_t position, std::int64_t word) override;
  void fetch_load(ir::ValueId id, const Memo& memo) override;
  void fetch_string(ir::ValueId id, const Memo& memo) override;
  void match_text(const ir::Condition& c, llvm::BasicBlock* yes, llvm::BasicBlock* no) override;
  llvm::Value* equal_constant(llvm::Value* text, const std::string& constant);
  void append_text_key(ir::ValueId text, std::vector<llvm::Value*>& key, llvm::BasicBlock* full) override;
  bool keeps_text_keys() const override { return false; }

  struct TextItem {                 // one string of the record, after measuring
    llvm::Value* source = nullptr;  // address (i64)
    NativeHooks::Measured text;
  };
  void emit_record(std::uint32_t sink, llvm::BasicBlock* next) override;
  llvm::Value* measure(const ir::Store& store, TextItem& item);
  llvm::Value* measure_array(const ir::Store& store, llvm::AllocaInst* addresses, llvm::AllocaInst* lengths);
  llvm::Value* store_text(const ir::Store& store, const TextItem& item, llvm::Value* record, llvm::Value* at);
  llvm::Value* store_text_array(const ir::Store& store, llvm::AllocaInst* addresses, llvm::AllocaInst* lengths,
                                llvm::Value* record, llvm::Value* at);
  void store_array(const ir::Store& store, llvm::Value* record);
  llvm::Value* measure_counted(const ir::Store& store);
  llvm::Value* store_counted(const ir::Store& store, llvm::Value* bytes, llvm::Value* record, llvm::Value* at);
  llvm::Value* stack_bytes(ir::ValueId number);
  void store_stack(ir::ValueId number, llvm::Value* to);
  llvm::Value* counted_loop(std::uint32_t count, llvm::BasicBlock*& header, llvm::BasicBlock*& done);

  NativeHooks& native_;
  const Symbols symbols_;
};

}  // namespace kevt::codegen

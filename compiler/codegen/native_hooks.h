// What is native about native code: thread lookup, guard, per-thread counters, rings, safe loads
// through a fault table, and the agent's services. The struct offsets are common/abi/probe.h's.
#pragma once

#include "compiler/codegen/event_emitter.h"

namespace kevt::codegen {

class NativeHooks final : public TargetHooks {
 public:
  explicit NativeHooks(llvm::Module& module);

  llvm::Function* declare(const std::string& name) override;
  void begin(llvm::IRBuilder<>& b, std::uint32_t sinks) override;
  void begin_record(llvm::IRBuilder<>& b, const std::string& name) override;
  void finish(llvm::IRBuilder<>& b, WayOut way) override;

  llvm::Value* register_word(llvm::IRBuilder<>& b, std::uint32_t offset) override;
  llvm::Value* slot(llvm::IRBuilder<>& b, std::uint32_t index) override;
  llvm::Value* event_id(llvm::IRBuilder<>& b) override;
  llvm::Value* pid(llvm::IRBuilder<>& b) override;
  llvm::Value* cpu(llvm::IRBuilder<>& b) override;
  llvm::Value* probe_address(llvm::IRBuilder<>& b) override;
  llvm::Value* return_address(llvm::IRBuilder<>& b) override;

  llvm::Value* load(llvm::IRBuilder<>& b, llvm::Value* address, unsigned bytes, llvm::BasicBlock* fault) override;
  void count_fault(llvm::IRBuilder<>& b) override;
  void count(llvm::IRBuilder<>& b, Counter counter, std::uint32_t sink) override;
  llvm::Value* gate(llvm::IRBuilder<>& b, std::uint32_t sink) override;

  llvm::Value* scratch(llvm::IRBuilder<>& b, std::uint32_t index) override;
  llvm::Value* text_fetch(llvm::IRBuilder<>& b, llvm::Value* to, llvm::Value* address) override;
  llvm::Value* text_length(llvm::IRBuilder<>& b, llvm::Value* address) override;
  llvm::Value* text_copy(llvm::IRBuilder<>& b, llvm::Value* to, llvm::Value* address, llvm::Value* length) override;
  llvm::Value* comm(llvm::IRBuilder<>& b, llvm::Value* to) override;
  llvm::Value* match(llvm::IRBuilder<>& b, model::GlobKind kind, llvm::Value* pattern, std::uint32_t length,
                     llvm::Value* text, llvm::Value* text_length) override;

  llvm::Value* reserve(llvm::IRBuilder<>& b, llvm::Value* size, llvm::BasicBlock* full) override;
  void commit(llvm::IRBuilder<>& b) override;

 private:
  llvm::Value* field(llvm::IRBuilder<>& b, llvm::Value* base, std::uint64_t offset);
  llvm::Value* read(llvm::IRBuilder<>& b, llvm::Value* base, std::uint64_t offset, unsigned bits);
  llvm::Value* read_pointer(llvm::IRBuilder<>& b, llvm::Value* base, std::uint64_t offset);
  void write(llvm::IRBuilder<>& b, llvm::Value* value, llvm::Value* base, std::uint64_t offset);
  void increment(llvm::IRBuilder<>& b, llvm::Value* base, std::uint64_t offset);
  llvm::Value* service(llvm::IRBuilder<>& b, std::uint64_t offset, llvm::Type* result,
                       std::initializer_list<llvm::Value*> arguments);
  llvm::Function* make_function(const std::string& name, llvm::GlobalValue::LinkageTypes linkage);
  void enter(llvm::Function* function);
  llvm::Value* find_thread(llvm::IRBuilder<>& b);
  llvm::Value* find_row(llvm::IRBuilder<>& b);
  void leave_to(llvm::IRBuilder<>& b, std::uint64_t service_offset, llvm::Value* thread);

  llvm::Module& module_;
  llvm::Function* function_ = nullptr;
  llvm::Value* registers_ = nullptr;
  llvm::Value* event_ = nullptr;
  llvm::Value* return_address_ = nullptr;
  llvm::Value* thread_ = nullptr;
  llvm::Value* row_ = nullptr;  // kevt_counts of sink 0
  llvm::Value* record_ = nullptr;
};

}  // namespace kevt::codegen

// BpfEmitter: the EventEmitter for BPF: reads without branches, records that are built from front to back.
#pragma once

#include <map>

#include "compiler/codegen/bpf_hooks.h"
#include "compiler/codegen/event_emitter.h"
#include "compiler/ir/glob.h"
#include "compiler/ir/type_relocations.h"

namespace kevt::codegen {

// About how many instructions the verifier walks for the pattern of `c`; kMostPatternSteps is the limit for all
// patterns of a program. The verifier gives up after a million instructions.
inline constexpr std::uint64_t kMostPatternSteps = 700'000;
std::uint64_t verifier_steps(const ir::Condition& c);

class BpfEmitter final : public EventEmitter {
 public:
  BpfEmitter(llvm::Module& module, const BpfInput& input, BpfHooks& hooks);

 private:
  void prepare() override;
  void emit_record(std::uint32_t sink, llvm::BasicBlock* next) override;
  void fetch_load(ir::ValueId id, const Memo& memo) override;
  void fetch_string(ir::ValueId id, const Memo& memo) override;
  void match_text(const ir::Condition& c, llvm::BasicBlock* yes, llvm::BasicBlock* no) override;
  void append_text_key(ir::ValueId text, std::vector<llvm::Value*>& key, llvm::BasicBlock* full) override;
  bool keeps_text_keys() const override { return true; }

  llvm::Value* bad(ir::ValueId id);  // i64: 1 where the value was unreadable
  llvm::Value* read_text(ir::ValueId id, llvm::Value* to);
  llvm::Value* bad_operands(const ir::Value& value);
  llvm::Value* address_of(ir::ValueId id, llvm::Value* offset) { return b_.CreateAdd(integer(id), offset); }
  llvm::Value* equal_bytes(llvm::Value* text, const std::string& constant);

  // Patterns (bpf_glob.cpp).
  struct SearchedText {
    llvm::Value* text = nullptr;
    llvm::Value* chars = nullptr;  // i64, without the NUL
    llvm::BasicBlock* no = nullptr;
  };
  void match_segments(const ir::Condition& c, const SearchedText& in, llvm::BasicBlock* yes);
  void match_at(const SearchedText& in, llvm::Value* at, const std::vector<ir::GlobItem>& segment);
  void search(const SearchedText& in, const std::vector<ir::GlobItem>& segment);
  llvm::Value* place_in(const SearchedText& in, llvm::Value* at);
  llvm::Value* differs(llvm::Value* place, const std::vector<ir::GlobItem>& segment);
  llvm::Value* is_outside(llvm::Value* place, const ir::GlobItem& item);

  // Reading memory in, before a scratch is claimed (bpf_resident.cpp).
  llvm::Value* loaded(ir::ValueId id) override;
  void read_in(const ir::Store& store);

  void store_header(llvm::Value* record);
  void store_texts(const ir::Store& store, llvm::Value* record, llvm::BasicBlock* lost);
  void store_counted(const ir::Store& store, llvm::Value* record, llvm::BasicBlock* lost);
  void store_one_text(const ir::Store& store, llvm::Value* word_at, llvm::BasicBlock* lost);
  void store_constant(const std::string& text, llvm::Value* to);
  void store_text_array(const ir::Store& store, llvm::Value* record, llvm::BasicBlock* lost);
  void store_integers(const ir::Store& store, llvm::Value* record);
  void store_items(const ir::Store& store, llvm::Value* record);
  // `for (i = 0; i < count; ++i)`: leaves the builder in the loop's body; end_loop() leaves it behind the loop.
  struct Loop {
    llvm::PHINode* index = nullptr;  // i64
    llvm::BasicBlock* head = nullptr;
    llvm::BasicBlock* done = nullptr;
  };
  Loop begin_loop(std::uint32_t count);
  void end_loop(const Loop& loop);

  // Numbers that are left open (bpf_numbers.cpp); nullptr: this number is known.
  llvm::Value* open_number(std::uint32_t position, ir::TypeRelocationKind kind);
  llvm::Value* constant(std::uint32_t position, std::int64_t word) override;
  llvm::Value* register_word(ir::ValueId id) override;
  llvm::Value* entry_argument(ir::ValueId id) override;
  llvm::Value* take_bits(ir::ValueId id) override;

  BpfHooks& bpf_;
  model::BpfContext context_;
  std::map<std::pair<std::uint32_t, ir::TypeRelocationKind>, std::uint32_t> open_;
  std::map<ir::ValueId, llvm::AllocaInst*> bad_;
  bool is_reading_in_ = false;
  std::map<ir::ValueId, BpfHooks::Read> passed_;  // loads on the way to the memory that is being read in
};

}  // namespace kevt::codegen

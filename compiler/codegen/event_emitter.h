// EventEmitter: fetch IR → LLVM IR. The parts that are the same for every target are here: order, laziness, conditions,
// aggregates, switches of triggers. NativeEmitter and BpfEmitter read memory and strings and write records.
// TargetHooks gives the words of a hit (registers, time, ids), its counters and its tables.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/ir/shape.h"

namespace kevt::codegen {

inline constexpr std::uint32_t kWordBytes = 8;

enum class Counter : std::uint8_t { Recorded, Aggregated, Filtered, Lost };

// Words of the hit. Methods emit code at the builder's insertion point and may leave that point in a new block.
class TargetHooks {
 public:
  virtual ~TargetHooks() = default;

  // Makes the function of `program`, with an empty entry block. begin() emits the start of a hit, finish() its end.
  virtual llvm::Function* declare(const std::string& name, const ir::Program& program) = 0;
  virtual void begin(llvm::IRBuilder<>& b, std::uint32_t sinks) = 0;
  virtual void finish(llvm::IRBuilder<>& b) = 0;

  virtual llvm::Value* register_word(llvm::IRBuilder<>& b, std::uint32_t offset) = 0;
  // The low 64 bits of a vector register; called only for targets that do not refuse Op::Vector.
  virtual llvm::Value* vector_word(llvm::IRBuilder<>& b, std::uint32_t number) = 0;
  virtual llvm::Value* slot(llvm::IRBuilder<>& b, std::uint32_t index) = 0;
  // Op::ThreadLocal of that slot; called only for targets that do not refuse it.
  virtual llvm::Value* thread_local_address(llvm::IRBuilder<>& b, std::uint32_t slot) = 0;
  // Where the word of a SharedCell slot lies.
  virtual llvm::Value* shared_cell(llvm::IRBuilder<>& b, std::uint32_t slot) = 0;
  virtual llvm::Value* event_id(llvm::IRBuilder<>& b) = 0;
  virtual llvm::Value* pid(llvm::IRBuilder<>& b) = 0;
  virtual llvm::Value* cpu(llvm::IRBuilder<>& b) = 0;
  virtual llvm::Value* probe_address(llvm::IRBuilder<>& b) = 0;
  // probe_address() as a number with which a program may compute.
  virtual llvm::Value* record_address(llvm::IRBuilder<>& b) { return probe_address(b); }
  virtual llvm::Value* return_address(llvm::IRBuilder<>& b) = 0;
  // The argument at `index` of ir::entry_arguments.
  virtual llvm::Value* entry_argument(llvm::IRBuilder<>& b, std::uint32_t index) = 0;

  virtual void count_fault(llvm::IRBuilder<>& b) = 0;
  virtual void count(llvm::IRBuilder<>& b, Counter counter, std::uint32_t sink) = 0;
  virtual llvm::Value* gate(llvm::IRBuilder<>& b, std::uint32_t sink) = 0;  // i1
  virtual llvm::Value* inject(llvm::IRBuilder<>& b) = 0;                    // i1: whether this hit injects

  // Room for a string of up to 4096 bytes, while the hit lasts.
  virtual llvm::Value* scratch(llvm::IRBuilder<>& b, std::uint32_t index) = 0;
  // The thread's name; its length (i32) with the NUL.
  virtual llvm::Value* comm(llvm::IRBuilder<>& b, llvm::Value* to) = 0;

  // Hit tables (common/abi/hit_table.h): hit_table() gives this hit's table of a HitTable slot; add() and add_one()
  // increase a number in it, and raise() makes it `least` if it is less, as unsigned numbers.
  struct HitTableShape {
    std::uint32_t bytes = 0;       // a power of two
    std::uint32_t near_bytes = 0;  // of the near part; equal to `bytes`: there is no such part
    bool is_shared = false;        // a preempted hit and those that run meanwhile use the same table
  };
  virtual HitTableShape hit_table_shape() const = 0;
  virtual llvm::Value* hit_table(llvm::IRBuilder<>& b, std::uint32_t slot) = 0;
  virtual void add(llvm::IRBuilder<>& b, llvm::Value* number, llvm::Value* amount) = 0;
  virtual void add_one(llvm::IRBuilder<>& b, llvm::Value* number) = 0;
  virtual void raise(llvm::IRBuilder<>& b, llvm::Value* number, llvm::Value* least) = 0;
};

class EventEmitter {
 public:
  EventEmitter(llvm::Module& module, const ir::Program& program, TargetHooks& hooks);
  virtual ~EventEmitter() = default;
  void emit(const std::string& name);

 protected:
  // A value that is fetched at run time, at most once.
  struct Memo {
    llvm::AllocaInst* done = nullptr;
    llvm::AllocaInst* value = nullptr;  // Integer: i64. Text: i32 length
    llvm::AllocaInst* ok = nullptr;     // Integer only: i1
    llvm::AllocaInst* words[2] = {};    // Text that is not in scratch: its first 16 bytes
    std::uint32_t scratch = 0;          // Text kept in scratch
    bool in_scratch = false;
  };
  void plan_memos();
  // Called behind begin(), before any value is fetched.
  virtual void prepare() {}
  void read_early_gates();
  void emit_actions();
  void emit_late_actions();
  void emit_action(const ir::Action& action, llvm::BasicBlock* next);
  llvm::Value* is_open(std::uint32_t word);  // i1
  llvm::Value* gates_are_open();             // i1
  llvm::Value* common_word();                // i64: common_type, common_flags and common_preempt_count
  void emit_sink(std::uint32_t index, llvm::BasicBlock* next);
  // Reserves, fills in and commits one record, counts it and goes to `next`.
  virtual void emit_record(std::uint32_t sink, llvm::BasicBlock* next) = 0;

  // Aggregates: counts the hit and goes to `next`, or to one of the others.
  void emit_aggregates(std::uint32_t sink, llvm::BasicBlock* next, llvm::BasicBlock* filtered,
                       llvm::BasicBlock* recorded);
  llvm::Value* find_entry(const ir::Aggregate& aggregate, llvm::BasicBlock* full);
  // Appends the words of a text key; goes to `full` if the text is longer than a key may be.
  virtual void append_text_key(ir::ValueId text, std::vector<llvm::Value*>& key, llvm::BasicBlock* full) = 0;
  virtual bool keeps_text_keys() const = 0;                 // whether text keys need their text in scratch
  void claim(llvm::Value* count, llvm::BasicBlock* taken);  // takes a free slot; goes to `taken` if another hit did
  void count_in(const ir::Aggregate& aggregate, llvm::Value* entry);
  llvm::Value* measured(const ir::Measured& number);

  // Conditions.
  void condition(const ir::Condition& c, llvm::BasicBlock* yes, llvm::BasicBlock* no);
  void compare(const ir::Condition& c, llvm::BasicBlock* yes, llvm::BasicBlock* no);
  virtual void match_text(const ir::Condition& c, llvm::BasicBlock* yes, llvm::BasicBlock* no) = 0;

  // Values.
  llvm::Value* integer(ir::ValueId id);
  virtual llvm::Value* loaded(ir::ValueId id);  // the value of a Load: i64
  // A constant of the program, at its position (ir/shape.h): i64.
  virtual llvm::Value* constant(std::uint32_t position, std::int64_t word) = 0;
  virtual llvm::Value* register_word(ir::ValueId id);
  virtual llvm::Value* entry_argument(ir::ValueId id);
  virtual llvm::Value* take_bits(ir::ValueId id);
  llvm::Value* float_order(const ir::Value& value);
  llvm::Value* text_bytes(ir::ValueId count);  // i64: how many bytes a CountedString reads at most
  // i64: how many bytes a CountedArray that begins at `first` has, if all of it is known.
  llvm::Value* counted_bytes(const ir::Store& store, llvm::Value* first);
  llvm::Value* value_constant(ir::ValueId id);          // Value::imm
  llvm::Value* store_constant(const ir::Store& store);  // Store::imm
  llvm::Value* is_ok(ir::ValueId id);                   // i1
  bool can_fault(ir::ValueId id) const;
  std::uint32_t entry_argument_index(std::int64_t number) const;
  void ensure(ir::ValueId id);
  void fetch(ir::ValueId id);
  virtual void fetch_load(ir::ValueId id, const Memo& memo) = 0;
  void fetch_text(ir::ValueId id, const Memo& memo);
  virtual void fetch_string(ir::ValueId id, const Memo& memo) = 0;

  // Plumbing.
  llvm::BasicBlock* block(const char* name);
  void go(llvm::BasicBlock* to);  // branch, noting which values are known there
  enum class Likely : std::uint8_t { Either, First };
  void branch(llvm::Value* c, llvm::BasicBlock* yes, llvm::BasicBlock* no, Likely likely = Likely::Either);
  void start(llvm::BasicBlock* at);
  llvm::AllocaInst* local(llvm::Type* type, const char* name);
  llvm::Value* constant_text(const std::string& text);
  void note_known(llvm::BasicBlock* at);

  llvm::Module& module_;
  const ir::Program& program_;
  TargetHooks& hooks_;
  llvm::IRBuilder<> b_;
  llvm::Function* function_ = nullptr;
  std::map<ir::ValueId, Memo> memos_;
  std::map<const ir::Gate*, llvm::Value*> early_;       // i1: whether the early gate was open before the actions
  std::map<const ir::Gate*, llvm::Value*> is_early_;    // i1: whether a gate with `early_while` is early now
  std::map<const ir::Action*, llvm::AllocaInst*> due_;  // i1: whether a late action's condition was met
  std::set<ir::ValueId> known_;                         // fetched on every path to here
  std::map<llvm::BasicBlock*, std::set<ir::ValueId>> known_at_;
};

}  // namespace kevt::codegen

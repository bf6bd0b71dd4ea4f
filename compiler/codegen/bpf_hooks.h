// BpfHooks: the TargetHooks for BPF: helpers, map values, and forms of code that the verifier can follow. The layouts
// are common/abi/bpf.h's, the limits those of kernels from 6.1 on.
//
//   bpf_hooks.cpp   the function, registers, counters, words of the hit
//   bpf_memory.cpp  reads, scratch, rings
//   bpf_resident.cpp  memory of user programs that is not resident
#pragma once

#include <span>

#include "compiler/codegen/bpf.h"
#include "compiler/codegen/event_emitter.h"

namespace kevt::codegen {

// The symbol of an open number is this prefix and the number's index.
inline constexpr const char* kNumberSymbol = "kevt_number_";

class BpfHooks final : public TargetHooks {
 public:
  BpfHooks(llvm::Module& module, const BpfInput& input, unsigned cpus);

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
  llvm::Value* record_address(llvm::IRBuilder<>& b) override;
  llvm::Value* return_address(llvm::IRBuilder<>& b) override;
  llvm::Value* entry_argument(llvm::IRBuilder<>& b, std::uint32_t index) override;
  // Open numbers: which register, which argument and what number is known only when the code is loaded; the verifier
  // knows it, too.
  llvm::Value* open_number(llvm::IRBuilder<>& b, std::uint32_t number);  // i64
  llvm::Value* register_among(llvm::IRBuilder<>& b, std::span<const std::uint32_t> offsets, llvm::Value* offset);
  llvm::Value* entry_argument_at(llvm::IRBuilder<>& b, llvm::Value* index);

  void count_fault(llvm::IRBuilder<>& b) override;
  void count(llvm::IRBuilder<>& b, Counter counter, std::uint32_t sink) override;
  HitTableShape hit_table_shape() const override;
  llvm::Value* hit_table(llvm::IRBuilder<>& b, std::uint32_t slot) override;
  void add(llvm::IRBuilder<>& b, llvm::Value* number, llvm::Value* amount) override;
  void add_one(llvm::IRBuilder<>& b, llvm::Value* number) override { add(b, number, b.getInt64(1)); }
  void raise(llvm::IRBuilder<>& b, llvm::Value* number, llvm::Value* least) override;
  llvm::Value* gate(llvm::IRBuilder<>& b, std::uint32_t sink) override;
  llvm::Value* inject(llvm::IRBuilder<>& b) override;
  llvm::Value* scratch(llvm::IRBuilder<>& b, std::uint32_t index) override;
  llvm::Value* comm(llvm::IRBuilder<>& b, llvm::Value* to) override;

  // Reads that the verifier follows as one path. `bad` is i64; 1: the address depends on a value that was unreadable,
  // so nothing is read.
  struct Read {
    llvm::Value* value = nullptr;  // i64, zero-extended; 0 when unreadable
    llvm::Value* bad = nullptr;    // i64 0 or 1
  };
  // Whose memory may be read: the kernel's and the thread's, or only the thread's.
  enum class Memory : std::uint8_t { Any, User };
  static Memory memory(bool from_user) { return from_user ? Memory::User : Memory::Any; }
  struct Source {
    llvm::Value* address = nullptr;
    Memory memory = Memory::Any;
  };
  Read read(llvm::IRBuilder<>& b, Source from, unsigned bytes, llvm::Value* bad);
  Read read_uncounted(llvm::IRBuilder<>& b, Source from, unsigned bytes, llvm::Value* bad);
  // `address`, or an address that nobody can read if `bad` is 1.
  llvm::Value* unless(llvm::IRBuilder<>& b, llvm::Value* address, llvm::Value* bad);
  void add_faults(llvm::IRBuilder<>& b, llvm::Value* count);  // i64
  // Returns the length with the NUL (i64); 0: unreadable. Writes at most KEVT_BPF_TEXT_BYTES. `most`: i64, less than
  // that, how many bytes of the text may be taken; nullptr: all up to the NUL.
  llvm::Value* read_text(llvm::IRBuilder<>& b, llvm::Value* to, Source from, llvm::Value* bad,
                         llvm::Value* most = nullptr);
  llvm::Value* read_counted(llvm::IRBuilder<>& b, llvm::Value* to, Source from, llvm::Value* bad, llvm::Value* most);
  // Does the same with a string in our own memory; `from` is a pointer.
  llvm::Value* copy_text(llvm::IRBuilder<>& b, llvm::Value* to, std::uint32_t room, llvm::Value* from);
  // i64; negative: unreadable, and the bytes at `to` are 0.
  llvm::Value* read_bytes(llvm::IRBuilder<>& b, llvm::Value* to, llvm::Value* bytes, Source from);

  // For programs that may sleep (bpf_resident.cpp): makes the memory at an address resident, so that a later read finds
  // it. The bytes are thrown away, and no fault is counted.
  void read_in(llvm::IRBuilder<>& b, llvm::Value* address, llvm::Value* bytes, llvm::Value* bad);
  void read_text_in(llvm::IRBuilder<>& b, llvm::Value* address, llvm::Value* bad);
  // Where the search of a pattern goes on. The verifier knows nothing of the value.
  void set_search_position(llvm::IRBuilder<>& b, llvm::Value* position);
  llvm::Value* search_position(llvm::IRBuilder<>& b);
  // From here on one of the CPU's scratches belongs to this hit; if other hits have all of them, this hit is missed. A
  // program must not sleep while it has a scratch.
  void claim_scratch(llvm::IRBuilder<>& b);

  // Reserves a record of a known size in the CPU's ring; goes to `full` if there is no room.
  llvm::Value* reserve_fixed(llvm::IRBuilder<>& b, std::uint32_t bytes, llvm::BasicBlock* full);
  void commit(llvm::IRBuilder<>& b);
  // Begins a record that grows in the scratch; its first `bytes` are taken.
  llvm::Value* begin_growing(llvm::IRBuilder<>& b, std::uint32_t bytes);
  // The record's end so far, as an offset (i64, at most `most`) and a pointer; goes to `lost` if the record is longer.
  struct End {
    llvm::Value* offset = nullptr;
    llvm::Value* place = nullptr;
  };
  End growing_end(llvm::IRBuilder<>& b, llvm::BasicBlock* lost, std::uint64_t most = model::kMaxRecordBytes);
  void set_growing_end(llvm::IRBuilder<>& b, llvm::Value* offset);
  // The number of the hit's stack among those that are kept; 0: it is not among them, and there is no room for it.
  llvm::Value* stack_number(llvm::IRBuilder<>& b);
  // Appends the stack of the hit to the finished record; for a hit in a user program, the stack of that program.
  void append_stack(llvm::IRBuilder<>& b, llvm::BasicBlock* lost);
  void output_growing(llvm::IRBuilder<>& b, llvm::BasicBlock* full);

  // The same value, but LLVM knows nothing of it; the verifier neither if the value comes from memory.
  llvm::Value* opaque(llvm::IRBuilder<>& b, llvm::Value* value);
  llvm::Value* at(llvm::IRBuilder<>& b, llvm::Value* base, llvm::Value* offset);
  llvm::Value* at(llvm::IRBuilder<>& b, llvm::Value* base, std::uint64_t offset);
  // Stores without regard to alignment, which x86-64 allows; LLVM would store byte by byte.
  void store(llvm::IRBuilder<>& b, llvm::Value* value, llvm::Value* to);
  llvm::BasicBlock* block(const char* name);

  model::BpfCode layout() const { return layout_; }  // all but the instructions

 private:
  llvm::Value* helper(llvm::IRBuilder<>& b, std::uint64_t number, llvm::ArrayRef<llvm::Value*> arguments,
                      llvm::Type* result = nullptr);
  llvm::Value* map(llvm::IRBuilder<>& b, const char* symbol);
  llvm::Value* load(llvm::IRBuilder<>& b, llvm::Value* from, unsigned bits);
  // The call that a return probe returns from, whose arguments were kept at the entry.
  struct Call {
    llvm::PHINode* cookie = nullptr;  // the probe's
    llvm::PHINode* lost = nullptr;    // i64; not 0: the words in kept_ are not those of this call
  };
  Call take_kept(llvm::IRBuilder<>& b, llvm::Value* cookie);
  llvm::Value* take_from_map(llvm::IRBuilder<>& b, llvm::Value* cookie, llvm::BasicBlock* none);
  // Offset of word `index` in kept_, which is laid out as kevt_bpf_kept.
  static constexpr std::uint64_t kept_word(std::size_t index) { return 8 * (1 + index); }
  std::uint64_t stack_flags() const;
  void stay_on_thread_stack(llvm::IRBuilder<>& b);
  void miss_where(llvm::IRBuilder<>& b, llvm::Value* missed);
  llvm::Value* ring(llvm::IRBuilder<>& b, llvm::BasicBlock* none);
  void fill_prefix(llvm::IRBuilder<>& b, llvm::Value* prefix);
  llvm::Value* clamp_length(llvm::IRBuilder<>& b, llvm::Value* length);
  bool may_sleep() const { return model::may_sleep(input_.context); }

  llvm::Module& module_;
  BpfInput input_;
  model::BpfCode layout_;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* out_ = nullptr;
  llvm::AllocaInst* word_ = nullptr;    // 8 bytes for helpers to write to
  llvm::AllocaInst* key_ = nullptr;     // for map lookups
  llvm::AllocaInst* faults_ = nullptr;  // of this hit
  llvm::AllocaInst* kept_ = nullptr;    // nullptr: the program reads no arguments of the entry
  llvm::AllocaInst* call_ = nullptr;    // kevt_bpf_call, the key of its map
  std::size_t kept_words_ = 0;
  llvm::Value* cpu_ = nullptr;        // less than layout_.cpus
  llvm::Value* event_ = nullptr;      // kevt_bpf_event
  llvm::Value* row_ = nullptr;        // kevt_bpf_counts of sink 0
  llvm::Value* scratches_ = nullptr;  // this CPU's
  llvm::Value* scratch_ = nullptr;    // kevt_bpf_scratch: this hit's
  std::uint32_t one_scratch_ = 0;     // bytes of one scratch
  llvm::Value* record_ = nullptr;     // reserved in a ring
};

}  // namespace kevt::codegen

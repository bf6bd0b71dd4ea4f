// A return probe's program runs when the arguments are gone. Where kevtrace.ko runs it, they are in the return
// instance. perf's return probes have no room of ours, so a second probe at the entry puts them into a map, by the
// place of the return address, the thread and the probe:
//
//   perf's return probe (registered last, so it is first in the list of those at the place)
//        takes the return address off the stack, where it has an instance for the call
//   this program   slot = sp;  *slot is not the trampoline: no instance, nobody will ask: forget the slot
//                  is there something at the slot already?  then it is of a call whose return we have missed, or of one
//                  that has gone on in this one by a jump: doubt, and neither is recorded
//                  map[slot, cookie, thread] = {doubt, arguments}
//   the return's   map[sp - 8, cookie, thread], taken out
//
// Two calls that have not returned never share a slot, except by such a jump. Compare docs/adr/0022.
#include "runtime-user/runtime/bpf/entry_program.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <vector>

#include "common/abi/bpf.h"
#include "common/abi/registers.h"
#include "compiler/target/target_env.h"
#include "runtime-user/runtime/bpf/array_map.h"
#include "runtime-user/runtime/bpf/program.h"

namespace kevt::bpf {

namespace {

// Numbers of enum bpf_func_id, and registers by their use.
enum Helper : int {
  kMapLookup = 1,
  kMapUpdate = 2,
  kMapDelete = 3,
  kPidTgid = 14,
  kReadKernel = 113,
  kAttachCookie = 174
};
enum Register : std::uint8_t {
  kAnswer = 0,
  kFirst = 1,
  kSecond = 2,
  kThird = 3,
  kFourth = 4,
  kContext = 6,
  kSlot = 7,
  kFrame = 10
};

class Writer {
 public:
  void move(Register to, Register from) { put(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0); }
  void set(Register to, std::int32_t value) { put(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value); }
  void add(Register to, std::int32_t value) { put(BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, value); }
  void load(Register to, Register from, std::int16_t offset) { put(BPF_LDX | BPF_MEM | BPF_DW, to, from, offset, 0); }
  void store(std::int16_t offset, Register value) { put(BPF_STX | BPF_MEM | BPF_DW, kFrame, value, offset, 0); }
  void store_number(std::int16_t offset, std::int32_t value) {
    put(BPF_ST | BPF_MEM | BPF_DW, kFrame, 0, offset, value);
  }
  void call(Helper helper) { put(BPF_JMP | BPF_CALL, 0, 0, 0, helper); }
  void address(Register to, std::int16_t offset) {
    move(to, kFrame);
    add(to, offset);
  }
  void wide(Register to, std::uint64_t value, std::uint8_t what = 0) {
    put(BPF_LD | BPF_IMM | BPF_DW, to, what, 0, static_cast<std::int32_t>(value));
    put(0, 0, 0, 0, static_cast<std::int32_t>(value >> 32));
  }
  void finish() {
    set(kAnswer, 0);
    put(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
  }
  // A jump forward, to where land() is called for it.
  std::size_t jump_if_zero(Register value) { return jump(BPF_JMP | BPF_JEQ | BPF_K, value, 0); }
  std::size_t jump_if_equal(Register a, Register b) { return jump(BPF_JMP | BPF_JEQ | BPF_X, a, b); }
  void land(std::size_t from) { code_[from].off = static_cast<std::int16_t>(code_.size() - from - 1); }
  const std::vector<bpf_insn>& code() const { return code_; }

 private:
  std::size_t jump(int operation, Register a, std::uint8_t b) {
    put(operation, a, b, 0, 0);
    return code_.size() - 1;
  }
  void put(int operation, std::uint8_t to, std::uint8_t from, std::int16_t offset, std::int32_t value) {
    code_.push_back({.code = static_cast<std::uint8_t>(operation),
                     .dst_reg = static_cast<std::uint8_t>(to & 15u),
                     .src_reg = static_cast<std::uint8_t>(from & 15u),
                     .off = offset,
                     .imm = value});
  }
  std::vector<bpf_insn> code_;
};

// Its stack, below kFrame.
constexpr auto kCall = -static_cast<std::int16_t>(sizeof(kevt_bpf_call));
constexpr std::int16_t kWord = kCall - 8;

class EntryWriter {
 public:
  explicit EntryWriter(const EntryRequest& request)
      : request_(request),
        value_(static_cast<std::int16_t>(kWord - sizeof(kevt_bpf_kept) - 8 * request.arguments.size())) {}

  std::vector<bpf_insn> write() {
    w_.move(kContext, kFirst);
    w_.load(kSlot, kContext, offsetof(kevt_registers, sp));
    name_call();
    leave_without_instance();
    note_doubt();
    for (std::size_t i = 0; i < request_.arguments.size(); ++i) keep(request_.arguments[i], word(i));
    with_call(kMapUpdate);
    w_.finish();
    return w_.code();
  }

 private:
  std::int16_t word(std::size_t index) const {
    return static_cast<std::int16_t>(value_ + static_cast<std::int16_t>(sizeof(kevt_bpf_kept) + 8 * index));
  }
  static constexpr std::int16_t part(std::size_t offset) {
    return static_cast<std::int16_t>(kCall + static_cast<std::int16_t>(offset));
  }

  void name_call() {
    w_.store(part(offsetof(kevt_bpf_call, slot)), kSlot);
    w_.move(kFirst, kContext);
    w_.call(kAttachCookie);
    w_.store(part(offsetof(kevt_bpf_call, cookie)), kAnswer);
    w_.call(kPidTgid);
    w_.store(part(offsetof(kevt_bpf_call, thread)), kAnswer);
  }
  void with_call(Helper helper) {
    w_.wide(kFirst, static_cast<std::uint64_t>(request_.kept), BPF_PSEUDO_MAP_FD);
    w_.address(kSecond, kCall);
    if (helper == kMapUpdate) {
      w_.address(kThird, value_);
      w_.set(kFourth, BPF_ANY);
    }
    w_.call(helper);
  }
  // 8 bytes at an offset from the slot; 0 where they cannot be read.
  void read(std::int16_t to, std::uint32_t offset) {
    w_.address(kFirst, to);
    w_.set(kSecond, 8);
    w_.move(kThird, kSlot);
    w_.add(kThird, static_cast<std::int32_t>(offset));
    w_.call(kReadKernel);
  }
  void leave_without_instance() {
    read(kWord, 0);
    w_.load(kFirst, kFrame, kWord);
    w_.wide(kSecond, request_.return_trampoline);
    const std::size_t hooked = w_.jump_if_equal(kFirst, kSecond);
    with_call(kMapDelete);
    w_.finish();
    w_.land(hooked);
  }
  void note_doubt() {
    with_call(kMapLookup);
    w_.store_number(value_, 0);
    const std::size_t nobody = w_.jump_if_zero(kAnswer);
    w_.store_number(value_, 1);
    w_.land(nobody);
  }
  void keep(std::uint32_t number, std::int16_t to) {
    const target::ArgumentLocation at = target::argument_location(number);
    if (!at.in_register) return read(to, at.offset);
    w_.load(kFirst, kContext, static_cast<std::int16_t>(at.offset));
    w_.store(to, kFirst);
  }

  const EntryRequest& request_;
  const std::int16_t value_;  // kevt_bpf_kept
  Writer w_;
};

}  // namespace

Result<KeptMap> KeptMap::create(std::size_t arguments, std::uint32_t events, unsigned cpus) {
  // The kernel lets each CPU have 128 free ones to itself, and an event has at most some ten calls for each CPU.
  constexpr std::uint64_t kForCpu = 512, kForEvent = 64, kMost = 1 << 20;
  const std::uint64_t entries = std::min(kForCpu * cpus + kForEvent * events, kMost);
  const std::size_t bytes = sizeof(kevt_bpf_kept) + 8 * arguments;
  KeptMap map{
      UniqueFd(bpf_map_create(BPF_MAP_TYPE_LRU_HASH, "kevt_kept", sizeof(kevt_bpf_call),
                              static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(entries), nullptr))};
  if (!map.fd) return std::unexpected(bpf_error("making the BPF map of kept arguments", errno));
  return map;
}

Result<UniqueFd> load_entry_program(const EntryRequest& request) {
  if (request.return_trampoline == 0)
    return std::unexpected(Error("`" + request.event +
                                     "`: arguments in a return probe need the address of the kernel's trampoline of "
                                     "return probes, and /proc/kallsyms does not tell it",
                                 EOPNOTSUPP));
  return load_instructions(request.event, EntryWriter(request).write(), {.type = BPF_PROG_TYPE_KPROBE});
}

}  // namespace kevt::bpf

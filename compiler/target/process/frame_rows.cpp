// Which functions there are, .eh_frame_hdr tells: a sorted table of where each one's frame information begins. libdw
// gives the CFA and the places of the caller's registers from an address up to where they change (dwarf_frame_info), as
// DWARF expressions. Those of compiled code are nearly always these:
//
//   CFA       breg7 16              %rsp + 16
//             breg6 16              %rbp + 16
//             breg6 -8, deref       what lies at %rbp - 8: functions that align their stack
//   %rbp      (none)                the function has not touched it
//             call_frame_cfa, plus_uconst N      it lies at CFA + N
//   return    call_frame_cfa, plus_uconst -8
//   address   undefined             the outermost function
#include "compiler/target/process/frame_rows.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "common/clock.h"

namespace kevt::target {
namespace {

constexpr int kBp = 6, kSp = 7, kReturnAddress = 16;  // DWARF's numbers (psABI of x86-64, figure 3.36)
constexpr std::int64_t kFarthest = 1 << 28;
constexpr std::int64_t kOfReturnAddress = -8;

// Longer code without call frame information was made by a compiler that keeps frame pointers, not by hand: V8's
// builtins, of 1.6 MB. What is shorter (libcrypto has 150 KB) may keep none.
constexpr std::uint64_t kLongestByHand = 512 << 10;

struct FreeFrame {
  void operator()(Dwarf_Frame* frame) const { std::free(frame); }
};
using Frame = std::unique_ptr<Dwarf_Frame, FreeFrame>;

Frame frame_at(Dwarf_CFI* cfi, Dwarf_Addr address) {
  Dwarf_Frame* frame = nullptr;
  return cfi && dwarf_cfi_addrframe(cfi, address, &frame) == 0 ? Frame(frame) : nullptr;
}

// Where a register of the caller's lies: Same: still in the register.
struct Saved {
  enum class Where : std::uint8_t { Same, Undefined, AtCfa, Elsewhere } where = Where::Elsewhere;
  std::int64_t offset = 0;  // AtCfa
};
Saved saved_register(Dwarf_Frame* frame, int number) {
  Dwarf_Op room[3];
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_register(frame, number, room, &ops, &count) != 0) return {};
  if (count == 0) return {.where = ops ? Saved::Where::Undefined : Saved::Where::Same};
  if (ops[0].atom != DW_OP_call_frame_cfa) return {};
  if (count == 1) return {.where = Saved::Where::AtCfa, .offset = 0};
  if (count != 2 || ops[1].atom != DW_OP_plus_uconst) return {};
  return {.where = Saved::Where::AtCfa, .offset = static_cast<std::int64_t>(ops[1].number)};
}

struct Base {
  int kind = KEVT_STACK_NO_RULE;
  std::int64_t offset = 0;
};
// `DW_OP_bregN offset` or `DW_OP_bregx N, offset`.
std::optional<std::pair<int, std::int64_t>> register_and_offset(const Dwarf_Op& op) {
  if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31)
    return std::pair(op.atom - DW_OP_breg0, static_cast<std::int64_t>(op.number));
  if (op.atom == DW_OP_bregx) return std::pair(static_cast<int>(op.number), static_cast<std::int64_t>(op.number2));
  return std::nullopt;
}
Base base_of(Dwarf_Frame* frame) {
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_cfa(frame, &ops, &count) != 0 || count == 0) return {};
  const auto at = register_and_offset(ops[0]);
  if (!at) return {};
  const auto [number, offset] = *at;
  if (count == 1 && number == kSp) return {.kind = KEVT_STACK_FROM_SP, .offset = offset};
  if (count == 1 && number == kBp) return {.kind = KEVT_STACK_FROM_BP, .offset = offset};
  if (count == 2 && number == kBp && ops[1].atom == DW_OP_deref) return {.kind = KEVT_STACK_AT_BP, .offset = offset};
  return {};
}

bool fits(std::int64_t offset) { return offset > -kFarthest && offset < kFarthest; }

std::uint64_t rule_of(Dwarf_Frame* frame, int return_column, bool is_signal) {
  using Where = Saved::Where;
  if (return_column != kReturnAddress || is_signal) return KEVT_STACK_NO_RULE;
  const Saved back = saved_register(frame, kReturnAddress);
  if (back.where == Where::Undefined) return KEVT_STACK_LAST;
  const Saved bp = saved_register(frame, kBp);
  const Base base = base_of(frame);
  const bool is_simple = back.where == Where::AtCfa && back.offset == kOfReturnAddress &&
                         (bp.where == Where::Same || bp.where == Where::AtCfa);
  if (!is_simple || base.kind == KEVT_STACK_NO_RULE || !fits(base.offset) || !fits(bp.offset))
    return KEVT_STACK_NO_RULE;
  return KEVT_STACK_RULE(base.kind, bp.where == Where::AtCfa, base.offset, bp.offset);
}

// ---- the table of functions -----------------------------------------------------------------

// .eh_frame_hdr (Linux Standard Base, "Exception Frames"): version 1, three encodings, the frames' address, how many
// there are, and for each two distances from the header: where the function begins, and its frame information.
struct Header {
  std::uint8_t version, of_frames, of_count, of_table;
  std::int32_t frames;
  std::uint32_t count;
};
bool is_known(const Header& header) {
  constexpr std::uint8_t kForm = 0x0f;
  const int frames = header.of_frames & kForm;
  return header.version == 1 && (frames == DW_EH_PE_sdata4 || frames == DW_EH_PE_udata4) &&
         header.of_count == DW_EH_PE_udata4 && header.of_table == (DW_EH_PE_datarel | DW_EH_PE_sdata4);
}

// Addresses as the file has them, sorted; empty: there is no such table, or another form of it.
std::vector<std::uint64_t> function_starts(Elf* elf) {
  std::size_t segments = 0;
  if (elf_getphdrnum(elf, &segments) != 0) return {};
  for (std::size_t i = 0; i < segments; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf, static_cast<int>(i), &segment) == nullptr || segment.p_type != PT_GNU_EH_FRAME) continue;
    const Elf_Data* const data =
        elf_getdata_rawchunk(elf, static_cast<std::int64_t>(segment.p_offset), segment.p_filesz, ELF_T_BYTE);
    Header header;
    if (!data || !data->d_buf || data->d_size < sizeof header) return {};
    std::memcpy(&header, data->d_buf, sizeof header);
    if (!is_known(header) || header.count > (data->d_size - sizeof header) / 8) return {};
    std::vector<std::uint64_t> starts(header.count);
    for (std::uint32_t k = 0; k < header.count; ++k) {
      std::int32_t distance = 0;
      std::memcpy(&distance, static_cast<const char*>(data->d_buf) + sizeof header + 8 * std::size_t{k},
                  sizeof distance);
      starts[k] = segment.p_vaddr + static_cast<std::uint64_t>(std::int64_t{distance});
    }
    return std::ranges::is_sorted(starts) ? starts : std::vector<std::uint64_t>();
  }
  return {};
}

void append(FrameRows& rows, std::uint64_t offset, std::uint64_t rule) {
  if (!rows.empty() && rows.back().offset == offset) rows.pop_back();
  if (rows.empty() || rows.back().rule != rule) rows.push_back({offset, rule});
}

}  // namespace

// libdw reads the frame information of a function from its start for every row: a function of 80,000 rows takes half a
// minute.
FrameRows frame_rows(Dwfl_Module* module, std::size_t most, std::int64_t cpu_ns) {
  Dwarf_Addr start = 0, end = 0, elf_bias = 0, bias = 0;
  dwfl_module_info(module, nullptr, &start, &end, nullptr, nullptr, nullptr, nullptr);
  Elf* const elf = dwfl_module_getelf(module, &elf_bias);
  Dwarf_CFI* const cfi = elf ? dwfl_module_eh_cfi(module, &bias) : nullptr;
  if (!cfi) return {};
  std::vector<std::uint64_t> starts = function_starts(elf);
  for (std::uint64_t& one : starts) one += elf_bias;
  if (starts.empty() || starts.front() < start || starts.back() >= end) return {};
  starts.push_back(end);
  const std::uint64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + static_cast<std::uint64_t>(cpu_ns);
  constexpr std::uint64_t kNone = KEVT_STACK_NO_RULE;
  FrameRows rows;
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    std::uint64_t at = starts[i];
    while (at < starts[i + 1]) {
      const Frame frame = frame_at(cfi, at - bias);
      Dwarf_Addr from = 0, to = 0;
      bool is_signal = false;
      const int column = frame ? dwarf_frame_info(frame.get(), &from, &to, &is_signal) : -1;
      append(rows, at - start, frame ? rule_of(frame.get(), column, is_signal) : std::uint64_t{KEVT_STACK_NO_RULE});
      if (rows.size() > most) return {};
      const bool leads_on = frame && to + bias > at;
      if (leads_on) at = to + bias;
      const bool is_late = clock_ns(CLOCK_THREAD_CPUTIME_ID) > until;
      if (is_late) {
        append(rows, at - start, KEVT_STACK_NO_RULE);
        return rows;
      }
      if (!leads_on) break;
    }
    // What follows a function up to the next one belongs to none.
    const bool is_last = i + 2 == starts.size();
    if (at < starts[i + 1] && at > starts[i])
      append(rows, at - start,
             !is_last && starts[i + 1] - at > kLongestByHand ? std::uint64_t{KEVT_STACK_BY_FRAME_POINTER} : kNone);
  }
  return rows;
}

void append_rules(const FrameRows& rows, std::uint64_t start, std::uint64_t end, std::size_t most,
                  std::vector<kevt_stack_rule>& rules) {
  constexpr std::size_t kAround = 2;  // in front of the rows, and behind the module
  if (rules.empty() || rules.back().start > start || rules.size() + rows.size() + kAround > most) return;
  for (const FrameRow& row : rows) {
    if (row.offset >= end - start) break;
    if (rules.back().start == start + row.offset) rules.pop_back();
    rules.push_back({start + row.offset, row.rule});
  }
  if (rules.back().start < end) rules.push_back({end, KEVT_STACK_NO_RULE});
}

}  // namespace kevt::target

// A thin layer over Zydis: the only file of the runtime that sees its types (relocate_test compares
// operands with it too).
//
// `decode` uses the fast half of the decoder (no operand list) and reads registers from the encoding:
// 48 63 14 93 is movslq (%rbx,%rdx,4),%rdx: LoadSigned32, destination 2, base 3, index 2, scale 4.
// `clobbered_registers` uses the full operand list, implicit operands included.
// Not done: anything about vector registers; extractors use general registers only.
#include "runtime-user/runtime/inproc/x86/decode.h"

#include <Zydis/Zydis.h>

#include <array>

#include "common/assert.h"

namespace kevt::x86 {
namespace {

const ZydisDecoder& decoder() {
  static const ZydisDecoder instance = [] {
    ZydisDecoder made;
    const ZyanStatus status = ZydisDecoderInit(&made, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    KEVT_ASSERT(ZYAN_SUCCESS(status));
    return made;
  }();
  return instance;
}

// RIP-relative operands make an instruction "relative" too, so the opcode decides: FF /2 and FF /4.
bool is_indirect_group5(const ZydisDecodedInstruction& raw) {
  return raw.opcode == 0xff && (raw.attributes & ZYDIS_ATTRIB_HAS_MODRM);
}

Flow flow_of_category(const ZydisDecodedInstruction& raw) {
  // Zydis files far branches and the like under the same categories.
  const auto relative = [&](Flow flow) { return raw.raw.imm[0].is_relative ? flow : Flow::Other; };
  switch (raw.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
      return relative(Flow::ConditionalJump);
    case ZYDIS_CATEGORY_UNCOND_BR:
      return is_indirect_group5(raw) ? Flow::IndirectJump : relative(Flow::Jump);
    case ZYDIS_CATEGORY_CALL:
      return is_indirect_group5(raw) ? Flow::IndirectCall : relative(Flow::Call);
    case ZYDIS_CATEGORY_RET:
      return raw.mnemonic == ZYDIS_MNEMONIC_RET ? Flow::Return : Flow::Other;
    default:
      return Flow::Next;
  }
}

Flow flow_of(const ZydisDecodedInstruction& raw) {
  switch (raw.mnemonic) {
    case ZYDIS_MNEMONIC_INT3:
    case ZYDIS_MNEMONIC_INT1:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
      return Flow::Trap;
    case ZYDIS_MNEMONIC_XABORT:
      return Flow::Next;
    case ZYDIS_MNEMONIC_XBEGIN:
    case ZYDIS_MNEMONIC_SYSRET:
    case ZYDIS_MNEMONIC_SYSEXIT:
    case ZYDIS_MNEMONIC_SYSENTER:
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
      return Flow::Other;
    default:
      break;
  }
  if (raw.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) return Flow::Other;
  // Knights Corner had conditional jumps with a VEX prefix; other processors do not know them.
  if (raw.meta.category == ZYDIS_CATEGORY_COND_BR && raw.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY) {
    return Flow::Other;
  }
  return flow_of_category(raw);
}

Shape shape_of(const ZydisDecodedInstruction& raw) {
  const bool memory = (raw.attributes & ZYDIS_ATTRIB_HAS_MODRM) && raw.raw.modrm.mod != 3;
  switch (raw.mnemonic) {
    case ZYDIS_MNEMONIC_NOP:
      return Shape::Nop;
    case ZYDIS_MNEMONIC_ENDBR64:
      return Shape::EndBranch;
    case ZYDIS_MNEMONIC_LEA:
      return Shape::LoadAddress;
    case ZYDIS_MNEMONIC_MOVSXD:
      return memory && raw.operand_width == 64 ? Shape::LoadSigned32 : Shape::Plain;
    case ZYDIS_MNEMONIC_ADD:
      return !memory && raw.operand_width == 64 && (raw.opcode == 0x01 || raw.opcode == 0x03) ? Shape::AddRegister64
                                                                                              : Shape::Plain;
    case ZYDIS_MNEMONIC_MOV:
      if (raw.operand_width == 64 && raw.opcode == 0x8b) return memory ? Shape::Load64 : Shape::CopyRegister64;
      if (raw.operand_width == 64 && raw.opcode == 0x89 && !memory) return Shape::CopyRegister64;
      if ((raw.opcode & 0xf8) == 0xb8 && raw.raw.imm[0].size == 32) return Shape::LoadImmediate32;
      return Shape::Plain;
    default:
      return Shape::Plain;
  }
}

void read_memory_operand(const ZydisDecodedInstruction& raw, std::uint8_t rex_b, std::uint8_t rex_x, Instruction& out) {
  out.has_memory = true;
  out.displacement = raw.raw.disp.value;
  if (raw.raw.modrm.rm == 4) {
    if (raw.raw.modrm.mod != 0 || raw.raw.sib.base != 5) out.base = raw.raw.sib.base | rex_b;
    const std::uint8_t index = raw.raw.sib.index | rex_x;
    if (index != kStackPointer) out.index = index;
    out.scale = static_cast<std::uint8_t>(1u << raw.raw.sib.scale);
  } else if (raw.raw.modrm.mod == 0 && raw.raw.modrm.rm == 5) {
    out.rip_operand = raw.length + raw.raw.disp.value;
  } else {
    out.base = raw.raw.modrm.rm | rex_b;
  }
}

void read_modrm(const ZydisDecodedInstruction& raw, Instruction& out) {
  if (!(raw.attributes & ZYDIS_ATTRIB_HAS_MODRM)) return;
  out.modrm_offset = raw.raw.modrm.offset;
  const bool legacy = raw.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY && (raw.attributes & ZYDIS_ATTRIB_HAS_REX);
  const std::uint8_t rex_r = legacy ? raw.raw.rex.R << 3 : 0;
  const std::uint8_t rex_x = legacy ? raw.raw.rex.X << 3 : 0;
  const std::uint8_t rex_b = legacy ? raw.raw.rex.B << 3 : 0;
  const std::uint8_t reg = raw.raw.modrm.reg | rex_r;
  const std::uint8_t rm = raw.raw.modrm.rm | rex_b;
  if (raw.raw.modrm.mod != 3) {
    read_memory_operand(raw, rex_b, rex_x, out);
    out.destination = reg;
    return;
  }
  // 01 and 89 store into r/m; 03, 8b and the rest load into reg.
  const bool stores = raw.opcode == 0x01 || raw.opcode == 0x89;
  out.destination = stores ? rm : reg;
  out.source = stores ? reg : rm;
}

// An operand-size prefix makes a branch 16 bits wide on AMD and is ignored by Intel; REX.W overrides
// it (`data16 rex.W call` is how thread-local accesses are padded).
std::uint8_t branch_bits(const ZydisDecodedInstruction& raw) {
  const bool wide = (raw.attributes & ZYDIS_ATTRIB_HAS_REX) && raw.raw.rex.W;
  return (raw.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) && !wide ? 16 : raw.operand_width;
}

std::uint8_t prefix_bytes(const ZydisDecodedInstruction& raw) { return raw.raw.prefix_count; }

constexpr std::uint32_t bit(unsigned word) { return 1u << word; }

// Encoding number → word of kevt_registers: r15 r14 r13 r12 bp bx r11 r10 r9 r8 ax cx dx si di.
constexpr std::array<std::uint8_t, 16> kWordOfRegister = {10, 11, 12, 5, 19, 4, 13, 14, 9, 8, 7, 6, 3, 2, 1, 0};
constexpr std::uint32_t kFlags = bit(18);
constexpr std::uint32_t kAll = 0x7fff | kFlags | bit(19);
// r11 r10 r9 r8 ax cx dx si di: what a SysV function may change.
constexpr std::uint32_t kCallerSaved = 0x7fc0 | kFlags;

std::uint32_t written_by(const ZydisDecodedInstruction& raw, std::span<const ZydisDecodedOperand> operands) {
  std::uint32_t mask = 0;
  for (const ZydisDecodedOperand& operand : operands) {
    if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER || !(operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)) continue;
    const ZydisRegister wide = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operand.reg.value);
    if (wide == ZYDIS_REGISTER_RFLAGS) mask |= kFlags;
    if (wide < ZYDIS_REGISTER_RAX || wide > ZYDIS_REGISTER_R15) continue;
    mask |= bit(kWordOfRegister[static_cast<unsigned>(wide - ZYDIS_REGISTER_RAX)]);
  }
  if (raw.cpu_flags &&
      (raw.cpu_flags->modified | raw.cpu_flags->set_0 | raw.cpu_flags->set_1 | raw.cpu_flags->undefined)) {
    mask |= kFlags;
  }
  return mask;
}

}  // namespace

std::optional<Instruction> decode(std::span<const std::uint8_t> code) {
  ZydisDecodedInstruction raw;
  ZydisDecoderContext context;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder(), &context, code.data(), code.size(), &raw))) {
    return std::nullopt;
  }
  Instruction out;
  out.length = raw.length;
  out.flow = flow_of(raw);
  out.shape = shape_of(raw);
  out.operand_bits = branch_bits(raw);
  out.opcode_offset = prefix_bytes(raw);
  out.displacement_offset = raw.raw.disp.offset;
  out.displacement_bits = raw.raw.disp.size;
  out.address_size_prefix = (raw.attributes & ZYDIS_ATTRIB_HAS_ADDRESSSIZE) != 0;
  read_modrm(raw, out);
  if (raw.raw.imm[0].is_relative) out.branch = raw.length + raw.raw.imm[0].value.s;
  if (out.shape == Shape::LoadImmediate32) {
    const bool rex = (raw.attributes & ZYDIS_ATTRIB_HAS_REX) != 0;
    out.destination = static_cast<std::uint8_t>((raw.opcode & 7) | (rex ? raw.raw.rex.B << 3 : 0));
    out.immediate = raw.raw.imm[0].value.u;
  }
  return out;
}

std::uint32_t clobbered_registers(std::span<const std::uint8_t> code) {
  std::uint32_t mask = 0;
  for (std::size_t at = 0; at < code.size();) {
    ZydisDecodedInstruction raw;
    std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
    const std::span<const std::uint8_t> rest = code.subspan(at);
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder(), rest.data(), rest.size(), &raw, operands.data()))) return kAll;
    mask |= written_by(raw, std::span(operands).first(raw.operand_count));
    const Flow flow = flow_of(raw);
    if (flow == Flow::Other) return kAll;
    if (flow == Flow::IndirectCall) mask |= kCallerSaved;
    if (flow == Flow::Call) {
      const std::int64_t target = static_cast<std::int64_t>(at) + raw.length + raw.raw.imm[0].value.s;
      if (target < 0 || target >= static_cast<std::int64_t>(code.size())) mask |= kCallerSaved;
    }
    at += raw.length;
  }
  return mask;
}

}  // namespace kevt::x86

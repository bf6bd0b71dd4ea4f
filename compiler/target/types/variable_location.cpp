// Location expressions are programs of a stack machine; what compilers write are short walks.
//
//   DW_OP_reg3                        in %bx                      DW_OP_fbreg -20   20 bytes below the frame's base
//   DW_OP_breg7 8; DW_OP_deref        where +8(%sp) points to     DW_OP_lit5; DW_OP_stack_value   the number 5
//
// Problem: a fetch argument can add a constant and read memory, nothing else. Idea: run the expression with walks
// (VariableLocation) in place of numbers; an operation that is no walk ends it with a word that says why.
#include "compiler/target/types/variable_location.h"

#include <dwarf.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/target/target_env.h"
#include "compiler/target/types/late_sections.h"

namespace kevt::target {

namespace {

constexpr unsigned kMostDepth = 4;  // an expression in an expression: the frame's base, the frame's address
constexpr std::size_t kMostReads = 8;

VariableLocation cannot(std::string why) { return {.why = std::move(why)}; }

VariableLocation optimized_out() { return cannot("it is optimized out there"); }

// Numbers of the System V ABI for x86-64, figure 3.36. Empty: fetch arguments have no name for it.
std::string register_named(Dwarf_Word number) {
  constexpr const char* kGeneral[] = {"ax", "dx", "cx",  "bx",  "si",  "di",  "bp",  "sp",
                                      "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"};
  constexpr Dwarf_Word kFirstVector = 17;
  if (number < std::size(kGeneral)) return kGeneral[number];
  if (number >= kFirstVector && number < kFirstVector + kVectorRegisters)
    return vector_register_name(static_cast<std::uint32_t>(number - kFirstVector));
  return "";
}

// `walk` with `more` added to the address, or to the number, that it ends in.
VariableLocation plus(VariableLocation walk, std::int64_t more) {
  if (walk.base == VariableLocation::Base::Constant && walk.reads.empty())
    walk.number += static_cast<std::uint64_t>(more);
  else
    walk.offset += more;
  return walk;
}

// The operation of an expression that has only one and is written as a block (Go, DWARF 4): libdw 0.188 reads
// expressions of the form DW_FORM_exprloc alone.
std::optional<Dwarf_Op> single_operation(Dwarf_Attribute& attribute) {
  Dwarf_Block block;
  if (dwarf_formblock(&attribute, &block) != 0 || block.length == 0) return std::nullopt;
  Dwarf_Op one{.atom = block.data[0]};
  if (one.atom == DW_OP_call_frame_cfa && block.length == 1) return one;
  if (one.atom == DW_OP_addr && block.length == 1 + sizeof one.number) {
    std::memcpy(&one.number, block.data + 1, sizeof one.number);
    return one;
  }
  if (one.atom != DW_OP_fbreg) return std::nullopt;
  unsigned shift = 0;
  std::uint8_t last = 0x80;
  Dwarf_Word at = 1;
  for (; at < block.length && (last & 0x80) != 0 && shift < 64; ++at, shift += 7) {
    last = block.data[at];
    one.number |= std::uint64_t{last & 0x7fu} << shift;
  }
  if ((last & 0x80) != 0 || at != block.length) return std::nullopt;
  if ((last & 0x40) != 0 && shift < 64) one.number |= ~std::uint64_t{0} << shift;
  return one;
}

class Expression {
 public:
  Expression(const LocationContext& context, unsigned depth) : context_(context), depth_(depth) {}

  VariableLocation run(Dwarf_Attribute& attribute, const Dwarf_Op* operations, std::size_t count) {
    if (count == 0) return optimized_out();
    attribute_ = &attribute;
    VariableLocation whole{.base = VariableLocation::Base::Pieces};
    bool is_refused = false;  // what is left of the piece is not looked at
    for (std::size_t i = 0; i < count; ++i) {
      const Dwarf_Op& one = operations[i];
      if (one.atom == DW_OP_piece) {
        VariableLocation piece =
            is_refused ? std::move(refusal_) : end_of_walk("that part of it is optimized out there");
        piece.bytes = static_cast<std::uint32_t>(std::min<Dwarf_Word>(one.number, ~std::uint32_t{0}));
        whole.pieces.push_back(std::move(piece));
        is_refused = false;
        stack_.clear();
        found_.reset();
      } else if (!is_refused) {
        is_refused = !step(one);
      }
    }
    if (whole.pieces.empty()) return is_refused ? std::move(refusal_) : end_of_walk(kComputed);
    return whole;
  }

  // The base of the function's frame: the contents of a register, or an address that is worked out.
  VariableLocation frame_base() {
    Dwarf_Attribute attribute;
    if (context_.function == nullptr ||
        dwarf_attr_integrate(context_.function, DW_AT_frame_base, &attribute) == nullptr)
      return cannot("the frame of its function is not described");
    VariableLocation base = of(attribute);
    base.is_value = false;
    return base;
  }

  VariableLocation of(Dwarf_Attribute& attribute) {
    Dwarf_Op* operations = nullptr;
    std::size_t count = 0;
    if (depth_ >= kMostDepth) return optimized_out();
    if (!read_places_of(attribute)) return cannot("its places cannot be read from the file");
    const int found = dwarf_getlocation_addr(&attribute, context_.address, &operations, &count, 1);
    if (found == 1) return Expression(context_, depth_ + 1).run(attribute, operations, count);
    const auto single = found < 0 ? single_operation(attribute) : std::nullopt;
    return single ? Expression(context_, depth_ + 1).run(attribute, &*single, 1) : optimized_out();
  }

 private:
  static constexpr const char* kComputed = "its value is worked out where it is needed, and is kept nowhere";

  static std::optional<Dwarf_Word> whole_register(const Dwarf_Op& one) {
    if (one.atom >= DW_OP_reg0 && one.atom <= DW_OP_reg31) return one.atom - DW_OP_reg0;
    if (one.atom == DW_OP_regx) return one.number;
    return std::nullopt;
  }

  static VariableLocation named_register(Dwarf_Word number, std::int64_t offset, bool is_value) {
    std::string name = register_named(number);
    if (name.empty()) return cannot("it is in a register that fetch arguments do not name");
    return {.base = VariableLocation::Base::Register, .reg = std::move(name), .offset = offset, .is_value = is_value};
  }

  bool refuse(VariableLocation why) {
    refusal_ = std::move(why);
    return false;
  }
  bool push(VariableLocation walk) {
    if (!walk.can_be_read()) return refuse(std::move(walk));
    walk.is_value = false;
    stack_.push_back(std::move(walk));
    return true;
  }
  bool push_constant(Dwarf_Word number) { return push({.base = VariableLocation::Base::Constant, .number = number}); }
  // Where the variable is: the register or value that was found, or else the address that was worked out.
  VariableLocation end_of_walk(const char* why_not) {
    if (found_) return *std::move(found_);
    return stack_.empty() ? cannot(why_not) : std::move(stack_.back());
  }
  bool find_top() {
    if (stack_.empty()) return refuse(cannot(kComputed));
    found_ = std::move(stack_.back());
    found_->is_value = true;
    return true;
  }

  bool step(const Dwarf_Op& one) {
    if (const auto reg = whole_register(one)) {
      found_ = named_register(*reg, 0, true);
      return found_->can_be_read() || refuse(*std::move(found_));
    }
    if (one.atom >= DW_OP_breg0 && one.atom <= DW_OP_breg31)
      return push(named_register(one.atom - DW_OP_breg0, static_cast<std::int64_t>(one.number), false));
    if (one.atom >= DW_OP_lit0 && one.atom <= DW_OP_lit31) return push_constant(one.atom - DW_OP_lit0);
    switch (one.atom) {
      case DW_OP_bregx:
        return push(named_register(one.number, static_cast<std::int64_t>(one.number2), false));
      case DW_OP_fbreg:
        return push(plus(frame_base(), static_cast<std::int64_t>(one.number)));
      case DW_OP_call_frame_cfa:
        return push(frame_address());
      case DW_OP_addr:
        return push({.base = VariableLocation::Base::Address, .number = one.number});
      case DW_OP_addrx:
        return push_indexed(one);
      case DW_OP_const1u:
      case DW_OP_const1s:
      case DW_OP_const2u:
      case DW_OP_const2s:
      case DW_OP_const4u:
      case DW_OP_const4s:
      case DW_OP_const8u:
      case DW_OP_const8s:
      case DW_OP_constu:
      case DW_OP_consts:
        return push_constant(one.number);
      case DW_OP_plus_uconst:
        return add(static_cast<std::int64_t>(one.number));
      case DW_OP_plus:
      case DW_OP_minus:
        return add_top(one.atom == DW_OP_minus);
      case DW_OP_deref:
        return read();
      case DW_OP_stack_value:
        return find_top();
      case DW_OP_nop:
        return true;
      case DW_OP_implicit_value:
        return push_block(one);
      case DW_OP_entry_value:
      case DW_OP_GNU_entry_value:
        return refuse(cannot("only its value at the function's entry is described there"));
      case DW_OP_bit_piece:
        return refuse(cannot("it is kept in pieces of some bits"));
      case DW_OP_implicit_pointer:
      case DW_OP_GNU_implicit_pointer:
        return refuse(optimized_out());
      case DW_OP_form_tls_address:
      case DW_OP_GNU_push_tls_address:
        return refuse(cannot("each thread has one of its own"));
      default:
        return refuse(cannot(kComputed));
    }
  }

  bool add(std::int64_t more) {
    if (stack_.empty()) return refuse(cannot(kComputed));
    stack_.back() = plus(std::move(stack_.back()), more);
    return true;
  }
  bool add_top(bool is_negative) {
    if (stack_.size() < 2) return refuse(cannot(kComputed));
    VariableLocation top = std::move(stack_.back());
    stack_.pop_back();
    if (top.base != VariableLocation::Base::Constant || !top.reads.empty()) return refuse(cannot(kComputed));
    const auto more = static_cast<std::int64_t>(is_negative ? std::uint64_t{0} - top.number : top.number);
    return add(more);
  }
  bool read() {
    if (stack_.empty() || stack_.back().reads.size() >= kMostReads ||
        stack_.back().base == VariableLocation::Base::Constant)
      return refuse(cannot(kComputed));
    stack_.back().reads.push_back(std::exchange(stack_.back().offset, 0));
    return true;
  }
  bool push_indexed(const Dwarf_Op& one) {
    Dwarf_Attribute found;
    Dwarf_Addr address = 0;
    if (dwarf_getlocation_attr(attribute_, &one, &found) != 0 || dwarf_formaddr(&found, &address) != 0)
      return refuse(cannot(kComputed));
    return push({.base = VariableLocation::Base::Address, .number = address});
  }
  bool push_block(const Dwarf_Op& one) {
    Dwarf_Block block;
    if (dwarf_getlocation_implicit_value(attribute_, &one, &block) != 0 || block.length > sizeof(std::uint64_t))
      return refuse(cannot(kComputed));
    std::uint64_t value = 0;
    for (Dwarf_Word i = 0; i < block.length; ++i) value |= std::uint64_t{block.data[i]} << (8 * i);
    return push_constant(value) && find_top();
  }

  // The address of the frame as the unwinder knows it (DW_CFA_def_cfa): above the return address.
  VariableLocation frame_address() {
    for (Dwarf_CFI* table : {context_.frames, context_.debug_frames}) {
      Dwarf_Frame* frame = nullptr;
      if (table == nullptr || dwarf_cfi_addrframe(table, context_.address, &frame) != 0) continue;
      const std::unique_ptr<Dwarf_Frame, decltype(&std::free)> owner(frame, &std::free);
      Dwarf_Op* operations = nullptr;
      std::size_t count = 0;
      if (dwarf_frame_cfa(frame, &operations, &count) != 0 || depth_ >= kMostDepth) continue;
      // Some versions of libdw end the expression with this, which would ask for itself.
      if (count > 1 && operations[count - 1].atom == DW_OP_call_frame_cfa) --count;
      Dwarf_Attribute none{};
      return Expression(context_, depth_ + 1).run(none, operations, count);
    }
    return cannot("the frame of its function is not described");
  }

  const LocationContext& context_;
  unsigned depth_;
  Dwarf_Attribute* attribute_ = nullptr;
  std::vector<VariableLocation> stack_;
  std::optional<VariableLocation> found_;
  VariableLocation refusal_;
};

// DW_AT_const_value: the variable is a constant.
std::optional<VariableLocation> constant_of(Dwarf_Die& variable) {
  Dwarf_Attribute attribute;
  if (dwarf_attr_integrate(&variable, DW_AT_const_value, &attribute) == nullptr) return std::nullopt;
  Dwarf_Sword with_sign = 0;
  Dwarf_Word plain = 0;
  VariableLocation found{.base = VariableLocation::Base::Constant, .is_value = true};
  const unsigned form = dwarf_whatform(&attribute);
  const bool is_signed = form == DW_FORM_sdata || form == DW_FORM_implicit_const;
  if (is_signed && dwarf_formsdata(&attribute, &with_sign) == 0)
    found.number = static_cast<std::uint64_t>(with_sign);
  else if (!is_signed && dwarf_formudata(&attribute, &plain) == 0)
    found.number = plain;
  else
    return cannot("it is a constant that is no number");
  return found;
}

}  // namespace

VariableLocation variable_location(Dwarf_Die& variable, const LocationContext& context) {
  if (auto constant = constant_of(variable)) return *std::move(constant);
  Dwarf_Attribute attribute;
  if (dwarf_attr_integrate(&variable, DW_AT_location, &attribute) == nullptr) return optimized_out();
  return Expression(context, 0).of(attribute);
}

}  // namespace kevt::target

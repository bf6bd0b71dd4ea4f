// ValueTable: the values of a program being made. Asking twice for the same value gives one id.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/ir/program.h"

namespace kevt::lower {

inline constexpr std::uint8_t kWordBytes = 8;  // of a register

class ValueTable {
 public:
  explicit ValueTable(ir::Program& program) : program_(program) {}  // `program` must outlive the table

  ir::ValueId immediate(std::uint64_t number);
  ir::ValueId reg(std::uint32_t offset);     // byte offset in the saved register block
  ir::ValueId vector(std::uint32_t number);  // a vector register
  ir::ValueId slot(const model::SlotSource& source);
  ir::ValueId thread_local_variable(const std::string& symbol, std::int64_t offset);
  ir::ValueId span_context(ir::ValueId pointer);
  ir::ValueId load(ir::ValueId address, std::int64_t offset, std::uint8_t bytes,
                   model::AddressSpace space = model::AddressSpace::Default);
  ir::ValueId bits(ir::ValueId value, std::uint8_t shift, std::uint8_t width);
  // Gives `value` itself where narrowing would change nothing, a constant for a constant.
  ir::ValueId narrow(ir::ValueId value, std::uint8_t bytes, bool is_signed);
  ir::ValueId float_order(ir::ValueId value, std::uint8_t bytes);
  ir::ValueId string(ir::ValueId address, std::int64_t offset, model::AddressSpace space);
  ir::ValueId counted_string(ir::ValueId address, std::int64_t offset, model::AddressSpace space, ir::ValueId bytes);
  ir::ValueId located(ir::ValueId word);
  ir::ValueId byte_swap(ir::ValueId value, std::uint8_t bytes);
  ir::ValueId symbol_text(ir::ValueId address);
  ir::ValueId text(const std::string& bytes);
  ir::ValueId entry_argument(std::uint32_t number);
  ir::ValueId plain(ir::Op op);  // an op without operand and members: pid, comm, …

 private:
  ir::ValueId add(const ir::Value& value);
  std::int64_t slot_number(const model::SlotSource& source);
  bool fits(ir::ValueId value, std::uint8_t bytes, bool is_signed) const;

  ir::Program& program_;
};

// Low `bytes` of `number`, sign- or zero-extended: what Narrow makes of a constant.
std::uint64_t narrow_constant(std::uint64_t number, std::uint8_t bytes, bool is_signed);

}  // namespace kevt::lower

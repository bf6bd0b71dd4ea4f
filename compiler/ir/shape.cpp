// Which constants may be exchanged in compiled code.
//
//   p:a f x=+8(%di) y=\3        p:b g x=+24(%di) y=\70      →  the same shape, constants (8, 3) and (24, 70)
//
// A shape's text is that of its program with 1 or -1 for each exchangeable number. A program that has 1 or -1 there
// itself is of that shape, too, so no special mark is needed.
#include "compiler/ir/shape.h"

#include <algorithm>

#include "compiler/ir/text.h"

namespace kevt::ir {

namespace {

// An instruction adds 32 bits with a sign; code generation adds some bytes to an offset (the second word of a string),
// which this leaves room for.
bool is_exchangeable(std::int64_t word) { return word != 0 && word > -kConstantLimit && word < kConstantLimit; }

bool reads(const Condition& condition, ValueId id) {
  if (condition.children.empty()) return condition.kind != ConditionKind::Never && condition.value == id;
  return std::ranges::any_of(condition.children, [&](const Condition& child) { return reads(child, id); });
}

// Whether the value is only stored. A value that is used for an address would be relative to the instruction.
bool is_only_stored(const Program& program, ValueId id) {
  const auto uses = [&](const Value& value) { return std::ranges::count(operands_of(value), id) != 0; };
  const auto computes = [&](const Store& store) {
    return store.kind != StoreKind::Integer &&
           (store.value == id || (store.kind == StoreKind::CountedArray && store.length == id));
  };
  const auto asks = [&](const Condition* condition) { return reads(*condition, id); };
  return !is_aggregated(program, id) && std::ranges::none_of(program.values, uses) &&
         std::ranges::none_of(program.stores, computes) && std::ranges::none_of(conditions_of(program), asks);
}

// The number of low bits that the value can have; all higher bits are 0.
unsigned most_bits(const Program& program, ValueId id) {
  constexpr unsigned kAll = 64;
  const Value& value = program.values[id];
  const auto of_operand = [&] { return most_bits(program, value.a); };
  switch (value.op) {
    case Op::Load:
      return value.bytes * 8u;
    case Op::Bits:
      return std::min<unsigned>(value.width, of_operand() - std::min<unsigned>(of_operand(), value.shift));
    case Op::Narrow:
      if (value.is_signed && of_operand() >= value.bytes * 8u) return kAll;
      return std::min(of_operand(), value.bytes * 8u);
    case Op::ReturnAddress:
      return program.probe_kind == model::ProbeKind::Return ? kAll : 0;
    default:
      return row_of(value.op).bits;
  }
}

// Known when it is compiled: what is added to it makes an address, as above.
bool is_number(const Program& program, ValueId id) {
  const Value& value = program.values[id];
  if (most_bits(program, id) == 0) return true;
  if (value.op == Op::Bits || value.op == Op::Narrow) return is_number(program, value.a);
  return value.op == Op::Immediate;
}

bool holds_constant(const Program& program, ValueId id) {
  const Value& value = program.values[id];
  if (value.op == Op::Immediate) return is_only_stored(program, id);
  return row_of(value.op).fault == Fault::Reads && !is_number(program, value.a);
}

// Calls `found` with the position and the word of each; `program` may be const or not.
template <class AnyProgram, class Found>
void for_each_constant(AnyProgram& program, Found found) {
  for (ValueId id = 0; id < program.values.size(); ++id) {
    auto& value = program.values[id];
    if (is_exchangeable(value.imm) && holds_constant(program, id)) found(value_position(id), value.imm);
  }
  for (std::size_t i = 0; i < program.stores.size(); ++i) {
    auto& store = program.stores[i];
    if (is_array(store.kind) && is_exchangeable(store.imm) && !is_number(program, store.value))
      found(store_position(program, i), store.imm);
  }
}

}  // namespace

std::vector<Constant> exchangeable_constants(const Program& program) {
  std::vector<Constant> all;
  for_each_constant(program, [&](std::uint32_t position, std::int64_t word) { all.push_back({position, word}); });
  return all;
}

std::string shape_of(const Program& program) {
  Program shape = program;
  for_each_constant(shape, [](std::uint32_t, std::int64_t& word) { word = word < 0 ? -1 : 1; });
  return print(shape);
}

}  // namespace kevt::ir

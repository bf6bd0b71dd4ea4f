// What is known of each op without running it (the columns of fetch_op.def), and comparison of whole programs.
#include "compiler/ir/program.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace kevt::ir {

namespace {

bool same_slot(const model::SlotSource& a, const model::SlotSource& b) {
  return a.kind == b.kind && a.name == b.name && a.addend == b.addend;
}

}  // namespace

bool operator==(const Program& a, const Program& b) {
  return a.probe_kind == b.probe_kind && a.values == b.values && a.texts == b.texts &&
         std::ranges::equal(a.slots, b.slots, same_slot) && a.stores == b.stores && a.actions == b.actions &&
         a.gates == b.gates && a.aggregates == b.aggregates && a.sinks == b.sinks && a.fixed_size == b.fixed_size &&
         a.injects == b.injects && a.takes_stack == b.takes_stack;
}

const OpRow& row_of(Op op) {
  static constexpr OpRow kRows[] = {
#define KEVT_FETCH_OP(name, text, result, operands, fault, bits) \
  {text, ResultType::result, Operands::operands, Fault::fault, bits},
#include "compiler/ir/fetch_op.def"
#undef KEVT_FETCH_OP
      {"", ResultType::Integer, Operands::None, Fault::Never, 64},  // of a number that is no op
  };
  return kRows[std::min(static_cast<std::size_t>(op), std::size(kRows) - 1)];
}

bool has_operand(Op op) {
  switch (row_of(op).operands) {
    case Operands::Operand:
    case Operands::Place:
    case Operands::SizedPlace:
    case Operands::CountedPlace:
    case Operands::BitRange:
    case Operands::Width:
      return true;
    case Operands::None:
    case Operands::Register:
    case Operands::Number:
      return false;
  }
  return false;
}

std::vector<ValueId> operands_of(const Value& value) {
  if (!has_operand(value.op)) return {};
  if (row_of(value.op).operands == Operands::CountedPlace) return {value.a, value.b};
  return {value.a};
}

std::uint32_t header_size(model::ProbeKind point) {
  if (point == model::ProbeKind::Record) return model::kCommonBytes;
  return model::kCommonBytes + (point == model::ProbeKind::Return ? 16 : 8);
}

std::vector<const Condition*> conditions_of(const Program& program) {
  std::vector<const Condition*> all;
  for (const Action& action : program.actions)
    if (action.condition) all.push_back(&*action.condition);
  for (const Aggregate& aggregate : program.aggregates)
    if (aggregate.condition) all.push_back(&*aggregate.condition);
  for (const InstanceSink& sink : program.sinks)
    if (sink.condition) all.push_back(&*sink.condition);
  return all;
}

bool is_aggregated(const Program& program, ValueId value) {
  const auto takes = [&](const std::vector<Measured>& numbers) {
    return std::ranges::find(numbers, value, &Measured::value) != numbers.end();
  };
  return std::ranges::any_of(program.aggregates,
                             [&](const Aggregate& one) { return takes(one.keys) || takes(one.sums); });
}

std::uint8_t record_flags(const Program& program) {
  std::uint8_t flags = program.gates.empty() ? 0 : model::kGatesWereAsked;
  if (program.takes_stack && stack_number(program)) flags |= model::kHasStack;
  return flags;
}

std::optional<ValueId> stack_number(const Program& program) {
  const auto found = std::ranges::find(program.values, Op::StackNumber, &Value::op);
  if (found == program.values.end()) return std::nullopt;
  return static_cast<ValueId>(found - program.values.begin());
}

std::uint64_t greatest_words(const Aggregate& aggregate) {
  std::uint64_t words = 0;
  for (std::size_t i = 0; i < aggregate.sums.size(); ++i)
    if (aggregate.sums[i].kept != model::Kept::Sum) words |= std::uint64_t{1} << i;
  return words;
}

std::uint32_t key_words(const Program& program, const Aggregate& aggregate) {
  std::uint32_t words = 0;
  for (const Measured& one : aggregate.keys)
    words += result_type(program.values[one.value].op) == ResultType::Text ? KEVT_HIT_TEXT_WORDS : 1;
  return words;
}

std::vector<std::uint16_t> entry_arguments(const Program& program) {
  std::set<std::uint16_t> numbers;
  for (const Value& value : program.values)
    if (value.op == Op::EntryArgument) numbers.insert(static_cast<std::uint16_t>(value.imm));
  return {numbers.begin(), numbers.end()};
}

}  // namespace kevt::ir

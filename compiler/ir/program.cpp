// What is known of each op without running it, and comparison of whole programs.
//
// The tables come from fetch_op.def; which ops take an operand is the one fact that is not in a
// column there, since it shows in the op's text ("at `a`").
#include "compiler/ir/program.h"

#include <algorithm>
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
         a.gates == b.gates && a.sinks == b.sinks && a.fixed_size == b.fixed_size && a.injects == b.injects;
}

ResultType result_type(Op op) {
  switch (op) {
#define KEVT_FETCH_OP(name, text, result) \
  case Op::name:                          \
    return ResultType::result;
#include "compiler/ir/fetch_op.def"
#undef KEVT_FETCH_OP
  }
  return ResultType::Integer;
}

std::string_view op_text(Op op) {
  switch (op) {
#define KEVT_FETCH_OP(name, text, result) \
  case Op::name:                          \
    return text;
#include "compiler/ir/fetch_op.def"
#undef KEVT_FETCH_OP
  }
  return "";
}

bool has_operand(Op op) {
  switch (op) {
    case Op::Load:
    case Op::Bits:
    case Op::Narrow:
    case Op::Located:
    case Op::String:
    case Op::SymbolText:
      return true;
    case Op::Register:
    case Op::Immediate:
    case Op::Slot:
    case Op::ProbeAddress:
    case Op::ReturnAddress:
    case Op::EntryArgument:
    case Op::EventId:
    case Op::Pid:
    case Op::Cpu:
    case Op::ImmediateText:
    case Op::Comm:
      return false;
  }
  return false;
}

std::uint32_t header_size(model::ProbeKind point) {
  if (point == model::ProbeKind::Record) return model::kCommonBytes;
  return model::kCommonBytes + (point == model::ProbeKind::Return ? 16 : 8);
}

std::vector<const Condition*> conditions_of(const Program& program) {
  std::vector<const Condition*> all;
  for (const Action& action : program.actions)
    if (action.condition) all.push_back(&*action.condition);
  for (const InstanceSink& sink : program.sinks)
    if (sink.condition) all.push_back(&*sink.condition);
  return all;
}

std::vector<std::uint16_t> entry_arguments(const Program& program) {
  std::set<std::uint16_t> numbers;
  for (const Value& value : program.values)
    if (value.op == Op::EntryArgument) numbers.insert(static_cast<std::uint16_t>(value.imm));
  return {numbers.begin(), numbers.end()};
}

}  // namespace kevt::ir

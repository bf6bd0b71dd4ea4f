// What native code cannot do. No LLVM is needed for this: `kevtrace check` asks about every definition.
//
//   a filter on a symstr field   its text is made when the record is read, too late for a filter
#include "common/abi/probe.h"
#include "compiler/codegen/native.h"

namespace kevt::codegen {

namespace {

// The most texts that the program keeps in scratch. All values that are the thread's name share one place.
std::uint32_t texts_in_scratch(const ir::Program& program) {
  std::uint32_t strings = 0, names = 0;
  for (const ir::Value& value : program.values) {
    strings += ir::reads_text(value.op) ? 1 : 0;
    if (value.op == ir::Op::Comm) names = 1;
  }
  return strings + names;
}

bool matches_symbol_text(const ir::Program& program, const ir::Condition& c) {
  if (c.kind == ir::ConditionKind::MatchText && program.values[c.value].op == ir::Op::SymbolText) return true;
  for (const ir::Condition& child : c.children)
    if (matches_symbol_text(program, child)) return true;
  return false;
}

bool compares_text(const ir::Condition& c) {
  if (c.kind == ir::ConditionKind::MatchText) return true;
  for (const ir::Condition& child : c.children)
    if (compares_text(child)) return true;
  return false;
}

}  // namespace

std::string native_refusal(const ir::Program& program) {
  bool keeps_texts = program.sinks.size() > 1;
  for (const ir::Condition* condition : ir::conditions_of(program)) {
    keeps_texts = keeps_texts || compares_text(*condition);
    if (matches_symbol_text(program, *condition))
      return "a filter on a `symstr` field: in process its text is made when the record is read";
  }
  if (keeps_texts && texts_in_scratch(program) > KEVT_SCRATCH_TEXTS)
    return "a string filter on an event with more than 8 strings";
  if (program.sinks.size() > 32) return "more than 32 instances on one event";
  return "";
}

}  // namespace kevt::codegen

#include "compiler/pipeline/reader_program.h"

#include <algorithm>
#include <cerrno>

#include "common/assert.h"
#include "compiler/ir/verify.h"

namespace kevt::pipeline {

namespace {

bool lies_in_record(const ir::Program& program, ir::ValueId address) {
  const ir::Op op = program.values.at(address).op;
  return op == ir::Op::ProbeAddress || op == ir::Op::Located;
}

bool reads_memory(const ir::Program& program) {
  const auto value_does = [&](const ir::Value& value) {
    return ir::row_of(value.op).fault == ir::Fault::Reads && !lies_in_record(program, value.a);
  };
  const auto store_does = [&](const ir::Store& store) {
    return store.kind == ir::StoreKind::TextArray ||
           (ir::is_array(store.kind) && !lies_in_record(program, store.value));
  };
  return std::ranges::any_of(program.values, value_does) || std::ranges::any_of(program.stores, store_does);
}

bool is_symbol_text(const model::FetchArg& arg) { return arg.type.kind == model::TypeKind::SymbolString; }

Error refusal(const CheckedEvent& event, const char* why) {
  return Error("`" + event.definition.command + "`: " + why, EOPNOTSUPP);
}

}  // namespace

Result<ir::Program> reader_program(const CheckedEvent& event) {
  if (std::ranges::any_of(event.definition.args, is_symbol_text))
    return std::unexpected(refusal(event, "no `symstr` on a synthetic event: `symbol` records the address"));
  auto program = lower::lower_event(event.definition, event.layout, {std::nullopt}, {},
                                    event.attached ? &*event.attached : nullptr);
  const auto broken = ir::verify(program);
  KEVT_ASSERT(!broken);
  if (reads_memory(program))
    return std::unexpected(refusal(event,
                                   "it reads memory, and the record of a synthetic event is made when the rings are "
                                   "read: what was in that memory at the hit may be gone by then"));
  return program;
}

}  // namespace kevt::pipeline

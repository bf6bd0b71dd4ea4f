// A fetch expression becomes a chain of loads, innermost first, and leaves the last one open: the
// type decides how much of it is read (an integer, a string, an array).
//
//   +8(+0(%di))     v0 = reg di; v1 = load u8 v0+0; the datum lies at v1+8
//   @jiffies+4      v0 = slot 0 (symbol "jiffies"+4); the datum lies at v0+0
//   $arg1           v0 = reg di; at a return  v0 = entry_arg 1
//   $arg2           of a tracepoint: v0 = reg, the second word of what its program is given
//   $stack2         v0 = reg sp; v1 = load u8 v0+16 is the datum: a word, not a place
//
//   $f              of an eprobe: text in the record, at probe_address and its offset, or, behind the fields,
//                   v1 = load u4 v0+OFFSET; v2 = located v1
//   @errno          thread-local: v0 = thread_local 0; the datum lies at v0+0
//   $span_id        v0 = thread_local 0; v1 = span_context v0; the datum lies at v1+16
//   $addr           of a watchpoint: v0 = slot 0, or the address itself
//   +u0(%si)        the same, of user memory alone; `+0()` takes an address for what it is
//
// It mirrors parse_probe_arg of kernel/trace/trace_probe.c (6.1), where `@` forms end in a
// dereference of their own.
#include "compiler/lower/fetch.h"

#include <utility>

#include "common/assert.h"
#include "compiler/model/span_context.h"
#include "compiler/target/target_env.h"

namespace kevt::lower {

namespace {

ir::ValueId named_register(std::string_view name, ValueTable& values) {
  const std::optional<std::uint32_t> offset = target::register_offset(name);
  KEVT_ASSERT(offset.has_value());
  return values.reg(*offset);
}

std::string file_of(const model::Place& place) {
  const auto* file = std::get_if<model::FilePlace>(&place);
  KEVT_ASSERT(file != nullptr);
  return file->path;
}

struct BaseLowering {
  const model::Definition& definition;
  ValueTable& values;

  Fetched operator()(const model::RegisterBase& base) const {
    if (const auto vector = target::vector_register(base.name)) return {values.vector(*vector), {}};
    return {named_register(base.name, values), {}};
  }
  Fetched operator()(const model::StackPointerBase&) const { return {named_register("sp", values), {}}; }
  Fetched operator()(const model::StackSlotBase& base) const {
    const std::int64_t offset = std::int64_t{base.index} * kWordBytes;
    return {values.load(named_register("sp", values), offset, kWordBytes), {}};
  }
  Fetched operator()(const model::ReturnValueBase&) const { return {named_register("ax", values), {}}; }
  Fetched operator()(const model::ArgumentBase& base) const {
    if (definition.kind == model::EventKind::Tprobe)  // a tracepoint's register block is its list of arguments
      return {values.reg((base.number - 1) * kWordBytes), {}};
    if (definition.probe_kind == model::ProbeKind::Return) return {values.entry_argument(base.number), {}};
    const target::ArgumentLocation at = target::argument_location(base.number);
    if (at.in_register) return {values.reg(at.offset), {}};
    return {values.load(named_register("sp", values), at.offset, kWordBytes), {}};
  }
  Fetched operator()(const model::CommBase&) const { return {values.plain(ir::Op::Comm), {}}; }
  Fetched operator()(const model::MemoryBase& base) const { return {values.immediate(base.address), 0}; }
  Fetched operator()(const model::SymbolBase& base) const {
    if (base.is_thread_local) return {values.thread_local_variable(base.symbol, base.offset), 0};
    return {values.slot({model::SlotKind::SymbolAddress, base.symbol, base.offset}), 0};
  }
  Fetched operator()(const model::SpanIdBase& base) const {
    const ir::ValueId pointer = values.thread_local_variable(std::string(model::kSpanContextSymbol), 0);
    const bool is_trace = base.id == model::SpanIdBase::Id::Trace;
    return {values.span_context(pointer), is_trace ? model::kTraceIdAt : model::kSpanIdAt};
  }
  Fetched operator()(const model::FileOffsetBase& base) const {
    const auto offset = static_cast<std::int64_t>(base.offset);
    return {values.slot({model::SlotKind::FileAddress, file_of(definition.place), offset}), 0};
  }
  Fetched operator()(const model::ImmediateBase& base) const { return {values.immediate(base.value), {}}; }
  Fetched operator()(const model::ImmediateStringBase& base) const { return {values.text(base.text), {}}; }
  // The probe address of an eprobe is the address of the attached event's record.
  Fetched operator()(const model::EventFieldBase& base) const {
    const ir::ValueId record = values.plain(ir::Op::ProbeAddress);
    if (base.form == model::EventFieldForm::Text) return {record, base.offset};
    if (base.form == model::EventFieldForm::Located)
      return {values.located(values.load(record, base.offset, model::kDataLocBytes)), base.located_from};
    const ir::ValueId value = values.load(record, base.offset, base.bytes);
    return {base.is_signed ? values.narrow(value, base.bytes, true) : value, {}};
  }
  Fetched operator()(const model::VariableBase& base) const {
    const auto* watched = std::get_if<model::WatchPlace>(&definition.place);
    if (base.kind != model::VariableKind::WatchedAddress || watched == nullptr) return not_lowerable();
    if (!watched->symbol) return {values.immediate(static_cast<std::uint64_t>(watched->offset)), {}};
    return {values.slot({model::SlotKind::SymbolAddress, *watched->symbol, watched->offset}), {}};
  }

  Fetched not_lowerable() const {
    KEVT_ASSERT(!"lowerable() was not asked");
    return {};
  }
};

}  // namespace

bool is_text_field(const model::FetchBase& base) {
  const auto* field = std::get_if<model::EventFieldBase>(&base);
  return field != nullptr &&
         (field->form == model::EventFieldForm::Text || field->form == model::EventFieldForm::Located);
}

Fetched lower_fetch(const model::FetchExpr& expr, const model::Definition& definition, ValueTable& values) {
  Fetched datum = std::visit(BaseLowering{definition, values}, expr.base);
  // A text in a record is given by its address, so the first dereference needs no load.
  bool is_address = is_text_field(expr.base);
  for (const model::Dereference& dereference : expr.dereferences) {
    if (std::exchange(is_address, false)) {
      datum.offset = *datum.offset + dereference.offset;
      continue;
    }
    if (datum.offset) datum.value = values.load(datum.value, *datum.offset, kWordBytes, datum.space);
    datum.offset = dereference.offset;
    datum.space = dereference.space;
  }
  return datum;
}

bool lowerable_base(const model::FetchBase& base) {
  if (const auto* field = std::get_if<model::EventFieldBase>(&base))
    return field->form != model::EventFieldForm::Unknown;
  const auto* variable = std::get_if<model::VariableBase>(&base);
  return variable == nullptr || variable->kind == model::VariableKind::WatchedAddress;
}

}  // namespace kevt::lower

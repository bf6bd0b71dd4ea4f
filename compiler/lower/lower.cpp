// The table of contents of lowering: fields in record order give values and stores, then each filter
// gives the condition of its sink over those same values.
//
//   p:w libc:write fd=%di:s32 buf=+0(%si):string  with  fd > 2      see ir/program.h for the result
//
// It optimizes nothing beyond making equal values once; unused values cost nothing, as values are
// fetched on demand.
#include "compiler/lower/lower.h"

#include <algorithm>

#include "common/assert.h"
#include "compiler/ir/verify.h"
#include "compiler/lower/condition.h"
#include "compiler/model/bpf_code.h"

namespace kevt::lower {

namespace {

// Whether a text of an attached event's record, or the thread's name, is asked for as a number: that would be the
// text's address, which is of no use.
bool is_address(const model::FetchArg& arg) {
  const bool is_text = arg.type.kind == model::TypeKind::String || arg.type.kind == model::TypeKind::UserString;
  if (std::holds_alternative<model::CommBase>(arg.expr.base)) return !is_text || !arg.expr.dereferences.empty();
  return is_text_field(arg.expr.base) && arg.expr.dereferences.empty() && !is_text;
}

// The slot of a shared cell; each cell has one slot.
std::uint32_t slot_of_word(std::uint32_t word, ir::Program& program) {
  const model::SlotSource source{
      .kind = model::SlotKind::SharedCell, .name = "", .addend = static_cast<std::int64_t>(word), .address = 0};
  const auto known = std::ranges::find(program.slots, source);
  const auto slot = static_cast<std::uint32_t>(known - program.slots.begin());
  if (known == program.slots.end()) program.slots.push_back(source);
  return slot;
}

void lower_switches(const model::InlineTriggers& switches, const std::vector<FieldValue>& fields, ValueTable& values,
                    ir::Program& program) {
  for (const model::InlineTriggers::Action& action : switches.actions) {
    ir::Action lowered{.condition = std::nullopt,
                       .word = slot_of_word(action.word, program),
                       .on = action.on,
                       .late = action.late,
                       .left = std::nullopt};
    if (action.left) lowered.left = slot_of_word(*action.left, program);
    if (action.condition) lowered.condition = lower_condition(*action.condition, fields, values);
    program.actions.push_back(std::move(lowered));
  }
  for (const model::InlineTriggers::Gate& gate : switches.gates) {
    ir::Gate lowered{.word = slot_of_word(gate.word, program), .early = gate.early, .early_while = std::nullopt};
    if (gate.early_while) lowered.early_while = slot_of_word(*gate.early_while, program);
    program.gates.push_back(lowered);
  }
}

// The value of a number that a histogram takes: the field as it is recorded, with its sign.
ir::ValueId lower_number(const model::HitHistogram::Number& number, const std::vector<FieldValue>& fields,
                         ValueTable& values) {
  if (number.is_stack) return values.plain(ir::Op::StackNumber);
  switch (number.source) {
    case model::FilterOperand::RecordField:
      if (number.is_text) return std::get<TextField>(fields.at(number.field)).value;
      return values.narrow(std::get<IntegerField>(fields.at(number.field)).value,
                           static_cast<std::uint8_t>(number.bytes), number.is_signed);
    case model::FilterOperand::Cpu:
      return values.plain(ir::Op::Cpu);
    case model::FilterOperand::CommonType:
      return values.plain(ir::Op::EventId);
    case model::FilterOperand::Comm:
      return values.plain(ir::Op::Comm);
    case model::FilterOperand::CommonPid:
      return values.narrow(values.plain(ir::Op::Pid), 4, true);
    default:
      return values.immediate(0);  // flags and preempt count: a process's hit has none
  }
}

std::vector<ir::Measured> lower_numbers(const std::vector<model::HitHistogram::Number>& numbers,
                                        const std::vector<FieldValue>& fields, ValueTable& values) {
  std::vector<ir::Measured> lowered;
  for (const model::HitHistogram::Number& number : numbers) {
    std::uint64_t parameter = 0;
    if (number.measure == model::HitMeasure::Log2) parameter = number.log2_of_negatives;
    if (number.measure == model::HitMeasure::Bucket) parameter = number.width;
    lowered.push_back({.value = lower_number(number, fields, values),
                       .measure = number.measure,
                       .parameter = parameter,
                       .kept = number.kept});
  }
  return lowered;
}

void lower_histograms(const std::vector<model::HitHistogram>& histograms, const std::vector<FieldValue>& fields,
                      ValueTable& values, ir::Program& program) {
  for (const model::HitHistogram& histogram : histograms) {
    ir::Aggregate aggregate;
    aggregate.table = static_cast<std::uint32_t>(program.slots.size());
    program.slots.push_back({.kind = model::SlotKind::HitTable,
                             .name = "",
                             .addend = static_cast<std::int64_t>(program.aggregates.size()),
                             .address = 0});
    aggregate.keys = lower_numbers(histogram.keys, fields, values);
    aggregate.sums = lower_numbers(histogram.sums, fields, values);
    if (histogram.condition) aggregate.condition = lower_condition(*histogram.condition, fields, values);
    program.aggregates.push_back(std::move(aggregate));
  }
}

}  // namespace

namespace {

// Whether a tracepoint's probe can read the base: a raw tracepoint has arguments and no registers.
bool is_of_tracepoint(const model::FetchBase& base) {
  if (const auto* argument = std::get_if<model::ArgumentBase>(&base))
    return argument->number >= 1 && argument->number <= model::kMaxContextArguments;
  return !std::holds_alternative<model::RegisterBase>(base) && !std::holds_alternative<model::StackPointerBase>(base) &&
         !std::holds_alternative<model::StackSlotBase>(base);
}

}  // namespace

bool lowerable(const model::Definition& definition) {
  const bool of_tracepoint = definition.kind == model::EventKind::Tprobe;
  switch (definition.kind) {
    case model::EventKind::Synthetic:
      return false;
    case model::EventKind::Eprobe:
      if (definition.probe_kind != model::ProbeKind::Record) return false;
      break;
    case model::EventKind::Watchpoint:
    case model::EventKind::Kprobe:
    case model::EventKind::Uprobe:
    case model::EventKind::Fprobe:
    case model::EventKind::Tprobe:
      break;
  }
  return std::ranges::all_of(definition.args, [&](const model::FetchArg& arg) {
    const auto is_not = [&](const model::FetchExpr& expr) {
      return !lowerable_base(expr.base) || (of_tracepoint && !is_of_tracepoint(expr.base));
    };
    return !is_address(arg) && !model::any_expression(arg, is_not);
  });
}

namespace {

// The value that a filter compares of a field of the record that an eprobe reads. A `char *` is followed, as in the
// kernel.
FieldValue attached_field(const model::RecordField& field, ValueTable& values) {
  const ir::ValueId record = values.plain(ir::Op::ProbeAddress);
  const bool number = field.size == 1 || field.size == 2 || field.size == 4 || field.size == 8;
  if (model::RecordLayout::is_fixed_text(field))
    return TextField{values.string(record, field.offset, model::AddressSpace::Default)};
  if (model::RecordLayout::is_located_text(field)) {
    const ir::ValueId at = values.located(values.load(record, field.offset, model::kDataLocBytes));
    return TextField{values.string(at, field.located_from, model::AddressSpace::Default)};
  }
  if (!number || model::RecordLayout::is_string(field) || field.type.is_counted) return OpaqueField{};
  const ir::ValueId value = values.load(record, field.offset, static_cast<std::uint8_t>(field.size));
  if (field.type.text.ends_with("char *")) return TextField{values.string(value, 0, model::AddressSpace::Default)};
  return IntegerField{values.narrow(value, static_cast<std::uint8_t>(field.size), field.is_signed)};
}

void note_fields(const model::FilterExpr& condition, std::vector<bool>& named) {
  for (const model::FilterExpr& child : condition.children) note_fields(child, named);
  const bool predicate = condition.node == model::FilterNode::Predicate;
  if (predicate && condition.predicate.source == model::FilterOperand::RecordField)
    named.at(condition.predicate.field) = true;
}

// Makes values only for the fields that the condition names.
ir::Condition attached_condition(const AttachedFilter& attached, ValueTable& values) {
  std::vector<bool> named(attached.layout.fields.size());
  note_fields(attached.condition, named);
  std::vector<FieldValue> fields;
  for (std::size_t i = 0; i < named.size(); ++i)
    fields.push_back(named[i] ? attached_field(attached.layout.fields[i], values) : FieldValue(OpaqueField{}));
  return lower_condition(attached.condition, fields, values);
}

void add_condition(std::optional<ir::Condition>& to, ir::Condition condition) {
  if (!to) {
    to = std::move(condition);
    return;
  }
  ir::Condition both;
  both.kind = ir::ConditionKind::And;
  both.children = {std::move(condition), std::move(*to)};
  to = std::move(both);
}

}  // namespace

bool reads_located_text(const AttachedFilter& attached) {
  std::vector<bool> named(attached.layout.fields.size());
  note_fields(attached.condition, named);
  for (std::size_t i = 0; i < named.size(); ++i)
    if (named[i] && model::RecordLayout::is_located_text(attached.layout.fields[i])) return true;
  return false;
}

ir::Program lower_event(const model::Definition& definition, const model::RecordLayout& layout,
                        const std::vector<std::optional<model::FilterExpr>>& filters,
                        const model::InlineTriggers& switches, const AttachedFilter* attached,
                        const std::vector<model::HitHistogram>& histograms) {
  KEVT_ASSERT(lowerable(definition));
  ir::Program program;
  program.probe_kind = definition.probe_kind;
  program.fixed_size = layout.fixed_size;
  ValueTable values(program);

  std::vector<FieldValue> fields;
  for (const model::RecordField& field : layout.fields) {
    LoweredField lowered = lower_field(definition, field, values);
    fields.push_back(std::move(lowered.value));
    program.stores.insert(program.stores.end(), lowered.stores.begin(), lowered.stores.end());
  }
  lower_switches(switches, fields, values, program);
  lower_histograms(histograms, fields, values, program);
  if (attached != nullptr)
    for (ir::Action& action : program.actions) add_condition(action.condition, attached_condition(*attached, values));
  for (std::size_t i = 0; i < filters.size(); ++i) {
    ir::InstanceSink sink{.instance = static_cast<std::uint32_t>(i), .condition = std::nullopt};
    if (filters[i]) sink.condition = lower_condition(*filters[i], fields, values);
    if (attached != nullptr) add_condition(sink.condition, attached_condition(*attached, values));
    program.sinks.push_back(std::move(sink));
  }
  KEVT_ASSERT(!ir::verify(program));
  return program;
}

void add_stack_number(ir::Program& program) { (void)ValueTable(program).plain(ir::Op::StackNumber); }

}  // namespace kevt::lower

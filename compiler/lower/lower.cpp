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

namespace kevt::lower {

namespace {

// Characters of an attached event's record, asked for as a number: their address there, which nobody has a use for.
bool is_address(const model::FetchArg& arg) {
  const auto* field = std::get_if<model::EventFieldBase>(&arg.expr.base);
  const bool is_text = arg.type.kind == model::TypeKind::String || arg.type.kind == model::TypeKind::UserString;
  return field != nullptr && field->form == model::EventFieldForm::Text && arg.expr.dereferences.empty() && !is_text;
}

// The slot of a shared word, once for each.
std::uint32_t slot_of_word(std::uint32_t word, ir::Program& program) {
  const model::SlotSource source{
      .kind = model::SlotKind::SharedWord, .name = "", .addend = static_cast<std::int64_t>(word), .address = 0};
  const auto known = std::ranges::find(program.slots, source);
  const auto slot = static_cast<std::uint32_t>(known - program.slots.begin());
  if (known == program.slots.end()) program.slots.push_back(source);
  return slot;
}

void lower_switches(const model::HitSwitches& switches, const std::vector<FieldValue>& fields, ValueTable& values,
                    ir::Program& program) {
  for (const model::HitSwitches::Action& action : switches.actions) {
    ir::Action lowered{.condition = std::nullopt, .word = slot_of_word(action.word, program), .on = action.on};
    if (action.left) lowered.left = slot_of_word(*action.left, program);
    if (action.condition) lowered.condition = lower_condition(*action.condition, fields, values);
    program.actions.push_back(std::move(lowered));
  }
  for (const std::uint32_t word : switches.gates) program.gates.push_back(slot_of_word(word, program));
}

}  // namespace

bool lowerable(const model::Definition& definition) {
  switch (definition.kind) {
    case model::EventKind::Synthetic:
    case model::EventKind::Watchpoint:
      return false;
    case model::EventKind::Eprobe:
      if (definition.filter || definition.point != model::ProbePoint::Record) return false;
      break;
    case model::EventKind::Kprobe:
    case model::EventKind::Uprobe:
    case model::EventKind::Fprobe:
    case model::EventKind::Tprobe:
      break;
  }
  return std::ranges::all_of(
      definition.args, [](const model::FetchArg& arg) { return lowerable_base(arg.expr.base) && !is_address(arg); });
}

ir::Program lower_event(const model::Definition& definition, const model::RecordLayout& layout,
                        const std::vector<std::optional<model::FilterExpr>>& filters,
                        const model::HitSwitches& switches) {
  KEVT_ASSERT(lowerable(definition));
  ir::Program program;
  program.point = definition.point;
  program.fixed_size = layout.fixed_size;
  ValueTable values(program);

  std::vector<FieldValue> fields;
  for (const model::RecordField& field : layout.fields) {
    LoweredField lowered = lower_field(definition, field, values);
    fields.push_back(std::move(lowered.value));
    program.stores.insert(program.stores.end(), lowered.stores.begin(), lowered.stores.end());
  }
  lower_switches(switches, fields, values, program);
  for (std::size_t i = 0; i < filters.size(); ++i) {
    ir::Sink sink{.instance = static_cast<std::uint32_t>(i), .condition = std::nullopt};
    if (filters[i]) sink.condition = lower_condition(*filters[i], fields, values);
    program.sinks.push_back(std::move(sink));
  }
  KEVT_ASSERT(!ir::verify(program));
  return program;
}

}  // namespace kevt::lower

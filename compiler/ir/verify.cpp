// Which Programs mean something: the rules that passes, code generators and the interpreter rely on.
//
// One function per part, each returns the first broken rule as text that begins with the part it is
// about ("store 2: …"). What an op, store or condition does not use must be at its default, so that
// equal meaning is equal data and the text form loses nothing.
//
// Not checked: whether the program is a good one (values nobody reads, equal values) and whether slot
// names exist anywhere.
#include "compiler/ir/verify.h"

#include <fmt/format.h>

#include <set>

#include "common/abi/probe.h"

namespace kevt::ir {

namespace {

using Problem = std::optional<std::string>;

constexpr std::size_t kMaxTextBytes = model::kMaxStringBytes - 1;

bool is_item_size(std::uint8_t bytes) { return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8; }

// Like `value`, with only the members that its op uses.
Value used_part(const Value& value) {
  Value used{.op = value.op};
  if (has_operand(value.op)) used.a = value.a;
  if (operands_of(value).size() > 1) used.b = value.b;
  switch (row_of(value.op).operands) {
    case Operands::None:
    case Operands::Operand:
      break;
    case Operands::Register:
    case Operands::Number:
      used.imm = value.imm;
      break;
    case Operands::SizedPlace:
      used.bytes = value.bytes;
      [[fallthrough]];
    case Operands::CountedPlace:
    case Operands::Place:
      used.imm = value.imm;
      used.from_user = value.from_user;
      break;
    case Operands::BitRange:
      used.shift = value.shift;
      used.width = value.width;
      break;
    case Operands::Width:
      used.bytes = value.bytes;
      used.is_signed = value.is_signed;
      break;
  }
  return used;
}

Problem check_index(std::int64_t index, std::size_t count, std::string_view what) {
  if (index >= 0 && static_cast<std::uint64_t>(index) < count) return std::nullopt;
  return fmt::format("{} {} of {}", what, index, count);
}

// The rules for operands, which are the same for all ops with this shape of operands.
Problem check_operands(const Value& value) {
  switch (row_of(value.op).operands) {
    case Operands::Register:
      if (value.imm < 0 || value.imm % 8 != 0 || value.imm >= static_cast<std::int64_t>(sizeof(kevt_registers)))
        return fmt::format("no register lies at byte {}", value.imm);
      return std::nullopt;
    case Operands::SizedPlace:
    case Operands::Width:
      if (!is_item_size(value.bytes)) return fmt::format("{} bytes are not 1, 2, 4 or 8", value.bytes);
      return std::nullopt;
    case Operands::BitRange:
      if (value.width == 0 || value.shift + value.width > 64)
        return fmt::format("bits {}:{} are not inside 64", value.shift, value.width);
      return std::nullopt;
    case Operands::None:
    case Operands::Number:
    case Operands::Operand:
    case Operands::Place:
    case Operands::CountedPlace:
      return std::nullopt;
  }
  return std::nullopt;
}

// The rules for the numbers of single ops.
Problem check_number(const Program& program, const Value& value) {
  if (value.op == Op::Slot || value.op == Op::ThreadLocal) return check_index(value.imm, program.slots.size(), "slot");
  if (value.op == Op::Vector) return check_index(value.imm, kVectorRegisters, "vector register");
  if (value.op == Op::FloatOrder && (value.bytes < 4 || value.is_signed))
    return fmt::format("no floating point number has {} bytes", value.bytes);
  if (value.op == Op::ImmediateText) return check_index(value.imm, program.texts.size(), "text");
  if (value.op != Op::EntryArgument) return std::nullopt;
  if (program.probe_kind != model::ProbeKind::Return) return "only return programs have arguments of the entry";
  if (value.imm < 1 || value.imm > kMaxArgumentNumber) return fmt::format("there is no argument {}", value.imm);
  return std::nullopt;
}

Problem check_op(const Program& program, const Value& value) {
  if (op_text(value.op).empty()) return fmt::format("op {} does not exist", static_cast<unsigned>(value.op));
  if (auto problem = check_operands(value)) return problem;
  return check_number(program, value);
}

Problem check_value(const Program& program, ValueId id) {
  const Value& value = program.values[id];
  if (auto problem = check_op(program, value)) return problem;
  for (const ValueId operand : operands_of(value)) {
    if (operand >= id) return fmt::format("operand v{} is not defined before it", operand);
    if (result_type(program.values[operand].op) != ResultType::Integer)
      return fmt::format("operand v{} is a text", operand);
  }
  if (value != used_part(value)) return fmt::format("`{}` has a member set that it does not use", op_text(value.op));
  return std::nullopt;
}

Problem check_use(const Program& program, ValueId id, ResultType wanted) {
  if (id >= program.values.size()) return fmt::format("v{} does not exist", id);
  if (result_type(program.values[id].op) == wanted) return std::nullopt;
  return fmt::format("v{} is {}", id, wanted == ResultType::Text ? "an integer" : "a text");
}

bool is_text(StoreKind kind) { return kind == StoreKind::Text || kind == StoreKind::TextArray; }

Problem check_store_shape(const Store& store) {
  if (is_text(store.kind) ? store.bytes != 4 : !is_item_size(store.bytes))
    return fmt::format("items of {} bytes", store.bytes);
  if (store.count < 1 || store.count > kMaxArrayCount)
    return fmt::format("{} items are not 1 to {}", store.count, kMaxArrayCount);
  if (!is_array(store.kind) && (store.count != 1 || store.imm != 0 || store.from_user))
    return "count, imm or from_user is set, and it is no array";
  if (store.kind != StoreKind::CountedArray && (store.length != 0 || store.length_is_end))
    return "length is set without use";
  if (store.texts_from_user && store.kind != StoreKind::TextArray) return "texts_from_user is set, and it has no texts";
  if (store.kind == StoreKind::IntegerArray && store.width != 0) {
    if (store.shift + store.width <= 8 * store.bytes) return std::nullopt;
    return fmt::format("bits {}:{} are not inside {} bytes", store.shift, store.width, store.bytes);
  }
  if (store.shift != 0 || store.width != 0) return "shift or width is set without use";
  return std::nullopt;
}

Problem check_store(const Program& program, const Store& store, std::uint32_t expected_offset) {
  if (store.kind > StoreKind::CountedArray) return "kind does not exist";
  if (auto problem = check_store_shape(store)) return problem;
  const ResultType wanted = store.kind == StoreKind::Text ? ResultType::Text : ResultType::Integer;
  if (auto problem = check_use(program, store.value, wanted)) return problem;
  if (auto problem = check_use(program, store.length, wanted); problem && store.kind == StoreKind::CountedArray)
    return problem;
  if (store.offset == expected_offset) return std::nullopt;
  return fmt::format("lies at {}, the bytes before it end at {}", store.offset, expected_offset);
}

Problem check_text(const std::string& text) {
  if (text.size() > kMaxTextBytes) return fmt::format("{} bytes are over {}", text.size(), kMaxTextBytes);
  if (text.find('\0') != std::string::npos) return "holds a NUL";
  return std::nullopt;
}

// Like `condition`, with only the members that its kind uses.
Condition used_part(const Condition& condition) {
  Condition used;
  used.kind = condition.kind;
  switch (condition.kind) {
    case ConditionKind::Never:
      break;
    case ConditionKind::And:
    case ConditionKind::Or:
    case ConditionKind::Not:
      used.children = condition.children;
      break;
    case ConditionKind::Compare:
      used.value = condition.value;
      used.op = condition.op;
      used.is_signed = condition.is_signed;
      used.constant = condition.constant;
      break;
    case ConditionKind::MatchText:
      used.value = condition.value;
      used.glob = condition.glob;
      used.negated = condition.negated;
      used.text = condition.text;
      break;
  }
  return used;
}

bool has_unused_members(const Condition& condition) {
  const bool is_tree = condition.kind == ConditionKind::And || condition.kind == ConditionKind::Or ||
                       condition.kind == ConditionKind::Not;
  if (!is_tree) return condition != used_part(condition);
  Condition flat;  // without the children, which may be many
  flat.kind = condition.kind;
  return flat.value != condition.value || flat.op != condition.op || flat.is_signed != condition.is_signed ||
         flat.constant != condition.constant || flat.glob != condition.glob || flat.negated != condition.negated ||
         flat.text != condition.text;
}

Problem check_condition(const Program& program, const Condition& condition, std::uint32_t depth);

Problem check_children(const Program& program, const Condition& condition, std::uint32_t depth) {
  for (const Condition& child : condition.children)
    if (auto problem = check_condition(program, child, depth + 1)) return problem;
  return std::nullopt;
}

Problem check_condition(const Program& program, const Condition& condition, std::uint32_t depth) {
  if (depth > kMaxConditionDepth) return fmt::format("nests deeper than {}", kMaxConditionDepth);
  if (condition.kind > ConditionKind::MatchText) return "condition kind does not exist";
  if (has_unused_members(condition)) return "a condition has a member set that it does not use";
  switch (condition.kind) {
    case ConditionKind::Never:
      return std::nullopt;
    case ConditionKind::And:
    case ConditionKind::Or:
      if (condition.children.size() < 2) return "`and`, `or` of fewer than two conditions";
      return check_children(program, condition, depth);
    case ConditionKind::Not:
      if (condition.children.size() != 1) return "`not` takes one condition";
      return check_children(program, condition, depth);
    case ConditionKind::Compare:
      if (condition.op > model::CompareOp::BitAnd) return "an integer is compared by a glob";
      return check_use(program, condition.value, ResultType::Integer);
    case ConditionKind::MatchText:
      if (condition.glob > model::GlobKind::Glob) return "glob kind does not exist";
      if (auto problem = check_text(condition.text)) return problem;
      return check_use(program, condition.value, ResultType::Text);
  }
  return std::nullopt;
}

Problem check_tables(const Program& program) {
  for (std::size_t i = 0; i < program.texts.size(); ++i)
    if (auto problem = check_text(program.texts[i])) return fmt::format("text {}: {}", i, *problem);
  for (std::size_t i = 0; i < program.slots.size(); ++i)
    if (auto problem = check_text(program.slots[i].name)) return fmt::format("slot {}: {}", i, *problem);
  return std::nullopt;
}

Problem check_stores(const Program& program) {
  std::uint32_t end = header_size(program.probe_kind);
  for (std::size_t i = 0; i < program.stores.size(); ++i) {
    const Store& store = program.stores[i];
    if (auto problem = check_store(program, store, end)) return fmt::format("store {}: {}", i, *problem);
    end += fixed_bytes(store);
    if (end > model::kMaxRecordBytes) return fmt::format("store {}: ends over {}", i, model::kMaxRecordBytes);
  }
  if (program.fixed_size == end) return std::nullopt;
  return fmt::format("fixed size {}: the stores end at {}", program.fixed_size, end);
}

Problem check_word(const Program& program, std::uint32_t slot) {
  if (auto problem = check_index(slot, program.slots.size(), "slot")) return problem;
  if (program.slots[slot].kind != model::SlotKind::SharedCell) return fmt::format("slot {} is no word", slot);
  if (auto problem = check_index(program.slots[slot].addend, KEVT_SHARED_WORDS, "word")) return problem;
  return std::nullopt;
}

Problem check_action(const Program& program, const Action& action) {
  if (auto problem = check_word(program, action.word)) return problem;
  if (action.left)
    if (auto problem = check_word(program, *action.left)) return problem;
  return action.condition ? check_condition(program, *action.condition, 1) : std::nullopt;
}

Problem check_gate(const Program& program, const Gate& gate) {
  if (auto problem = check_word(program, gate.word)) return problem;
  if (!gate.early_while) return std::nullopt;
  if (!gate.early) return "`while` is for one that is early";
  return check_word(program, *gate.early_while);
}

Problem check_switches(const Program& program) {
  if (program.actions.empty() && program.gates.empty()) return std::nullopt;
  if (program.sinks.size() != 1) return "actions and gates take one sink";
  for (std::size_t i = 0; i < program.actions.size(); ++i)
    if (auto problem = check_action(program, program.actions[i])) return fmt::format("action {}: {}", i, *problem);
  for (const Gate& gate : program.gates)
    if (auto problem = check_gate(program, gate)) return "gate: " + *problem;
  return std::nullopt;
}

Problem check_numbers(const Program& program, const std::vector<Measured>& numbers) {
  for (const Measured& one : numbers) {
    if (one.measure > model::HitMeasure::LogLinear) return "measure does not exist";
    if (!takes_parameter(one.measure) && one.parameter != 0) return "a parameter is set without use";
    if (one.kept > model::Kept::SignedGreatest) return "what is kept does not exist";
    if (one.kept != model::Kept::Sum && one.measure != model::HitMeasure::Itself)
      return "the least and the greatest are of plain numbers";
    if (one.measure == model::HitMeasure::Bucket && one.parameter == 0) return "a bucket of width 0";
    if (auto problem = check_use(program, one.value, ResultType::Integer)) return problem;
  }
  return std::nullopt;
}

// Whether the op's text can be a key. A symbol's text cannot: it is made when the record is read.
bool is_text_key(Op op) { return reads_text(op) || op == Op::ImmediateText || op == Op::Comm; }

Problem check_aggregate(const Program& program, const Aggregate& aggregate) {
  if (auto problem = check_index(aggregate.table, program.slots.size(), "slot")) return problem;
  if (program.slots[aggregate.table].kind != model::SlotKind::HitTable)
    return fmt::format("slot {} is no table", aggregate.table);
  if (aggregate.keys.empty()) return "it has no key";
  for (const Measured& key : aggregate.keys) {
    const bool is_text = key.value < program.values.size() && is_text_key(program.values[key.value].op);
    if (is_text && key == Measured{.value = key.value}) continue;
    if (key.kept != model::Kept::Sum) return "a key is no least and no greatest";
    if (auto problem = check_numbers(program, {key})) return problem;
  }
  if (key_words(program, aggregate) + 1 + aggregate.sums.size() > KEVT_HIT_SLOT_WORDS)
    return fmt::format("more than {} words", std::size_t{KEVT_HIT_SLOT_WORDS});
  if (auto problem = check_numbers(program, aggregate.sums)) return problem;
  return aggregate.condition ? check_condition(program, *aggregate.condition, 1) : std::nullopt;
}

Problem check_aggregates(const Program& program) {
  if (program.aggregates.empty()) return std::nullopt;
  if (program.aggregates.size() > model::kMaxHitHistograms)
    return fmt::format("more than {} aggregates", model::kMaxHitHistograms);
  if (program.sinks.size() != 1 || program.sinks.front().condition) return "aggregates take one sink without condition";
  if (!program.actions.empty() || !program.gates.empty() || program.injects)
    return "aggregates stand without actions, gates and injection";
  std::set<std::uint32_t> tables;
  for (std::size_t i = 0; i < program.aggregates.size(); ++i) {
    if (auto problem = check_aggregate(program, program.aggregates[i]))
      return fmt::format("aggregate {}: {}", i, *problem);
    if (!tables.insert(program.aggregates[i].table).second)
      return fmt::format("aggregate {}: its table is another's", i);
  }
  return std::nullopt;
}

Problem check_sinks(const Program& program) {
  if (program.injects && (program.probe_kind != model::ProbeKind::Entry || program.sinks.size() != 1))
    return "only an entry program with one sink injects";
  std::set<std::uint32_t> instances;
  for (const InstanceSink& sink : program.sinks) {
    if (!instances.insert(sink.instance).second) return fmt::format("sink {}: occurs twice", sink.instance);
    if (!sink.condition) continue;
    if (auto problem = check_condition(program, *sink.condition, 1))
      return fmt::format("sink {}: {}", sink.instance, *problem);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> verify(const Program& program) {
  if (program.probe_kind > model::ProbeKind::Record) return "probe point does not exist";
  if (auto problem = check_tables(program)) return problem;
  for (std::size_t i = 0; i < program.values.size(); ++i)
    if (auto problem = check_value(program, static_cast<ValueId>(i))) return fmt::format("v{}: {}", i, *problem);
  if (entry_arguments(program).size() > kMaxEntryArguments)
    return fmt::format("more than {} arguments of the entry", kMaxEntryArguments);
  if (auto problem = check_stores(program)) return problem;
  if (auto problem = check_switches(program)) return problem;
  if (auto problem = check_aggregates(program)) return problem;
  return check_sinks(program);
}

}  // namespace kevt::ir

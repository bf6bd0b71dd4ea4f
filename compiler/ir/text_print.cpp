// Fetch IR as text: one line per slot, text, value, store, action, gate, aggregate and sink, in that order.
//
//   program entry fixed 24
//   slot 0 = symbol "jiffies"+0
//   text 0 = "none"
//   v0 = reg di
//   v1 = load u4 v0+16
//   v2 = narrow s4 v1
//   v3 = string v0+0
//   store int4 v2 @16
//   store string v3 @20
//   sink 0 when (v2 s> 2 and not v3 ~ glob "a*")
//
// `aggregate 1 by v0, v2 log2 0 sum v1 bucket 10 when v2 s> 2` counts into the table of `slot 1 = hit_table ""+0`.
// A word that hits share is `slot 1 = word ""+7`; `action 1 := 0 left 2 when v2 s> 2` changes it, `gate 1` asks it.
// Arrays: `store int2[4] v0+8 @16`, `store int2[4] v0+8 bits 3:5 @16`, `store string[2] v0+0 @24`. Of user memory
// alone: `load u8 v0+16 user`, `store int2[4] v0+8 user @16`; `store ustring[2] v0+0 user @24`, pointers and strings.
// Counted arrays: `store int4[64] v0+0 of v3 @16`; `store int4[64] v0+0 to v3 @16` where v3 is the address behind them.
// Everything a verified Program holds is printed; what it cannot hold (members without use) is not.
#include <fmt/format.h>

#include "compiler/ir/text.h"
#include "compiler/ir/text_names.h"

namespace kevt::ir {

namespace {

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (byte < 0x20 || byte >= 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out + '"';
}

std::string place(ValueId value, std::int64_t offset) { return fmt::format("v{}{:+}", value, offset); }

std::string place(ValueId value, std::int64_t offset, bool from_user) {
  return place(value, offset) + (from_user ? " user" : "");
}

std::string slot_text(const model::SlotSource& slot) {
  return fmt::format("{} {}{:+}", kSlotWords.at(static_cast<std::size_t>(slot.kind)), in_quotes(slot.name),
                     slot.addend);
}

std::string value_text(const Value& value) {
  const OpRow& op = row_of(value.op);
  switch (op.operands) {
    case Operands::None:
      return std::string(op.text);
    case Operands::Register:
      return fmt::format("{} {}", op.text, kRegisterWords.at(static_cast<std::size_t>(value.imm) / 8));
    case Operands::Number:
      return fmt::format("{} {}", op.text, value.imm);
    case Operands::Operand:
      return fmt::format("{} v{}", op.text, value.a);
    case Operands::Place:
      return fmt::format("{} {}", op.text, place(value.a, value.imm, value.from_user));
    case Operands::SizedPlace:
      return fmt::format("{} u{} {}", op.text, value.bytes, place(value.a, value.imm, value.from_user));
    case Operands::CountedPlace:
      return fmt::format("{} {} of v{}", op.text, place(value.a, value.imm, value.from_user), value.b);
    case Operands::BitRange:
      return fmt::format("{} {}:{} v{}", op.text, value.shift, value.width, value.a);
    case Operands::Width:
      return fmt::format("{} {}{} v{}", op.text, value.is_signed ? 's' : 'u', value.bytes, value.a);
  }
  return std::string(op.text);
}

std::string store_text(const Store& store) {
  switch (store.kind) {
    case StoreKind::Integer:
      return fmt::format("int{} v{} @{}", store.bytes, store.value, store.offset);
    case StoreKind::Text:
      return fmt::format("string v{} @{}", store.value, store.offset);
    case StoreKind::IntegerArray: {
      const std::string bits = store.width > 0 ? fmt::format(" bits {}:{}", store.shift, store.width) : "";
      const std::string from = place(store.value, store.imm, store.from_user);
      return fmt::format("int{}[{}] {}{} @{}", store.bytes, store.count, from, bits, store.offset);
    }
    case StoreKind::CountedArray:
      return fmt::format("int{}[{}] {} {} v{} @{}", store.bytes, store.count,
                         place(store.value, store.imm, store.from_user), store.length_is_end ? "to" : "of",
                         store.length, store.offset);
    case StoreKind::TextArray:
      return fmt::format("{}string[{}] {} @{}", store.texts_from_user ? "u" : "", store.count,
                         place(store.value, store.imm, store.from_user), store.offset);
  }
  return "";
}

void print_condition(const Condition& condition, std::string& out);

void print_children(const Condition& condition, std::string_view between, std::string& out) {
  out += '(';
  for (std::size_t i = 0; i < condition.children.size(); ++i) {
    if (i > 0) out += between;
    print_condition(condition.children[i], out);
  }
  out += ')';
}

std::string compare_text(const Condition& condition) {
  const std::string_view op = kCompareWords.at(static_cast<std::size_t>(condition.op));
  if (condition.is_signed)
    return fmt::format("v{} s{} {}", condition.value, op, static_cast<std::int64_t>(condition.constant));
  return fmt::format("v{} u{} {}", condition.value, op, condition.constant);
}

void print_condition(const Condition& condition, std::string& out) {
  switch (condition.kind) {
    case ConditionKind::Never:
      out += "never";
      break;
    case ConditionKind::And:
      print_children(condition, " and ", out);
      break;
    case ConditionKind::Or:
      print_children(condition, " or ", out);
      break;
    case ConditionKind::Not:
      out += "not ";
      print_condition(condition.children.at(0), out);
      break;
    case ConditionKind::Compare:
      out += compare_text(condition);
      break;
    case ConditionKind::MatchText:
      out += fmt::format("v{} {} {} {}", condition.value, condition.negated ? "!~" : "~",
                         kGlobWords.at(static_cast<std::size_t>(condition.glob)), in_quotes(condition.text));
      break;
  }
}

std::string gate_text(const Gate& gate) {
  const std::string until = gate.early_while ? fmt::format(" while {}", *gate.early_while) : "";
  return fmt::format("gate {}{}{}\n", gate.word, gate.early ? " early" : "", until);
}

std::string numbers_text(const std::vector<Measured>& numbers) {
  std::string out;
  for (const Measured& one : numbers) {
    out += fmt::format("{} v{}", out.empty() ? "" : ",", one.value);
    if (one.kept != model::Kept::Sum) out += fmt::format(" {}", kKeptWords.at(static_cast<std::size_t>(one.kept)));
    if (one.measure == model::HitMeasure::Itself) continue;
    out += fmt::format(" {}", kMeasureWords.at(static_cast<std::size_t>(one.measure)));
    if (takes_parameter(one.measure)) out += fmt::format(" {}", one.parameter);
  }
  return out;
}

std::string aggregate_text(const Aggregate& aggregate) {
  std::string out = fmt::format("aggregate {} by{}", aggregate.table, numbers_text(aggregate.keys));
  if (!aggregate.sums.empty()) out += " sum" + numbers_text(aggregate.sums);
  return out;
}

// The end of a line.
void print_when(const std::optional<Condition>& condition, std::string& out) {
  if (condition) {
    out += " when ";
    print_condition(*condition, out);
  }
  out += '\n';
}

}  // namespace

std::string print(const Program& program) {
  constexpr const char* kPoints[] = {"entry", "return", "record"};
  const char* point = kPoints[static_cast<std::size_t>(program.probe_kind)];
  std::string out = fmt::format("program {} fixed {}{}{}\n", point, program.fixed_size,
                                program.injects ? " injects" : "", program.takes_stack ? " stack" : "");
  for (std::size_t i = 0; i < program.slots.size(); ++i)
    out += fmt::format("slot {} = {}\n", i, slot_text(program.slots[i]));
  for (std::size_t i = 0; i < program.texts.size(); ++i)
    out += fmt::format("text {} = {}\n", i, in_quotes(program.texts[i]));
  for (std::size_t i = 0; i < program.values.size(); ++i)
    out += fmt::format("v{} = {}\n", i, value_text(program.values[i]));
  for (const Store& store : program.stores) out += fmt::format("store {}\n", store_text(store));
  for (const Action& action : program.actions) {
    out += fmt::format("action {} := {}", action.word, action.on ? 1 : 0);
    if (action.late) out += " late";
    if (action.left) out += fmt::format(" left {}", *action.left);
    print_when(action.condition, out);
  }
  for (const Gate& gate : program.gates) out += gate_text(gate);
  for (const Aggregate& aggregate : program.aggregates) {
    out += aggregate_text(aggregate);
    print_when(aggregate.condition, out);
  }
  for (const InstanceSink& sink : program.sinks) {
    out += fmt::format("sink {}", sink.instance);
    print_when(sink.condition, out);
  }
  return out;
}

}  // namespace kevt::ir

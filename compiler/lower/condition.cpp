// A filter reads the very values that are recorded, so comparing costs no second fetch.
//
//   fd > 2 && name ~ "*.so"     (v1 s> 2 and v3 ~ suffix ".so")
//
// Constants are cut to the field's size first, as the kernel casts them: `a == 256` on a u8 is `a == 0`.
// An array of up to 8 bytes is one little-endian integer to the kernel. It is compared item by item
// from the top: equal if all items are equal, less if the first item that differs is less.
// It mirrors DEFINE_COMPARISON_PRED and its like in kernel/trace/trace_events_filter.c (6.1).
#include "compiler/lower/condition.h"

#include "common/assert.h"
#include "compiler/model/floating.h"

namespace kevt::lower {

using ir::Condition;
using ir::ConditionKind;
using model::CompareOp;
using model::FilterOperand;
using model::FilterPredicate;

namespace {

Condition never() { return {}; }

Condition tree(ConditionKind kind, std::vector<Condition> children) {
  if (children.size() == 1 && kind != ConditionKind::Not) return std::move(children.front());
  Condition condition;
  condition.kind = kind;
  condition.children = std::move(children);
  return condition;
}

Condition compare(ir::ValueId value, CompareOp op, bool is_signed, std::uint64_t constant) {
  Condition condition;
  condition.kind = ConditionKind::Compare;
  condition.value = value;
  condition.op = op;
  condition.is_signed = is_signed;
  condition.constant = constant;
  return condition;
}

Condition match(ir::ValueId value, const FilterPredicate& predicate) {
  Condition condition;
  condition.kind = ConditionKind::MatchText;
  condition.value = value;
  condition.glob = predicate.glob;
  condition.negated = predicate.negated;
  condition.text = predicate.text;
  return condition;
}

// A comparison with NaN never holds, except `!=`. NaN's order is below all numbers, so `<` and `<=` need a second
// condition.
Condition compare_float(ir::ValueId value, const FilterPredicate& predicate, ValueTable& values) {
  const ir::ValueId order = values.float_order(value, predicate.bytes);
  Condition condition = compare(order, predicate.op, true, model::order_of_float(predicate.value, predicate.bytes));
  const bool is_below = predicate.op == CompareOp::Less || predicate.op == CompareOp::LessEqual;
  if (!is_below) return condition;
  return tree(ConditionKind::And, {compare(order, CompareOp::Greater, true, model::kOrderOfNan), std::move(condition)});
}

Condition compare_integer(ir::ValueId value, const FilterPredicate& predicate, ValueTable& values) {
  if (predicate.op == CompareOp::Glob) return never();
  const std::uint64_t constant = narrow_constant(predicate.value, predicate.bytes, predicate.is_signed);
  return compare(values.narrow(value, predicate.bytes, predicate.is_signed), predicate.op, predicate.is_signed,
                 constant);
}

// Compares a packed array with a constant, which is cut into items like the array.
class PackedCompare {
 public:
  PackedCompare(const PackedField& field, const FilterPredicate& predicate, ValueTable& values)
      : field_(field), predicate_(predicate), values_(values) {}

  Condition condition() const {
    switch (predicate_.op) {
      case CompareOp::Equal:
        return every(CompareOp::Equal, ConditionKind::And);
      case CompareOp::NotEqual:
        return every(CompareOp::NotEqual, ConditionKind::Or);
      case CompareOp::BitAnd:
        return every(CompareOp::BitAnd, ConditionKind::Or);
      case CompareOp::Less:
      case CompareOp::LessEqual:
        return ordered(field_.items.size() - 1, CompareOp::Less);
      case CompareOp::Greater:
      case CompareOp::GreaterEqual:
        return ordered(field_.items.size() - 1, CompareOp::Greater);
      case CompareOp::Glob:
        return never();
    }
    return never();
  }

 private:
  // Compares one item; only the top item has a sign.
  Condition item(std::size_t index, CompareOp op) const {
    const bool is_signed = predicate_.is_signed && index + 1 == field_.items.size();
    const std::uint64_t part = predicate_.value >> (8 * field_.item_bytes * index);
    return compare(values_.narrow(field_.items[index], field_.item_bytes, is_signed), op, is_signed,
                   narrow_constant(part, field_.item_bytes, is_signed));
  }

  Condition every(CompareOp op, ConditionKind kind) const {
    std::vector<Condition> items;
    for (std::size_t i = 0; i < field_.items.size(); ++i) items.push_back(item(i, op));
    return tree(kind, std::move(items));
  }

  // Compares items [0, top] as one number: the top item decides, or it is equal and the rest decides.
  Condition ordered(std::size_t top, CompareOp strict) const {
    if (top == 0) return item(0, predicate_.op);
    Condition rest = tree(ConditionKind::And, {item(top, CompareOp::Equal), ordered(top - 1, strict)});
    return tree(ConditionKind::Or, {item(top, strict), std::move(rest)});
  }

  const PackedField& field_;
  const FilterPredicate& predicate_;
  ValueTable& values_;
};

struct FieldLowering {
  const FilterPredicate& predicate;
  ValueTable& values;

  Condition operator()(const IntegerField& field) const {
    if (predicate.is_string || predicate.bytes == 0) return never();
    if (predicate.is_float) return compare_float(field.value, predicate, values);
    return compare_integer(field.value, predicate, values);
  }
  Condition operator()(const TextField& field) const {
    return predicate.is_string ? match(field.value, predicate) : never();
  }
  Condition operator()(const PackedField& field) const {
    const bool whole = predicate.bytes == field.items.size() * field.item_bytes;
    return predicate.is_string || !whole ? never() : PackedCompare(field, predicate, values).condition();
  }
  Condition operator()(const OpaqueField&) const { return never(); }
};

Condition lower_common(ir::ValueId value, const FilterPredicate& predicate, ValueTable& values) {
  if (predicate.is_string || predicate.bytes == 0) return never();
  return compare_integer(value, predicate, values);
}

Condition lower_predicate(const FilterPredicate& predicate, const std::vector<FieldValue>& fields, ValueTable& values) {
  switch (predicate.source) {
    case FilterOperand::RecordField:
      return std::visit(FieldLowering{predicate, values}, fields.at(predicate.field));
    case FilterOperand::CommonType:
      return lower_common(values.plain(ir::Op::EventId), predicate, values);
    case FilterOperand::CommonFlags:
    case FilterOperand::CommonPreemptCount:
      return lower_common(values.immediate(0), predicate, values);
    case FilterOperand::CommonPid:
      return lower_common(values.plain(ir::Op::Pid), predicate, values);
    case FilterOperand::Cpu:
      return lower_common(values.plain(ir::Op::Cpu), predicate, values);
    case FilterOperand::Comm:
      return predicate.is_string ? match(values.plain(ir::Op::Comm), predicate) : never();
    case FilterOperand::Unbound:
      break;
  }
  KEVT_ASSERT(!"a predicate that sema has not bound");
  return never();
}

}  // namespace

Condition lower_condition(const model::FilterExpr& filter, const std::vector<FieldValue>& fields, ValueTable& values) {
  if (filter.node == model::FilterNode::Predicate) return lower_predicate(filter.predicate, fields, values);
  std::vector<Condition> children;
  for (const model::FilterExpr& child : filter.children) children.push_back(lower_condition(child, fields, values));
  switch (filter.node) {
    case model::FilterNode::And:
      return tree(ConditionKind::And, std::move(children));
    case model::FilterNode::Or:
      return tree(ConditionKind::Or, std::move(children));
    case model::FilterNode::Not:
      return tree(ConditionKind::Not, std::move(children));
    case model::FilterNode::Predicate:
      break;
  }
  return never();
}

}  // namespace kevt::lower

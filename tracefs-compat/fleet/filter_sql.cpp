// Conditions may be too wide, never too narrow: so `&&` drops what it cannot say, `||` says all or nothing, and `!`
// only what is exact. A text that could not be read is NULL in the table and empty for the kernel's filter.
#include "tracefs-compat/fleet/filter_sql.h"

#include <fmt/format.h>

#include "tracefs-compat/fleet/server.h"
#include "tracefs-compat/fleet/shape.h"

namespace kevt::fleet {
namespace {

using model::CompareOp;
using model::FilterExpr;
using model::FilterNode;
using model::FilterOperand;
using model::FilterPredicate;
using record::FieldKind;

SqlCondition everything() { return {}; }
SqlCondition exactly(std::string text) { return {std::move(text), true}; }

const char* operator_of(CompareOp op) {
  switch (op) {
    case CompareOp::Equal:
      return "=";
    case CompareOp::NotEqual:
      return "!=";
    case CompareOp::Less:
      return "<";
    case CompareOp::LessEqual:
      return "<=";
    case CompareOp::Greater:
      return ">";
    case CompareOp::GreaterEqual:
      return ">=";
    case CompareOp::BitAnd:
    case CompareOp::Glob:
      return nullptr;
  }
  return nullptr;
}

// Whether a field of so many bytes may have the number.
bool fits(const FilterPredicate& p) {
  if (p.bytes >= 8) return true;
  const std::uint32_t unused = 64 - 8 * p.bytes;
  const auto number = static_cast<std::int64_t>(p.value << unused);
  return p.is_signed ? number >> unused == static_cast<std::int64_t>(p.value) : p.value << unused >> unused == p.value;
}

SqlCondition number_condition(const FilterPredicate& p, const std::string& column) {
  if (p.is_float || p.bytes == 0) return everything();
  if (p.op == CompareOp::BitAnd) return {fmt::format("bitAnd(toUInt64({}), {}) != 0", column, p.value), fits(p)};
  const char* const op = operator_of(p.op);
  if (op == nullptr) return everything();
  return {p.is_signed ? fmt::format("{} {} {}", column, op, static_cast<std::int64_t>(p.value))
                      : fmt::format("{} {} {}", column, op, p.value),
          fits(p)};
}

// Functions that compare bytes: LIKE knows characters, and texts need not be UTF-8.
SqlCondition text_condition(const FilterPredicate& p, const std::string& column) {
  const char* const is_not = p.negated ? "NOT " : "";
  switch (p.glob) {
    case model::GlobKind::Full:
      return exactly(fmt::format("{} {} {}", column, p.negated ? "!=" : "=", sql_text(p.text)));
    case model::GlobKind::Prefix:
      return exactly(fmt::format("{}startsWith({}, {})", is_not, column, sql_text(p.text)));
    case model::GlobKind::Suffix:
      return exactly(fmt::format("{}endsWith({}, {})", is_not, column, sql_text(p.text)));
    case model::GlobKind::Middle:
      return exactly(fmt::format("{}position({}, {}) != 0", is_not, column, sql_text(p.text)));
    case model::GlobKind::Glob: {
      const std::string begin = p.text.substr(0, p.text.find_first_of("*?[\\"));
      if (begin.empty() || p.negated) return everything();
      return {fmt::format("startsWith({}, {})", column, sql_text(begin)), false};
    }
  }
  return everything();
}

SqlCondition field_condition(const FilterPredicate& p, const record::EventFormat& event) {
  if (p.field >= event.fields.size()) return everything();
  const record::Field& field = event.fields[p.field];
  const std::string column = column_of(field);
  if (!p.is_string) {
    const bool is_plain = field.kind == FieldKind::Number && !field.is_float && field.is_signed == p.is_signed &&
                          p.modifier == model::FieldModifier::None;
    return is_plain ? number_condition(p, column) : everything();
  }
  if (field.kind == FieldKind::Text)  // texts as long as the array are compared in the kernel's own way
    return p.text.size() < field.size ? text_condition(p, column) : everything();
  return field.kind == FieldKind::DynamicText ? text_condition(p, fmt::format("ifNull({}, '')", column)) : everything();
}

SqlCondition predicate_condition(const FilterPredicate& p, const record::EventFormat& event) {
  constexpr std::size_t kCommBytes = 15;
  switch (p.source) {
    case FilterOperand::RecordField:
      return field_condition(p, event);
    case FilterOperand::CommonPid:
      return number_condition(p, "tid");
    case FilterOperand::Cpu:
      return p.operand_cpus ? everything() : number_condition(p, "cpu");
    case FilterOperand::CommonFlags:
      return number_condition(p, "flags");
    case FilterOperand::CommonPreemptCount:
      return number_condition(p, "preempt");
    case FilterOperand::Comm:
      return p.is_string && p.text.size() < kCommBytes ? text_condition(p, "comm") : everything();
    case FilterOperand::CommonType:  // a number of the host's own
    case FilterOperand::Unbound:
      return everything();
  }
  return everything();
}

}  // namespace

SqlCondition sql_of(const FilterExpr& filter, const record::EventFormat& event) {
  if (filter.node == FilterNode::Predicate) return predicate_condition(filter.predicate, event);
  if (filter.node == FilterNode::Not) {
    const SqlCondition child = sql_of(filter.children.front(), event);
    return child.is_exact ? exactly("NOT (" + child.text + ")") : everything();
  }
  const bool is_and = filter.node == FilterNode::And;
  SqlCondition out{.text = "", .is_exact = true};
  for (const FilterExpr& child : filter.children) {
    const SqlCondition part = sql_of(child, event);
    out.is_exact = out.is_exact && part.is_exact;
    const bool says_nothing = part.text == everything().text;
    if (says_nothing && !is_and) return everything();
    if (says_nothing) continue;
    out.text += (out.text.empty() ? "(" : is_and ? " AND " : " OR ") + part.text;
  }
  if (out.text.empty()) return everything();
  out.text += ")";
  return out;
}

}  // namespace kevt::fleet

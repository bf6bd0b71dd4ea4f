// Conditions may be too wide, never too narrow: so `&&` drops what it cannot say, `||` and `!` say all or nothing. A
// text that could not be read is NULL in the table and empty for the kernel; it always comes.
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

constexpr const char* kEverything = "1";

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

std::string number_condition(const FilterPredicate& p, const std::string& column) {
  if (p.is_float || p.bytes == 0) return kEverything;
  if (p.op == CompareOp::BitAnd) return fmt::format("bitAnd(toUInt64({}), {}) != 0", column, p.value);
  const char* const op = operator_of(p.op);
  if (op == nullptr) return kEverything;
  return p.is_signed ? fmt::format("{} {} {}", column, op, static_cast<std::int64_t>(p.value))
                     : fmt::format("{} {} {}", column, op, p.value);
}

// Functions that compare bytes: LIKE knows characters, and texts need not be UTF-8.
std::string text_condition(const FilterPredicate& p, const std::string& column) {
  const char* const is_not = p.negated ? "NOT " : "";
  switch (p.glob) {
    case model::GlobKind::Full:
      return fmt::format("{} {} {}", column, p.negated ? "!=" : "=", sql_text(p.text));
    case model::GlobKind::Prefix:
      return fmt::format("{}startsWith({}, {})", is_not, column, sql_text(p.text));
    case model::GlobKind::Suffix:
      return fmt::format("{}endsWith({}, {})", is_not, column, sql_text(p.text));
    case model::GlobKind::Middle:
      return fmt::format("{}position({}, {}) != 0", is_not, column, sql_text(p.text));
    case model::GlobKind::Glob: {
      const std::string begin = p.text.substr(0, p.text.find_first_of("*?[\\"));
      return begin.empty() || p.negated ? kEverything : fmt::format("startsWith({}, {})", column, sql_text(begin));
    }
  }
  return kEverything;
}

std::string field_condition(const FilterPredicate& p, const record::EventFormat& event) {
  if (p.field >= event.fields.size()) return kEverything;
  const record::Field& field = event.fields[p.field];
  const std::string column = column_of(field);
  if (!p.is_string) {
    const bool is_plain = field.kind == FieldKind::Number && !field.is_float && field.is_signed == p.is_signed &&
                          p.modifier == model::FieldModifier::None;
    return is_plain ? number_condition(p, column) : kEverything;
  }
  if (field.kind == FieldKind::Text)  // texts as long as the array are compared in the kernel's own way
    return p.text.size() < field.size ? text_condition(p, column) : kEverything;
  if (field.kind != FieldKind::DynamicText) return kEverything;
  const std::string condition = text_condition(p, column);
  return condition == kEverything ? condition : fmt::format("({} OR isNull({}))", condition, column);
}

std::string predicate_condition(const FilterPredicate& p, const record::EventFormat& event) {
  constexpr std::size_t kCommBytes = 15;
  switch (p.source) {
    case FilterOperand::RecordField:
      return field_condition(p, event);
    case FilterOperand::CommonPid:
      return number_condition(p, "tid");
    case FilterOperand::Cpu:
      return p.operand_cpus ? kEverything : number_condition(p, "cpu");
    case FilterOperand::CommonFlags:
      return number_condition(p, "flags");
    case FilterOperand::CommonPreemptCount:
      return number_condition(p, "preempt");
    case FilterOperand::Comm:
      return p.is_string && p.text.size() < kCommBytes ? text_condition(p, "comm") : kEverything;
    case FilterOperand::CommonType:  // a number of the host's own
    case FilterOperand::Unbound:
      return kEverything;
  }
  return kEverything;
}

}  // namespace

std::string sql_of(const FilterExpr& filter, const record::EventFormat& event) {
  if (filter.node == FilterNode::Predicate) return predicate_condition(filter.predicate, event);
  if (filter.node == FilterNode::Not) return kEverything;
  const bool is_and = filter.node == FilterNode::And;
  std::string out;
  for (const FilterExpr& child : filter.children) {
    const std::string part = sql_of(child, event);
    if (part == kEverything && !is_and) return kEverything;
    if (part == kEverything) continue;
    out += (out.empty() ? "(" : is_and ? " AND " : " OR ") + part;
  }
  return out.empty() ? kEverything : out + ")";
}

}  // namespace kevt::fleet

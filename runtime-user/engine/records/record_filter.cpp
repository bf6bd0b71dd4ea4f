// A predicate reads its operand from the record as `format` describes it, and compares:
//
//   fd > 2       4 bytes at 16, signed           name ~ "a*"    the bytes its data_loc word points to
//   prev_comm == "sh"                                           the 16 bytes at 8, up to a NUL
//
// A string that could not be read (length 0) is compared as the empty text, as the extractor does. Sizes other than 1,
// 2, 4 and 8 never hold. Mirrors filter_pred_* of kernel/trace/trace_events_filter.c (6.1).
#include "runtime-user/engine/records/record_filter.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "compiler/ir/interpreter.h"
#include "compiler/model/floating.h"
#include "compiler/model/record_view.h"

namespace kevt::engine {

namespace {

using model::CompareOp;
using model::FilterOperand;
using model::FilterPredicate;

std::uint64_t extended(std::uint64_t value, const FilterPredicate& predicate) {
  if (!predicate.is_signed || predicate.bytes == 0) return value;
  const unsigned shift = 64 - 8 * predicate.bytes;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << shift) >> shift);
}

template <class T>
bool compare(CompareOp op, T left, T right) {
  switch (op) {
    case CompareOp::Equal:
      return left == right;
    case CompareOp::NotEqual:
      return left != right;
    case CompareOp::Less:
      return left < right;
    case CompareOp::LessEqual:
      return left <= right;
    case CompareOp::Greater:
      return left > right;
    case CompareOp::GreaterEqual:
      return left >= right;
    case CompareOp::BitAnd:
      if constexpr (std::is_integral_v<T>) return (left & right) != 0;
      return false;  // sema: not of floating point numbers
    case CompareOp::Glob:
      return false;
  }
  std::unreachable();
}

bool compare_number(const FilterPredicate& predicate, std::uint64_t value) {
  if (predicate.is_float)
    return compare(predicate.op, model::float_value(value, predicate.bytes),
                   model::float_value(predicate.value, predicate.bytes));
  if (predicate.is_signed)
    return compare(predicate.op, static_cast<std::int64_t>(extended(value, predicate)),
                   static_cast<std::int64_t>(predicate.value));
  return compare(predicate.op, value, predicate.value);
}

// Up to a NUL; "" where it does not begin in the record.
std::string text_at(std::span<const std::uint8_t> record, std::size_t offset, std::size_t length) {
  if (offset >= record.size()) return "";
  const char* text = reinterpret_cast<const char*>(record.data()) + offset;
  return std::string(text, strnlen(text, std::min(length, record.size() - offset)));
}

std::string text_of(const model::RecordField& field, const RecordContext& context) {
  if (model::RecordLayout::is_fixed_text(field)) return text_at(context.record, field.offset, field.size);
  const auto word = static_cast<std::uint32_t>(model::number_at(context.record, field.offset, 4));
  const std::uint32_t offset = field.located_from + (word & 0xffff), length = word >> 16;
  if (offset > context.record.size() || length > context.record.size() - offset) return "";
  return text_at(context.record, offset, length);
}

bool compare_text(const FilterPredicate& predicate, const std::string& text) {
  return ir::match_text(predicate.glob, predicate.text, text) != predicate.negated;
}

bool holds(const FilterPredicate& p, const model::RecordLayout& layout, const RecordContext& context) {
  switch (p.source) {
    case FilterOperand::Unbound:
      return false;
    case FilterOperand::RecordField: {
      if (p.field >= layout.fields.size()) return false;
      const model::RecordField& field = layout.fields[p.field];
      if (p.is_string) return compare_text(p, text_of(field, context));
      return p.bytes != 0 && compare_number(p, model::number_at(context.record, field.offset, p.bytes));
    }
    case FilterOperand::CommonType:
      return compare_number(p, model::number_at(context.record, 0, 2));
    case FilterOperand::CommonFlags:
      return compare_number(p, model::number_at(context.record, 2, 1));
    case FilterOperand::CommonPreemptCount:
      return compare_number(p, model::number_at(context.record, 3, 1));
    case FilterOperand::CommonPid:
      return compare_number(p, model::number_at(context.record, 4, 4));
    case FilterOperand::Cpu:
      return compare_number(p, context.cpu);
    case FilterOperand::Comm:
      return compare_text(p, std::string(context.comm));
  }
  std::unreachable();
}

}  // namespace

bool holds(const model::FilterExpr& filter, const model::RecordLayout& layout, const RecordContext& context) {
  const auto child = [&](const model::FilterExpr& one) { return holds(one, layout, context); };
  switch (filter.node) {
    case model::FilterNode::And:
      return std::ranges::all_of(filter.children, child);
    case model::FilterNode::Or:
      return std::ranges::any_of(filter.children, child);
    case model::FilterNode::Not:
      return !child(filter.children.front());
    case model::FilterNode::Predicate:
      return holds(filter.predicate, layout, context);
  }
  std::unreachable();
}

}  // namespace kevt::engine

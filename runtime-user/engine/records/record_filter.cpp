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
#include <string_view>
#include <utility>

#include "compiler/ir/predicate.h"
#include "compiler/model/record_view.h"

namespace kevt::engine {

namespace {

using model::FilterOperand;
using model::FilterPredicate;

// The text up to a NUL; "" if it does not begin in the record.
std::string_view text_at(std::span<const std::uint8_t> record, std::size_t offset, std::size_t length) {
  if (offset >= record.size()) return "";
  const char* text = reinterpret_cast<const char*>(record.data()) + offset;
  return {text, strnlen(text, std::min(length, record.size() - offset))};
}

std::string_view text_of(const model::RecordField& field, const RecordContext& context) {
  if (model::RecordLayout::is_fixed_text(field)) return text_at(context.record, field.offset, field.size);
  const auto word = static_cast<std::uint32_t>(model::number_at(context.record, field.offset, 4));
  const std::uint32_t offset = field.located_from + (word & 0xffff), length = word >> 16;
  if (offset > context.record.size() || length > context.record.size() - offset) return "";
  return text_at(context.record, offset, length);
}

bool holds(const FilterPredicate& p, const model::RecordLayout& layout, const RecordContext& context) {
  switch (p.source) {
    case FilterOperand::Unbound:
      return false;
    case FilterOperand::RecordField: {
      if (p.field >= layout.fields.size()) return false;
      const model::RecordField& field = layout.fields[p.field];
      if (p.is_string) return ir::accepts_text(p, text_of(field, context));
      return ir::accepts_number(p, model::number_at(context.record, field.offset, p.bytes));
    }
    case FilterOperand::CommonType:
      return ir::accepts_number(p, model::number_at(context.record, 0, 2));
    case FilterOperand::CommonFlags:
      return ir::accepts_number(p, model::number_at(context.record, 2, 1));
    case FilterOperand::CommonPreemptCount:
      return ir::accepts_number(p, model::number_at(context.record, 3, 1));
    case FilterOperand::CommonPid:
      return ir::accepts_number(p, model::number_at(context.record, 4, 4));
    case FilterOperand::Cpu:
      return ir::accepts_number(p, context.cpu);
    case FilterOperand::Comm:
      return ir::accepts_text(p, context.comm);
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

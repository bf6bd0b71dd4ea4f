// A filter of the event language over records of a file.
//
//   open: path ~ "/etc/*" && (fd > 2 || common_pid == 7)
//
// Parsing, binding and every message are the compiler's (sema::compile_filter), so a field that is not there is an
// error with a caret, as when the filter is set on a probe. Idea of the run: the tree is laid out as steps with two
// jumps each; a record runs down them without recursion. What cannot be read of a record compares as 0 or "".
#include "tracefs-compat/record/record_filter.h"

#include <algorithm>
#include <cstring>

#include "compiler/ir/interpreter.h"
#include "compiler/ir/predicate.h"
#include "compiler/sema/filter.h"

namespace kevt::record {
namespace {

model::TypeSpec type_of(const Field& field) {
  model::TypeSpec type{.written = true, .text = field.type};
  type.bytes = static_cast<std::uint8_t>(std::min<std::uint32_t>(field.size, 255));
  if (field.is_text())
    type.kind = model::TypeKind::String;
  else
    type.kind = field.is_signed ? model::TypeKind::Signed : model::TypeKind::Unsigned;
  if (field.is_hex) type.kind = model::TypeKind::HexBytes;
  if (field.is_float) {
    type.kind = model::TypeKind::Float;
    type.bytes = static_cast<std::uint8_t>(field.item_bytes);
    if (field.items() > 1) type.array_count = field.items();
  }
  if (field.kind == FieldKind::Numbers) type.text.clear();
  type.is_counted = field.kind == FieldKind::DynamicNumbers || field.kind == FieldKind::DynamicBytes;
  return type;
}

// As the filter of a probe sees it: the first byte is the lowest.
std::uint64_t hex_number(const Field& field, std::span<const std::uint8_t> record) {
  std::uint64_t number = 0;
  const auto bytes = dynamic_bytes(field, record);
  std::memcpy(&number, bytes.data(), std::min(bytes.size(), sizeof number));
  return number;
}

std::uint64_t generic_number(const model::FilterPredicate& predicate, const TypedRecord& record) {
  switch (predicate.source) {
    case model::FilterOperand::CommonType:
      return record.event->id;
    case model::FilterOperand::CommonFlags:
      return record.flags();
    case model::FilterOperand::CommonPreemptCount:
      return record.preempt_count();
    case model::FilterOperand::CommonPid:
      return static_cast<std::uint64_t>(std::int64_t{record.pid});
    case model::FilterOperand::Cpu:
      return record.cpu;
    case model::FilterOperand::Comm:
    case model::FilterOperand::RecordField:
    case model::FilterOperand::Unbound:
      return 0;
  }
  return 0;
}

}  // namespace

model::RecordLayout layout_of(const EventFormat& event) {
  model::RecordLayout layout;
  layout.fixed_size = event.fixed_size();
  for (const Field& field : event.fields) {
    layout.fields.push_back({.role = model::FieldRole::Argument,
                             .name = field.name,
                             .type = type_of(field),
                             .offset = field.offset,
                             .size = field.size,
                             .is_signed = field.is_signed});
    layout.has_dynamic |= field.is_text() && field.kind != FieldKind::Text;
  }
  return layout;
}

BoundFilter::BoundFilter(const model::FilterExpr& filter, const EventFormat& event) : event_(event) {
  first_ = emit(filter, kHolds, kFails);
  is_of_task_ = std::ranges::all_of(steps_, [](const Step& step) {
    return step.predicate.source == model::FilterOperand::Comm ||
           step.predicate.source == model::FilterOperand::CommonPid;
  });
}

// Children are laid out from the last to the first: each knows where its successor begins.
std::uint32_t BoundFilter::emit(const model::FilterExpr& filter, std::uint32_t on_true, std::uint32_t on_false) {
  switch (filter.node) {
    case model::FilterNode::Predicate: {
      Step step{filter.predicate, nullptr, on_true, on_false};
      if (step.predicate.source == model::FilterOperand::RecordField) step.field = &event_.fields[step.predicate.field];
      steps_.push_back(std::move(step));
      return static_cast<std::uint32_t>(steps_.size() - 1);
    }
    case model::FilterNode::Not:
      return emit(filter.children.front(), on_false, on_true);
    case model::FilterNode::And:
      for (std::size_t i = filter.children.size(); i-- > 0;) on_true = emit(filter.children[i], on_true, on_false);
      return on_true;
    case model::FilterNode::Or:
      for (std::size_t i = filter.children.size(); i-- > 0;) on_false = emit(filter.children[i], on_true, on_false);
      return on_false;
  }
  return on_false;
}

bool BoundFilter::step_holds(const Step& step, const TypedRecord& record) {
  const model::FilterPredicate& p = step.predicate;
  if (p.is_string) {
    std::string_view text = record.comm;
    if (step.field) text = value_of(*step.field, record.bytes).text;
    return ir::accepts_text(p, text);
  }
  if (!step.field) return ir::accepts_number(p, generic_number(p, record));
  const bool is_hex = step.field->is_hex;
  return ir::accepts_number(
      p, is_hex ? hex_number(*step.field, record.bytes) : value_of(*step.field, record.bytes).number);
}

bool BoundFilter::holds(const TypedRecord& record) const {
  std::uint32_t at = first_;
  while (at < steps_.size()) at = step_holds(steps_[at], record) ? steps_[at].on_true : steps_[at].on_false;
  return at == kHolds;
}

bool is_named(const EventFormat& event, std::string_view glob) {
  const auto at = glob.find_first_of(":/");
  const auto fits = [](std::string_view pattern, const std::string& name) {
    return ir::match_text(model::GlobKind::Glob, std::string(pattern), name);
  };
  if (at == std::string_view::npos) return fits(glob, event.name);
  return fits(glob.substr(0, at), event.system) && fits(glob.substr(at + 1), event.name);
}

Result<std::optional<RecordFilters>> RecordFilters::compile(std::span<const FilterRequest> requests,
                                                            const EventFormats& formats, diag::Sink& sink,
                                                            std::size_t& mistaken) {
  RecordFilters made;
  made.keeps_all_ = requests.empty();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const FilterRequest& request = requests[i];
    bool any = false, bound = false;
    diag::Sink mistakes;
    for (const EventFormat& event : formats.all()) {
      if (!is_named(event, request.event)) continue;
      any = true;
      if (made.by_id_.size() <= event.id) made.by_id_.resize(event.id + 1);
      Event& kept = made.by_id_[event.id];
      if (request.expression.empty()) {
        kept.whole = bound = true;
        continue;
      }
      diag::Sink of_event;
      const auto filter = sema::compile_filter(request.expression, layout_of(event), of_event);
      if (filter && of_event.empty()) {
        kept.filters.emplace_back(*filter, event);
        kept.expressions.push_back(*filter);
        bound = true;
      } else if (mistakes.empty()) {
        for (const diag::Diagnostic& one : of_event.diagnostics()) mistakes.report(one);
      }
    }
    if (!any) return std::unexpected(Error("no event `" + request.event + "` in the recording"));
    if (bound) continue;  // `*: fd == 3` means the events that have such a field; so do several events of one name
    mistaken = i;
    for (const diag::Diagnostic& one : mistakes.diagnostics()) sink.report(one);
    return std::optional<RecordFilters>();
  }
  return std::optional(std::move(made));
}

RecordFilters::Kept RecordFilters::kept_of(const EventFormat& event) const {
  Kept made{.all = keeps_all_, .filters = {}};
  if (keeps_all_ || event.id >= by_id_.size()) return made;
  made.all = by_id_[event.id].whole;
  for (const model::FilterExpr& one : by_id_[event.id].expressions) made.filters.push_back(&one);
  return made;
}

bool RecordFilters::keeps(const TypedRecord& record) const {
  if (keeps_all_) return true;
  if (record.event->id >= by_id_.size()) return false;
  const Event& event = by_id_[record.event->id];
  return event.whole || std::ranges::any_of(event.filters, [&](const BoundFilter& one) { return one.holds(record); });
}

}  // namespace kevt::record

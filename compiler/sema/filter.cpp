// The problem: each predicate of a filter must name a field of the event, with an operator and a value
// that fit it; and the mistake reported must be the one the kernel would meet first.
//
// The idea: predicates are bound from left to right. Within one the kernel's order of questions is kept:
// is there such a field; quoted: operator, then field, then length; a number: field, operator, length,
// value. A syntax mistake counts only after all that stands left of it.
//
//   str < "a"     ILLEGAL_FIELD_OP    u32 == "1"   EXPECT_DIGIT    u8 == -1   ILLEGAL_INTVAL (u8 is unsigned)
//
// Numbers are cut to the field's size, as the kernel compares them: `u8 == 256` is `u8 == 0`. It does not
// evaluate filters. Mirrors parse_pred() of kernel/trace/trace_events_filter.c, 6.1.
#include "compiler/sema/filter.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "compiler/sema/filter_field.h"
#include "compiler/sema/filter_glob.h"
#include "compiler/sema/sema.h"
#include "grammar/parse_definition_text.h"
#include "grammar/parse_filter.h"

namespace kevt::sema {
namespace {

using diag::Kind;
using model::CompareOp;
using model::FilterExpr;
using model::FilterNode;
using model::FilterPredicate;

constexpr std::size_t kMaxText = 255;   // MAX_FILTER_STR_VAL less its NUL
constexpr std::size_t kMaxDigits = 23;  // of num_buf, less its NUL

// Binds the predicates of one filter; the first mistake is the kernel's.
class Binder {
 public:
  Binder(std::string_view text, const model::RecordLayout& layout, diag::Sink& sink)
      : text_(grammar::filter_command(text)), layout_(layout), sink_(sink) {}

  bool failed() const { return failed_; }
  void bind_all(FilterExpr& filter);
  void bind(FilterPredicate& predicate);
  // Looks only for the field of a predicate that is not whole.
  std::optional<FilterField> find(const FilterPredicate& predicate);
  void report(diag::Diagnostic diagnostic);

 private:
  void mistake(Kind kind, std::uint32_t offset, std::string help);
  void bind_text(FilterPredicate& predicate, const FilterField& field);
  void bind_number(FilterPredicate& predicate, const FilterField& field);

  std::string_view text_;
  const model::RecordLayout& layout_;
  diag::Sink& sink_;
  bool failed_ = false;
};

void Binder::report(diag::Diagnostic diagnostic) {
  diagnostic.logged = diagnostic.logged && !failed_;
  failed_ = true;
  sink_.report(std::move(diagnostic));
}

// The kernel counts these columns from the byte behind the one it means.
void Binder::mistake(Kind kind, std::uint32_t offset, std::string help) {
  diag::Diagnostic diagnostic{.kind = kind,
                              .location = diag::Location::Filter,
                              .command = std::string(text_),
                              .column = offset + 1,
                              .errno_value = EINVAL,
                              .detail = {},
                              .notes = {},
                              .fixits = {}};
  diagnostic.notes.push_back({std::move(help)});
  report(std::move(diagnostic));
}

std::string field_list(const model::RecordLayout& layout) {
  std::string list;
  for (const model::RecordField& field : layout.fields) list += field.name + " ";
  return list + "CPU COMM common_pid common_type common_flags common_preempt_count";
}

std::optional<FilterField> Binder::find(const FilterPredicate& predicate) {
  const auto field = find_filter_field(predicate.field_name, layout_);
  if (!field) {
    mistake(Kind::FilterFieldNotFound, predicate.field_span.end, "fields here are " + field_list(layout_));
  }
  return field;
}

void Binder::bind(FilterPredicate& predicate) {
  const auto field = find(predicate);
  if (!field) return;
  predicate.source = field->source;
  predicate.field = field->index;
  if (predicate.operand_quoted) {
    bind_text(predicate, *field);
  } else {
    bind_number(predicate, *field);
  }
}

void Binder::bind_text(FilterPredicate& predicate, const FilterField& field) {
  if (predicate.op != CompareOp::Glob && predicate.op != CompareOp::Equal && predicate.op != CompareOp::NotEqual) {
    return mistake(Kind::FilterIllegalFieldOp, predicate.operand_span.begin, "text is compared with ==, != or ~");
  }
  if (!field.is_string) {
    return mistake(Kind::FilterExpectDigit, predicate.operand_span.begin,
                   "`" + predicate.field_name + "` is a number: no quotes");
  }
  if (predicate.operand.size() > kMaxText) {
    return mistake(Kind::FilterOperandTooLong, predicate.operand_span.end - 1, "at most 255 bytes are compared");
  }
  predicate.is_string = true;
  if (predicate.op == CompareOp::Glob) {
    FilterGlob glob = classify_glob(predicate.operand);
    predicate.glob = glob.kind;
    predicate.negated = glob.negated;
    predicate.text = std::move(glob.text);
  } else {
    predicate.glob = model::GlobKind::Full;
    predicate.negated = predicate.op == CompareOp::NotEqual;
    predicate.text = predicate.operand;
  }
}

// 0 where no comparison exists: the predicate never holds.
std::uint8_t comparable_bytes(const FilterPredicate& predicate, const FilterField& field) {
  if (field.source == model::FilterOperand::Cpu && predicate.op == CompareOp::BitAnd) return 0;
  const bool comparable = field.bytes == 1 || field.bytes == 2 || field.bytes == 4 || field.bytes == 8;
  return comparable ? static_cast<std::uint8_t>(field.bytes) : 0;
}

std::uint64_t cut_to_field(std::uint64_t value, const FilterField& field) {
  if (field.bytes == 0 || field.bytes >= 8) return value;
  const unsigned unused = 64 - 8 * field.bytes;
  const std::uint64_t high = value << unused;
  return field.is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(high) >> unused) : high >> unused;
}

std::optional<std::uint64_t> number_for(std::string_view operand, const FilterField& field) {
  const grammar::Number number = field.is_signed ? grammar::parse_signed(operand, grammar::kAutoBase)
                                                 : grammar::parse_unsigned(operand, grammar::kAutoBase);
  if (number.error != 0) return std::nullopt;
  return number.value;
}

void Binder::bind_number(FilterPredicate& predicate, const FilterField& field) {
  if (field.is_string) {
    return mistake(Kind::FilterExpectString, predicate.operand_span.begin,
                   "`" + predicate.field_name + "` is text: put the value in quotes");
  }
  if (predicate.op == CompareOp::Glob) {
    return mistake(Kind::FilterIllegalFieldOp, predicate.operand_span.begin, "~ is for text");
  }
  if (predicate.operand.size() > kMaxDigits) {
    return mistake(Kind::FilterOperandTooLong, predicate.operand_span.end, "at most 23 characters");
  }
  const auto value = number_for(predicate.operand, field);
  if (!value) {
    return mistake(Kind::FilterIllegalIntval, predicate.operand_span.begin,
                   field.is_signed ? "not a number of 64 bits with sign" : "not a number of 64 bits without sign");
  }
  predicate.is_signed = field.is_signed;
  predicate.bytes = comparable_bytes(predicate, field);
  predicate.value = cut_to_field(*value, field);
}

void Binder::bind_all(FilterExpr& filter) {
  switch (filter.node) {
    case FilterNode::And:
    case FilterNode::Or:
    case FilterNode::Not:
      for (FilterExpr& child : filter.children) bind_all(child);
      return;
    case FilterNode::Predicate:
      return bind(filter.predicate);
  }
}

}  // namespace

std::optional<model::FilterExpr> check_filter(model::FilterExpr filter, std::string_view text,
                                              const model::RecordLayout& layout, diag::Sink& sink) {
  Binder binder(text, layout, sink);
  binder.bind_all(filter);
  if (binder.failed()) return std::nullopt;
  return filter;
}

std::optional<model::FilterExpr> compile_filter(std::string_view text, const model::RecordLayout& layout,
                                                diag::Sink& sink) {
  grammar::FilterReading reading = grammar::read_filter(text);
  if (!reading.mistake) return check_filter(*std::move(reading.tree), text, layout, sink);
  Binder binder(text, layout, sink);
  for (FilterPredicate& predicate : reading.before) binder.bind(predicate);
  if (reading.unfinished) binder.find(*reading.unfinished);
  binder.report(*std::move(reading.mistake));
  return std::nullopt;
}

std::string filter_file_text(const diag::Diagnostic& mistake) {
  // The kernel writes into one page: a piece that does not fit is left out with all that follow.
  constexpr std::size_t kPage = 4096;
  std::string page = mistake.command;
  bool full = false;
  const auto append = [&](const std::string& piece) {
    full = full || page.size() + piece.size() >= kPage;
    if (!full) page += piece;
  };
  if (mistake.kind == Kind::FilterErrno) {
    append("\nError: (0)\n");
  } else {
    const std::size_t column = std::min<std::size_t>(mistake.column.value_or(0), page.size());
    append("\n" + std::string(column, ' ') + "^");
    append("\nparse_error: " + std::string(diag::kernel_text(mistake.kind)) + "\n");
  }
  return page + "\n";
}

}  // namespace kevt::sema

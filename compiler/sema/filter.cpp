// The problem: each predicate of a filter must name a field of the event, with an operator and a value
// that fit it; and the mistake reported must be the one the kernel would meet first.
//
// The idea: predicates are bound from left to right. Within one the kernel's order of questions is kept:
// is there such a field; quoted: operator, then field, then length; a number: field, operator, length,
// value. A syntax mistake counts only if everything to its left is right.
//
//   str < "a"     ILLEGAL_FIELD_OP    u32 == "1"   EXPECT_DIGIT    u8 == -1   ILLEGAL_INTVAL (u8 is unsigned)
//
// Numbers are cut to the field's size, as the kernel compares them: `u8 == 256` is `u8 == 0`. It does not
// evaluate filters. Mirrors parse_pred() of kernel/trace/trace_events_filter.c, 6.1.
#include "compiler/sema/filter.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "common/hexadecimal.h"
#include "compiler/model/floating.h"
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
  Binder(std::string_view text, const model::RecordLayout& layout, diag::Sink& sink, CheckRequest request,
         const target::TargetEnv* functions)
      : text_(grammar::filter_command(text)), layout_(layout), sink_(sink), request_(request), functions_(functions) {}

  bool failed() const { return failed_; }
  void bind_all(FilterExpr& filter);
  void bind(FilterPredicate& predicate);
  // Only finds the predicate's field; for a predicate that was not read to its end.
  std::optional<FilterField> find(const FilterPredicate& predicate);
  void report(diag::Diagnostic diagnostic);

 private:
  void mistake(Kind kind, std::uint32_t offset, std::string help);
  void bind_text(FilterPredicate& predicate, const FilterField& field);
  void bind_float(FilterPredicate& predicate, const FilterField& field);
  void bind_number(FilterPredicate& predicate, const FilterField& field);
  bool take_name(FilterPredicate& predicate, const model::EnumNames& names);
  bool take_hex(FilterPredicate& predicate, const FilterField& field);
  void check_function(const FilterPredicate& predicate, const FilterField& field);
  bool is_function(const FilterPredicate& predicate) const;
  void check_cpus(const FilterPredicate& predicate, const FilterField& field);
  void refuse_unless_judged(const FilterPredicate& predicate);

  std::string_view text_;
  const model::RecordLayout& layout_;
  diag::Sink& sink_;
  CheckRequest request_;
  const target::TargetEnv* functions_;  // nullptr: functions are not looked up
  bool failed_ = false;
};

void Binder::report(diag::Diagnostic diagnostic) {
  diagnostic.logged = diagnostic.logged && !failed_;
  failed_ = true;
  sink_.report(std::move(diagnostic));
}

// The kernel's columns of these mistakes are those of the byte behind the mistake.
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
  const auto field = find_filter_field(predicate.field_name, layout_, request_.dialect);
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
  if (field->is_counted)
    return mistake(Kind::FilterIllegalFieldOp, predicate.operand_span.begin,
                   "an array whose length is fetched is not compared");
  const bool compares = predicate.op != CompareOp::Glob && predicate.modifier == model::FieldModifier::None;
  if (compares && field->names && predicate.operand_quoted && !take_name(predicate, *field->names)) return;
  if (compares && field->is_hex && (predicate.operand_quoted || field->bytes > 8) && !take_hex(predicate, *field))
    return;
  if (predicate.modifier == model::FieldModifier::Function) {
    check_function(predicate, *field);
  } else if (predicate.operand_cpus) {
    check_cpus(predicate, *field);
  } else if (predicate.operand_quoted) {
    bind_text(predicate, *field);
  } else {
    bind_number(predicate, *field);
  }
}

// Replaces "00f067aa0ba902b7", the bytes of a `hex` field, by the number that they are in memory. False: the text is
// not so many bytes, or no number has so many, which is reported.
bool Binder::take_hex(FilterPredicate& predicate, const FilterField& field) {
  const std::uint32_t begin = predicate.operand_span.begin;
  constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
  std::uint64_t number = 0;
  if (field.bytes > sizeof number) {
    mistake(Kind::FilterIllegalFieldOp, begin, fmt::format("`{}` has more than 8 bytes", predicate.field_name));
    return false;
  }
  if (predicate.operand.size() != 2 * field.bytes ||
      predicate.operand.find_first_not_of(kDigits) != std::string::npos) {
    mistake(Kind::FilterInvalidValue, begin,
            fmt::format("`{}` is {} hexadecimal digits", predicate.field_name, 2 * field.bytes));
    return false;
  }
  const std::string bytes = from_hexadecimal(predicate.operand);
  std::memcpy(&number, bytes.data(), bytes.size());
  predicate.operand = std::to_string(number);
  predicate.operand_quoted = false;
  return true;
}

// Replaces "NAME", an enumeration's name, by its value. False: the enumeration has no such name, which is reported.
bool Binder::take_name(FilterPredicate& predicate, const model::EnumNames& names) {
  const auto named = std::ranges::find(names, predicate.operand, &model::EnumName::name);
  if (named == names.end()) {
    constexpr std::size_t kShown = 8;
    std::string known;
    for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) known += (i == 0 ? "" : " ") + names[i].name;
    if (names.size() > kShown) known += " …";
    mistake(Kind::FilterInvalidValue, predicate.operand_span.begin,
            "values of `" + predicate.field_name + "` are " + known);
    return false;
  }
  predicate.operand = std::to_string(named->value);
  predicate.operand_quoted = false;
  return true;
}

// Whether the operand is a function, or may be one since nobody can tell. The kernel takes everything up to a blank for
// the name, with quotes and parentheses, and no function has such a name.
bool Binder::is_function(const FilterPredicate& predicate) const {
  if (predicate.operand_quoted || predicate.operand.find_first_of("()'\"+-") != std::string::npos) return false;
  if (functions_ == nullptr) return true;
  if (grammar::is_digit(predicate.operand[0])) {
    const std::uint64_t address = grammar::parse_unsigned(predicate.operand, grammar::kAutoBase).value;
    return functions_->probeability(address) == target::Probeability::NotChecked || functions_->symbolize(address);
  }
  const auto found = functions_->find_function(std::nullopt, predicate.operand);
  return found || found.error().failure != target::LookupFailure::NotFound;
}

void Binder::check_function(const FilterPredicate& predicate, const FilterField& field) {
  constexpr std::uint32_t kAddressBytes = 8;
  const std::uint32_t begin = predicate.operand_span.begin;
  const std::uint32_t end = predicate.operand_span.end;
  if (field.bytes != kAddressBytes) {
    return mistake(Kind::FilterIllegalFieldOp, begin, "`.function` is for addresses: fields of 8 bytes");
  }
  if (predicate.op != CompareOp::Equal && predicate.op != CompareOp::NotEqual) {
    return mistake(Kind::FilterInvalidOp, begin, "a function is compared with == or !=");
  }
  const bool number = grammar::is_digit(predicate.operand[0]);
  if (number && predicate.operand.size() > kMaxDigits) {
    return mistake(Kind::FilterOperandTooLong, end, "at most 23 characters");
  }
  if (number && grammar::parse_unsigned(predicate.operand, grammar::kAutoBase).error != 0) {
    return mistake(Kind::FilterInvalidValue, end, "a function's name, or an address: 0xffffffff81000000");
  }
  if (!is_function(predicate)) {
    return mistake(Kind::FilterNoFunction, end, "the name of a function without quotes, or an address in one");
  }
  refuse_unless_judged(predicate);
}

constexpr std::string_view kCpuListBlanks = ", \t\n\v\f\r";

// Cuts a number off the front of `text`; `N` is the last CPU. nullopt: there is no number, or it is too large.
std::optional<std::uint64_t> take_cpu(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  if (end == 0 && !text.starts_with('N')) return std::nullopt;
  const std::uint64_t last = std::numeric_limits<std::uint32_t>::max();
  const std::uint64_t number = end == 0 ? last : grammar::parse_unsigned(text.substr(0, end), 10).value;
  const bool fits = end == 0 || (grammar::parse_unsigned(text.substr(0, end), 10).error == 0 && number < last);
  text.remove_prefix(std::max<std::size_t>(end, 1));
  return fits ? std::optional(number) : std::nullopt;
}

// `3`, `0-3`, `all`; the latter two with a stride `:1/2`: of every two CPUs one.
bool is_cpu_range(std::string_view item) {
  constexpr std::string_view kAll = "all";
  const bool all = item.size() >= kAll.size() && ::strncasecmp(item.data(), kAll.data(), kAll.size()) == 0;
  if (all) {
    item.remove_prefix(kAll.size());
  } else {
    const auto first = take_cpu(item);
    if (!first || item.empty()) return first.has_value();
    if (!item.starts_with('-')) return false;
    item.remove_prefix(1);
    const auto last = take_cpu(item);
    if (!last || *last < *first) return false;
  }
  if (item.empty()) return true;
  if (!item.starts_with(':')) return false;
  item.remove_prefix(1);
  const auto used = take_cpu(item);
  if (!used || !item.starts_with('/')) return false;
  item.remove_prefix(1);
  const auto group = take_cpu(item);
  return group && item.empty() && *group != 0 && *used <= *group;
}

// `0-3,8`, with commas and blanks in between; bitmap_parselist() of lib/bitmap.c (6.12). The number of CPUs is not
// known here, so it is not checked.
bool is_cpu_list(std::string_view list) {
  while (true) {
    list.remove_prefix(std::min(list.find_first_not_of(kCpuListBlanks), list.size()));
    if (list.empty()) return true;
    const std::string_view item = list.substr(0, list.find_first_of(kCpuListBlanks));
    if (!is_cpu_range(item)) return false;
    list.remove_prefix(item.size());
  }
}

void Binder::check_cpus(const FilterPredicate& predicate, const FilterField& field) {
  constexpr std::uint32_t kWordBytes = 4;  // "CPUS"
  const std::uint32_t begin = predicate.operand_span.begin;
  if (field.is_string) return mistake(Kind::FilterIllegalFieldOp, begin, "a list of CPUs is for numbers");
  if (predicate.op != CompareOp::Equal && predicate.op != CompareOp::NotEqual && predicate.op != CompareOp::BitAnd) {
    return mistake(Kind::FilterIllegalFieldOp, begin, "a list of CPUs is compared with ==, != or &");
  }
  const std::string_view braces = std::string_view(predicate.operand).substr(kWordBytes);
  if (!braces.starts_with('{')) {
    return mistake(Kind::FilterMissingBraceOpen, begin + kWordBytes + 1, "for instance `CPUS{0-3,8}`");
  }
  if (!braces.ends_with('}')) {
    return mistake(Kind::FilterMissingBraceClose, predicate.operand_span.end, "for instance `CPUS{0-3,8}`");
  }
  const std::string_view list = braces.substr(1, braces.size() - 2);
  if (list.empty() || !is_cpu_list(list)) {
    return mistake(Kind::FilterInvalidCpulist, predicate.operand_span.end - 1, "for instance `CPUS{0-3,8}`");
  }
  refuse_unless_judged(predicate);
}

void Binder::refuse_unless_judged(const FilterPredicate& predicate) {
  if (request_.newer_forms == NewerForms::Judged) return;
  diag::Diagnostic diagnostic{.kind = Kind::FilterUnsupported,
                              .location = diag::Location::Filter,
                              .command = std::string(text_),
                              .column = predicate.operand_span.begin,
                              .errno_value = EOPNOTSUPP,
                              .logged = false,
                              .detail = "functions and lists of CPUs",
                              .notes = {},
                              .fixits = {}};
  report(std::move(diagnostic));
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

// The size in bytes of the compared number. 0: the kernel has no such comparison, and the predicate never holds.
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

// Binds a floating point field. The value is rounded to the field's size, as integers are cut to it.
void Binder::bind_float(FilterPredicate& predicate, const FilterField& field) {
  if (predicate.op == CompareOp::BitAnd)
    return mistake(Kind::FilterIllegalFieldOp, predicate.operand_span.begin, "& is for integers");
  if (layout_.fields[field.index].type.array_count > 0)
    return mistake(Kind::FilterIllegalFieldOp, predicate.operand_span.begin,
                   "an array of floating point numbers is not compared");
  const auto value = model::parse_float(predicate.operand);
  if (!value || std::isnan(*value))
    return mistake(Kind::FilterIllegalIntval, predicate.operand_span.begin, "a number: 2.5, -3, 1e-6, inf");
  predicate.is_float = true;
  predicate.bytes = static_cast<std::uint8_t>(field.bytes);
  predicate.value = model::bits_of_float(*value, field.bytes);
}

void Binder::bind_number(FilterPredicate& predicate, const FilterField& field) {
  if (field.is_string) {
    return mistake(Kind::FilterExpectString, predicate.operand_span.begin,
                   "`" + predicate.field_name + "` is text: put the value in quotes");
  }
  if (predicate.op == CompareOp::Glob) {
    return mistake(Kind::FilterIllegalFieldOp, predicate.operand_span.begin, "~ is for text");
  }
  if (field.is_float) return bind_float(predicate, field);
  if (predicate.operand.size() > kMaxDigits) {
    return mistake(Kind::FilterOperandTooLong, predicate.operand_span.end, "at most 23 characters");
  }
  const auto value = number_for(predicate.operand, field);
  if (!value) {
    const bool is_whole = predicate.operand.find_first_not_of("+-0123456789") == std::string::npos;
    return mistake(Kind::FilterIllegalIntval, predicate.operand_span.begin,
                   !is_whole && model::parse_float(predicate.operand) ? "`" + predicate.field_name + "` is an integer"
                   : field.is_signed                                  ? "not a number of 64 bits with sign"
                                                                      : "not a number of 64 bits without sign");
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

std::optional<FilterExpr> bind_tree(FilterExpr filter, Binder& binder) {
  binder.bind_all(filter);
  if (binder.failed()) return std::nullopt;
  return filter;
}

}  // namespace

std::optional<model::FilterExpr> check_filter(model::FilterExpr filter, std::string_view text,
                                              const model::RecordLayout& layout, diag::Sink& sink) {
  Binder binder(text, layout, sink, {}, nullptr);
  return bind_tree(std::move(filter), binder);
}

std::optional<model::FilterExpr> compile_filter(std::string_view text, const model::RecordLayout& layout,
                                                diag::Sink& sink, CheckRequest request,
                                                const target::TargetEnv* functions) {
  // Fractions are read only if the event has a floating point field: otherwise mistakes must be the kernel's.
  const bool has_floats = std::ranges::any_of(
      layout.fields, [](const model::RecordField& field) { return field.type.kind == model::TypeKind::Float; });
  grammar::FilterReading reading = grammar::read_filter(
      text, request.dialect, has_floats ? grammar::FilterNumbers::Fractions : grammar::FilterNumbers::Integers);
  Binder binder(text, layout, sink, request, functions);
  if (!reading.mistake) return bind_tree(*std::move(reading.tree), binder);
  for (FilterPredicate& predicate : reading.before) binder.bind(predicate);
  if (reading.unfinished) binder.find(*reading.unfinished);
  binder.report(*std::move(reading.mistake));
  return std::nullopt;
}

bool is_only_judged(const model::FilterExpr& filter) {
  if (filter.node != FilterNode::Predicate) return std::ranges::any_of(filter.children, is_only_judged);
  return filter.predicate.operand_cpus || filter.predicate.modifier == model::FieldModifier::Function;
}

std::string filter_file_text(const diag::Diagnostic& mistake) {
  // The kernel writes into one page: a piece that does not fit, and all pieces behind it, are left out.
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

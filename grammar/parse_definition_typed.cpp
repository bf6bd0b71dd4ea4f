// Operands that only the target's types resolve: `file->f_path.dentry`, `$current->pid`, `(task_struct)next->comm`,
// `this_cpu_read(@runqueues)`.
//
// Problem: without BTF the fields are not known, yet the text alone can be wrong: a single '-', a typecast without
// a field, a missing parenthesis. Idea: judge the text here in the kernel's order and keep the operand
// whole; sema resolves it if there are types. Inside a typecast or a per-CPU access is an operand again.
//
//   (S)+8(p)->m   typecast to S, then field m, of `+8(p)`          (S,m.n)x->f   S is what holds x as its member m.n
//
// Mirrors parse_btf_arg(), split_next_field() and handle_typecast() of kernel/trace/trace_probe.c (6.12, 7.2, 7.3).
#include <utility>

#include "grammar/parse_definition_operand.h"

namespace kevt::grammar {
namespace {

constexpr std::string_view kThisCpuPtr = "this_cpu_ptr(";
constexpr std::string_view kThisCpuRead = "this_cpu_read(";

std::uint32_t length(std::string_view text) { return static_cast<std::uint32_t>(text.size()); }

// The ')' that closes the '(' at `open`.
std::size_t matching(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && --depth == 0) return at;
  }
  return std::string_view::npos;
}

bool is_arrow(std::string_view text, std::size_t at) { return at < text.size() && text.substr(at).starts_with("->"); }

// `(STRUCT)INNER->FIELDS`, cut. Columns are bytes of the typecast.
struct CastPieces {
  std::optional<diag::Kind> mistake;
  std::size_t at = 0;  // of the mistake
  std::string_view inner;
  std::size_t inner_at = 0;
  std::size_t fields_at = 0;
};

CastPieces cut_parenthesized(std::string_view text, std::size_t begin) {
  const std::size_t close = matching(text, begin);
  if (close == std::string_view::npos) return {.mistake = diag::Kind::DerefOpenBrace, .at = begin};
  if (!is_arrow(text, close + 1)) return {.mistake = diag::Kind::TypecastReqField, .at = close + 1};
  return {.inner = text.substr(begin + 1, close - begin - 1), .inner_at = begin + 1, .fields_at = close + 3};
}

CastPieces cut_dereference(std::string_view text, std::size_t begin) {
  const std::size_t open = text.find('(', begin + 1);
  if (open == std::string_view::npos) return {.mistake = diag::Kind::DerefNeedBrace, .at = begin};
  const std::size_t close = matching(text, open);
  if (close == std::string_view::npos) return {.mistake = diag::Kind::DerefOpenBrace, .at = text.size()};
  if (!is_arrow(text, close + 1)) return {.mistake = diag::Kind::TypecastReqField, .at = close + 1};
  return {.inner = text.substr(begin, close + 1 - begin), .inner_at = begin, .fields_at = close + 3};
}

CastPieces cut_plain(std::string_view text, std::size_t begin) {
  if (text.substr(begin).starts_with('@')) {
    const std::size_t sign = text.find_first_of("+-", begin);
    if (sign != std::string_view::npos && sign + 1 < text.size() && is_digit(text[sign + 1])) {
      return {.mistake = diag::Kind::TypecastSymOffset, .at = begin};
    }
  }
  const std::size_t hyphen = text.find('-', begin);
  if (!is_arrow(text, hyphen)) return {.mistake = diag::Kind::TypecastReqField, .at = text.size()};
  return {.inner = text.substr(begin, hyphen - begin), .inner_at = begin, .fields_at = hyphen + 2};
}

CastPieces cut_cast(std::string_view text, std::size_t begin) {
  const std::string_view rest = text.substr(begin);
  if (rest.starts_with('(')) return cut_parenthesized(text, begin);
  if (rest.starts_with('+') || rest.starts_with('-') || is_per_cpu(rest)) return cut_dereference(text, begin);
  return cut_plain(text, begin);
}

}  // namespace

bool is_per_cpu(std::string_view text) { return text.starts_with(kThisCpuPtr) || text.starts_with(kThisCpuRead); }

void ArgumentParser::keep(std::string_view text, model::VariableKind kind) {
  arg_.expr.base = model::VariableBase{.name = std::string(text), .kind = kind};
  arg_.needs_types = true;
}

// `a->b.c`: separators only; a single hyphen has none of its own.
bool ArgumentParser::check_fields(std::string_view text, std::uint32_t column) {
  for (std::size_t at = text.find('-'); at != std::string_view::npos; at = text.find('-', at + 2)) {
    if (!is_arrow(text, at)) return base_mistake(diag::Kind::BadHyphen, column + static_cast<std::uint32_t>(at));
  }
  return true;
}

// `NAME->FIELDS`, `$retval->FIELDS`, `$current->FIELDS`.
bool ArgumentParser::take_path(std::string_view text, std::uint32_t column, model::VariableKind kind) {
  const std::size_t separator = text.find_first_of(".-");
  if (separator != std::string_view::npos && text[separator] == '.') {
    return base_mistake(diag::Kind::NosupDatArg, column + static_cast<std::uint32_t>(separator) + 1, EOPNOTSUPP);
  }
  if (!check_fields(text, column)) return false;
  keep(text, kind);
  return true;
}

bool ArgumentParser::take_named(std::string_view text, std::uint32_t column) {
  if (line_.kind == model::EventKind::Eprobe && has(Feature::BareEventField)) {
    arg_.expr.base = model::EventFieldBase{.name = std::string(text), .bare = true};
    return true;
  }
  const PlaceText place = place_text(line_);
  const bool there = place == PlaceText::Entry || (place == PlaceText::Return && has(Feature::ArgumentsAtReturn));
  if (!there) return base_mistake(diag::Kind::NosupBtfarg, column);
  const std::size_t separator = text.find_first_of(".-");
  const bool field = separator != std::string_view::npos;
  // The name is cut off before it is looked up.
  if (field && has(Feature::FieldAccess) && text[separator] == '-' && !is_arrow(text, separator)) {
    return base_mistake(diag::Kind::BadHyphen, column + static_cast<std::uint32_t>(separator));
  }
  if (!is_good_name(text.substr(0, separator)) || (field && !has(Feature::FieldAccess))) {
    return base_mistake(diag::Kind::NoBtfarg, column, ENOENT);
  }
  return take_path(text, column, model::VariableKind::Name);
}

// `current`, without the '$' in front of it.
bool ArgumentParser::take_current(std::string_view name, std::uint32_t column) {
  const std::string_view rest = name.substr(std::string_view("current").size());
  const bool good = is_function_probe() && (rest.empty() || rest.starts_with('-'));
  if (!good) return base_mistake(diag::Kind::BadVar, column);
  return take_path("$" + std::string(name), column, model::VariableKind::CurrentTask);
}

// Checks an operand inside a typecast or a per-CPU access, without keeping it.
bool ArgumentParser::take_inner(std::string_view text, std::uint32_t column) {
  const model::FetchExpr outer = std::exchange(arg_.expr, {});
  const bool good = take_expression(cut_body(text), column);
  arg_.expr = outer;
  return good;
}

bool ArgumentParser::take_per_cpu(std::string_view text, std::uint32_t column) {
  if (!deepen(column)) return false;
  if (!is_function_probe()) return base_mistake(diag::Kind::NosupPercpu, column);
  const bool read = text.starts_with(kThisCpuRead);
  const std::uint32_t begin = length(read ? kThisCpuRead : kThisCpuPtr);
  const std::size_t close = text.rfind(')');
  if (close == std::string_view::npos) return base_mistake(diag::Kind::DerefOpenBrace, column + length(text));
  if (!take_inner(text.substr(begin, close - begin), column + begin)) return false;
  keep(text, read ? model::VariableKind::PerCpuValue : model::VariableKind::PerCpuAddress);
  return true;
}

// `(STRUCT,MEMBER)`: MEMBER may hold dots, no arrows.
bool ArgumentParser::check_cast_option(std::string_view type, std::uint32_t column) {
  const std::size_t comma = type.find(',');
  if (comma == std::string_view::npos) return true;
  const std::string_view option = type.substr(comma + 1);
  const std::uint32_t begin = column + static_cast<std::uint32_t>(comma) + 1;
  if (!check_fields(option, begin)) return false;
  const std::size_t arrow = option.find("->");
  if (arrow == std::string_view::npos) return true;
  return base_mistake(diag::Kind::TypecastBadArrow, begin + static_cast<std::uint32_t>(arrow));
}

bool ArgumentParser::take_typecast(std::string_view text, std::uint32_t column) {
  if (!deepen(column)) return false;
  if (line_.kind != model::EventKind::Eprobe && place_text(line_) == PlaceText::Elsewhere) {
    return base_mistake(diag::Kind::NosupBtfarg, column, EOPNOTSUPP);
  }
  const std::size_t close = text.find(')');
  if (close == std::string_view::npos) return base_mistake(diag::Kind::DerefOpenBrace, column + length(text));
  const CastPieces pieces = cut_cast(text, close + 1);
  if (pieces.mistake) return base_mistake(*pieces.mistake, column + static_cast<std::uint32_t>(pieces.at));
  if (!take_inner(pieces.inner, column + static_cast<std::uint32_t>(pieces.inner_at))) return false;
  if (!check_cast_option(text.substr(1, close - 1), column + 1)) return false;
  if (!check_fields(text.substr(pieces.fields_at), column + static_cast<std::uint32_t>(pieces.fields_at))) return false;
  keep(text, model::VariableKind::Typecast);
  return true;
}

// 7.2: `(STRUCT)FIELD->MEMBER`, for the fields of events alone.
bool ArgumentParser::take_field_typecast(std::string_view text, std::uint32_t column) {
  if (line_.kind != model::EventKind::Eprobe) return base_mistake(diag::Kind::TypecastNotEvent, column);
  const std::size_t close = text.find(')');
  if (close == std::string_view::npos) return base_mistake(diag::Kind::DerefOpenBrace, column + length(text));
  const std::size_t separator = text.find_first_of(".-", close);
  if (separator != std::string_view::npos) {  // those behind it are looked at once the field is found
    const std::uint32_t at = column + static_cast<std::uint32_t>(separator);
    if (text[separator] == '.') return base_mistake(diag::Kind::NosupDatArg, at + 1, EOPNOTSUPP);
    if (!is_arrow(text, separator)) return base_mistake(diag::Kind::BadHyphen, at);
  }
  keep(text, model::VariableKind::Typecast);
  return true;
}

}  // namespace kevt::grammar

// Types of fetch-args: `:s32`, `:string`, `:x8[16]`, `:b3@5/32`, `:string(%si)`.
//
// Problem: a type is a name, an array count and, for bitfields, three numbers, each with its own
// message; and a bitfield's numbers are looked at only after the expression was understood.
// Idea: brackets first, then the name in one table, the bitfield's inside last, with the steps of
// diag/definition_order.h telling when.
//
//   b3@5/32  ->  Bitfield of 4 bytes, width 3, offset 5
//
// Not here: which type goes with which expression (sema).
// Mirrors find_fetch_type() and traceprobe_parse_probe_arg_body() of kernel/trace/trace_probe.c (6.1, 7.3).
#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "compiler/model/enum_names.h"
#include "compiler/model/record_layout.h"
#include "grammar/parse_definition_limits.h"
#include "grammar/parse_definition_parts.h"

namespace kevt::grammar {
namespace {

struct NamedType {
  std::string_view name;
  model::TypeKind kind;
  std::uint8_t bytes;
  enum class Where : std::uint8_t { Kernels, Kevtrace } where;
};

constexpr NamedType kTypes[] = {
#define KEVT_TYPE(name, kind, bytes, where, ...) {name, model::TypeKind::kind, bytes, NamedType::Where::where},
#include "compiler/model/type.def"
#undef KEVT_TYPE
};

struct TypeMistake {
  diag::Kind kind;
  std::uint32_t column;
  diag::ArgumentStep step;
  bool logged = true;
};

// `[N]`, `[%si]`. nullopt: the type's count is set.
std::optional<TypeMistake> read_count(const LineContext& line, const TypePieces& pieces, model::TypeSpec& type) {
  if (!pieces.count) return std::nullopt;
  if (!pieces.tail) return TypeMistake{diag::Kind::ArrayNoClose, pieces.count->end, diag::kArgArray};
  if (!pieces.tail->text.empty()) return TypeMistake{diag::Kind::BadArraySuffix, pieces.tail->begin, diag::kArgArray};
  type.is_counted = count_in(line, pieces).has_value();
  if (type.is_counted) {
    type.array_count = kMaxArrayItems;
    return std::nullopt;
  }
  const Number count = parse_unsigned(pieces.count->text, kAutoBase);
  if (count.error != 0 || count.value == 0 || count.value > std::numeric_limits<std::uint32_t>::max()) {
    return TypeMistake{diag::Kind::BadArrayNum, pieces.count->begin, diag::kArgArray};
  }
  if (count.value > kMaxArrayItems) return TypeMistake{diag::Kind::ArrayTooBig, pieces.count->begin, diag::kArgArray};
  type.array_count = static_cast<std::uint32_t>(count.value);
  return std::nullopt;
}

// The container behind '/', which alone decides whether `b…` is a type at all.
std::optional<std::uint8_t> container_bytes(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const Number bits = parse_unsigned(name.substr(slash + 1), kAutoBase);
  if (bits.error != 0) return std::nullopt;
  for (const std::uint64_t container : {8, 16, 32, 64}) {
    if (bits.value == container) return static_cast<std::uint8_t>(container / 8);
  }
  return std::nullopt;
}

// `bW@O/…`. False: not a bitfield of its container.
bool read_bits(std::string_view name, model::TypeSpec& type) {
  name.remove_prefix(1);
  const LooseNumber width = parse_leading(name);
  if (width.value == 0) return false;
  name.remove_prefix(width.used);
  if (!name.starts_with('@')) return false;
  name.remove_prefix(1);
  const LooseNumber offset = parse_leading(name);
  if (offset.used == 0) return false;
  name.remove_prefix(offset.used);
  if (!name.starts_with('/')) return false;
  const std::uint64_t container = 8u * type.bytes;
  if (width.value > container || offset.value > container || width.value + offset.value > container) return false;
  type.bit_width = static_cast<std::uint8_t>(width.value);
  type.bit_offset = static_cast<std::uint8_t>(offset.value);
  return true;
}

// The size of a value: `enum(…)` 4 bytes, `enum8(…)`, `enum16(…)`, `enum64(…)`. nullopt: it is no such type.
std::optional<std::uint8_t> enum_bytes(std::string_view type) {
  static constexpr std::pair<std::string_view, std::uint8_t> kLeads[] = {
      {"enum(", 4}, {"enum8(", 1}, {"enum16(", 2}, {"enum64(", 8}};
  for (const auto& [lead, bytes] : kLeads)
    if (type.starts_with(lead) && type.ends_with(')')) return bytes;
  return std::nullopt;
}

// NAME=VALUE,NAME=VALUE: names of C, values as strtol() reads them. nullopt: something else.
std::optional<model::EnumNames> read_enum_names(std::string_view list) {
  model::EnumNames names;
  while (names.size() < model::kMostEnumNames) {
    const std::string_view one = list.substr(0, list.find(','));
    const std::size_t equals = std::min(one.find('='), one.size());
    const std::string_view name = one.substr(0, equals);
    const Number value = parse_signed(one.substr(std::min(equals + 1, one.size())), kAutoBase);
    if (equals == one.size() || !is_good_name(name) || value.error != 0) return std::nullopt;
    names.push_back({.value = static_cast<std::int64_t>(value.value), .name = std::string(name)});
    if (one.size() == list.size()) return names;
    list.remove_prefix(one.size() + 1);
  }
  return std::nullopt;
}

bool exists_here(const LineContext& line, const NamedType& type) {
  const model::TypeKind kind = type.kind;
  const bool symbol = kind == model::TypeKind::Symbol || kind == model::TypeKind::SymbolString;
  if (symbol && line.kind == model::EventKind::Uprobe) return line.dialect.has(dialect::Feature::SymbolOnUprobe);
  if (type.where == NamedType::Where::Kevtrace) return line.dialect.has_own_forms();
  return kind != model::TypeKind::Char || line.dialect.has(dialect::Feature::CharType);
}

bool find_type(const LineContext& line, std::string_view name, model::TypeSpec& type) {
  if (const auto bytes = enum_bytes(name); bytes && line.dialect.has_own_forms()) {
    const std::size_t open = name.find('(') + 1;
    auto names = read_enum_names(name.substr(open, name.size() - open - 1));
    if (!names || type.array_count != 0) return false;
    type.kind = model::TypeKind::Enum;
    type.bytes = *bytes;
    type.names = std::make_shared<const model::EnumNames>(*std::move(names));
    return true;
  }
  const auto* found = std::ranges::find(kTypes, name, &NamedType::name);
  if (found != std::end(kTypes)) {
    type.kind = found->kind;
    type.bytes = found->bytes;
    return exists_here(line, *found);
  }
  const auto bytes = name.starts_with('b') ? container_bytes(name) : std::nullopt;
  type.kind = model::TypeKind::Bitfield;
  type.bytes = bytes.value_or(0);
  return bytes.has_value();
}

// $comm and immediate strings are strings whatever is written, and nothing else may be written.
bool is_text_operand(const LineContext& line, std::string_view operand) {
  if (line.kind == model::EventKind::Eprobe) return false;
  return operand == "$comm" || operand == "$COMM" || operand.starts_with("\\\"");
}

// From 6.5 on the caret of a mistake that is found after the expression counts from inside its outermost dereference.
std::uint32_t caret_shift(const LineContext& line, const BodyPieces& body) {
  if (body.dereferences.empty() || !line.dialect.has(dialect::Feature::CaretInDereference)) return 0;
  const DereferencePieces& outer = body.dereferences.front();
  return outer.inner - (outer.offset.text.starts_with('u') ? 1 : 0);
}

}  // namespace

std::optional<Piece> length_in(const TypePieces& type) {
  const std::string_view name = type.name.text;
  const std::size_t open = name.find('(');
  if (open == std::string_view::npos || !name.ends_with(')')) return std::nullopt;
  if (name.substr(0, open) != "string" && name.substr(0, open) != "ustring") return std::nullopt;
  const auto begin = type.name.begin + static_cast<std::uint32_t>(open) + 1;
  return Piece{.text = name.substr(open + 1, name.size() - open - 2), .begin = begin, .end = type.name.end - 1};
}

std::optional<WrittenCount> count_in(const LineContext& line, const TypePieces& type) {
  if (!type.count || !line.dialect.has_own_forms()) return std::nullopt;
  WrittenCount found{.length = *type.count};
  constexpr std::string_view kUpTo = "..";
  found.is_end = found.length.text.starts_with(kUpTo);
  if (found.is_end) {
    found.length.text.remove_prefix(kUpTo.size());
    found.length.begin += kUpTo.size();
    return found;
  }
  const std::string_view text = found.length.text;
  const bool is_name =
      line.dialect.has(dialect::Feature::ArgumentNames) && is_good_name(text.substr(0, text.find_first_of("-.")));
  const bool is_expression = text.contains('(') || (!text.empty() && std::string_view("%$@\\").contains(text[0]));
  return is_expression || is_name ? std::optional(found) : std::nullopt;
}

std::size_t bytes_of_names(const BodyPieces& body) {
  if (!body.type || !enum_bytes(body.type->name.text)) return 0;
  return body.type->name.text.size() - body.type->name.text.find('(');
}

std::optional<model::TypeSpec> parse_type(const LineContext& line, const TypeRequest& request, const BodyPieces& body) {
  const auto report = [&](const TypeMistake& mistake) {
    line.report({.kind = mistake.kind,
                 .word = request.word,
                 .column = request.column + mistake.column,
                 .order = diag::argument_order(request.argument, mistake.step),
                 .logged = mistake.logged});
  };
  model::TypeSpec type;
  if (body.type) {
    if (const auto mistake = read_count(line, *body.type, type)) {
      report(*mistake);
      return std::nullopt;
    }
    const std::uint32_t base = line.words.begin(request.word) + request.column;
    const std::uint32_t end = body.type->tail ? body.type->tail->end : body.type->name.end;
    type.written = true;
    type.span = {base + body.type->name.begin, base + end};
    type.text = std::string_view(body.type->name.text.data(), end - body.type->name.begin);
  }
  if (is_text_operand(line, body.operand.text)) {
    if (type.array_count != 0 || (body.type && body.type->name.text != "string")) {
      const bool logged = line.dialect.has(dialect::Feature::StringTypeIsLogged);
      report({diag::Kind::NeedStringType, body.type->name.begin, diag::kArgType, logged});
      return std::nullopt;
    }
    type.kind = model::TypeKind::String;
    type.bytes = model::kDataLocBytes;
    return type;
  }
  if (!body.type) return type;
  const bool has_length = line.dialect.has_own_forms() && length_in(*body.type).has_value();
  const std::string_view name = body.type->name.text;
  if ((has_length && type.array_count != 0) ||
      !find_type(line, name.substr(0, has_length ? name.find('(') : name.npos), type)) {
    report({diag::Kind::BadType, body.type->name.begin, diag::kArgType});
    return std::nullopt;
  }
  if (type.kind == model::TypeKind::Bitfield && !read_bits(body.type->name.text, type)) {
    const std::uint32_t column = body.type->name.begin + caret_shift(line, body);
    report({diag::Kind::BadBitfield, column, diag::kArgBitfield});
  }
  return type;
}

}  // namespace kevt::grammar

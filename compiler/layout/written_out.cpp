// A definition that needs no types any more: everything that types completed is written in forms without types.
//
//   p:o libc:openat $arg*     ->  p:kprobes/o libc:openat fd=$arg1:s32 file=$arg2:x64 oflag=$arg3:s32
//   … flag=it->flag           ->  … flag=+4($arg1):b3@3/32
//
// The line is checked again on the machine that runs it, and must become the same program there. Not here: forms that
// no runtime runs.
#include <fmt/format.h>

#include "compiler/layout/layout.h"

namespace kevt::layout {
namespace {

std::string base_text(const model::Definition& definition, const model::FetchExpr& expr) {
  if (const auto* argument = std::get_if<model::ArgumentBase>(&expr.base))
    return fmt::format("$arg{}", argument->number);
  if (const auto* named = std::get_if<model::RegisterBase>(&expr.base)) return "%" + named->name;
  if (std::holds_alternative<model::ReturnValueBase>(expr.base)) return "$retval";
  return definition.command.substr(expr.base_span.begin, expr.base_span.end - expr.base_span.begin);
}

// The type without names of values, which only the types know, and without a length, which is written separately.
std::string type_text(const model::TypeSpec& type) {
  const int bits = 8 * type.bytes;
  if (type.bit_width != 0)
    return type.written && !type.names ? type.text : fmt::format("b{}@{}/{}", type.bit_width, type.bit_offset, bits);
  const std::string written = type.is_counted ? type.text.substr(0, type.text.find('[')) : type.text;
  if (type.written && !type.names && !written.contains('(')) return written;
  const model::TypeKindRow& row = model::row_of(type.kind);
  const std::string item = row.word.size() > 1 ? std::string(row.word) : fmt::format("{}{}", row.word, bits);
  return type.array_count == 0 || type.written || type.is_counted ? item
                                                                  : fmt::format("{}[{}]", item, type.array_count);
}

std::string expression_text(const model::Definition& definition, const model::FetchExpr& expr) {
  std::string expression = base_text(definition, expr);
  for (const model::Dereference& dereference : expr.dereferences) {
    const bool user = dereference.space == model::AddressSpace::User;
    const bool negative = dereference.offset < 0;
    const auto distance = static_cast<std::uint64_t>(dereference.offset);
    expression = fmt::format("{}{}{}({})", negative ? '-' : '+', user ? "u" : "", negative ? 0 - distance : distance,
                             expression);
  }
  return expression;
}

}  // namespace

std::string written_out(const model::Definition& definition) {
  model::Definition head = definition;
  head.args.clear();
  if (!head.maxactive) head.maxactive = 0;
  std::string text = listing(head, 0);
  if (!definition.maxactive && text.starts_with("r0")) text.erase(1, 1);
  for (const model::FetchArg& arg : definition.args) {
    text += fmt::format(" {}={}:{}", arg.name, expression_text(definition, arg.expr), type_text(arg.type));
    if (!arg.length) continue;
    const std::string length = expression_text(definition, arg.length->expr) + ":" + type_text(arg.length->type);
    text += arg.type.is_counted ? fmt::format("[{}{}]", arg.length->is_end ? ".." : "", length)
                                : fmt::format("({})", length);
  }
  return text;
}

}  // namespace kevt::layout

// What an argument reads, and with which type, once its operand has a type.
//
//   count            ->  of type u64               name of std::string   ->  +0(+0(name)):string(+8(name))
//   sizes of std::vector<int>  ->  +0(+0(sizes)):s32[..+8(sizes)]
//   s:string         ->  +0(s):string where s is a `char *`            st:enum  ->  its value and the names
#include "compiler/sema/typed_argument.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "compiler/model/enum_names.h"
#include "compiler/sema/list_object.h"
#include "compiler/sema/text_object.h"
#include "grammar/parse_definition_text.h"

namespace kevt::sema {
namespace {

using model::FetchArg;
using model::TypeKind;
using target::TypeClass;
using target::TypeSource;

bool is_text(TypeKind kind) { return kind == TypeKind::String || kind == TypeKind::UserString; }

// Sets the type of an argument that has none written.
void imply_type(const ResolvedOperand& operand, TypeSource source, model::TypeSpec& spec) {
  const target::Type& type = operand.table->type(operand.type);
  const bool whole = type.bytes == 1 || type.bytes == 2 || type.bytes == 4 || type.bytes == 8;
  if (type.kind == TypeClass::Enum) {
    spec.kind = TypeKind::Signed;
    const bool four = source == TypeSource::Kernel || !whole;
    spec.bytes = four && type.bytes != 8 ? 4 : static_cast<std::uint8_t>(type.bytes);
  } else if (type.kind == TypeClass::Integer && whole) {
    spec.kind = type.is_signed ? TypeKind::Signed : TypeKind::Unsigned;
    spec.bytes = static_cast<std::uint8_t>(type.bytes);
  } else if (type.kind == TypeClass::Float) {
    spec.kind = TypeKind::Float;
    spec.bytes = static_cast<std::uint8_t>(type.bytes);
  }
  if (operand.bit_size % 8 == 0 && operand.bit_offset == 0) return;
  spec.bit_width = static_cast<std::uint8_t>(operand.bit_size);
  spec.bit_offset = static_cast<std::uint8_t>(operand.bit_offset);
}

// Whether the type is an array of numbers that an argument can hold.
bool is_shown_whole(const target::TypeTable& table, target::TypeId array) {
  constexpr std::uint32_t kMostItems = 64;  // MAX_ARRAY_LEN
  const target::Type& type = table.type(array);
  if (type.kind != TypeClass::Array) return false;
  const target::Type& item = table.type(table.strip(type.target));
  const bool is_number =
      item.kind == TypeClass::Integer || item.kind == TypeClass::Enum || item.kind == TypeClass::Float;
  const bool is_whole = item.bytes == 1 || item.bytes == 2 || item.bytes == 4 || item.bytes == 8;
  return is_number && is_whole && type.count != 0 && type.count <= kMostItems;
}

// The same for an array that lies in memory: text, or its numbers. Of a program only: a kernel takes the first 8 bytes.
// False: it is no such array, and nothing was done.
bool imply_array(const FetchArg& arg, const ResolvedOperand& operand, TypeSource source, model::TypeSpec& spec) {
  const target::TypeTable& table = *operand.table;
  const target::Type& type = table.type(operand.type);
  if (source != TypeSource::DebugInformation || type.kind != TypeClass::Array || arg.expr.dereferences.empty())
    return false;
  const target::TypeId item = table.strip(type.target);
  const target::Type& of_item = table.type(item);
  if (table.name(of_item.name) == "char") {
    spec.kind = TypeKind::String;
    spec.bytes = model::kDataLocBytes;
    return true;
  }
  if (!is_shown_whole(table, operand.type)) return false;
  imply_type({.table = operand.table, .type = item}, source, spec);
  spec.array_count = type.count;
  return true;
}

// Makes a `T &` read the object that it refers to, if that is a number, a string object or a list.
void follow_reference(FetchArg& arg, ResolvedOperand& operand) {
  const target::TypeTable& table = *operand.table;
  const target::Type& type = table.type(operand.type);
  if (type.kind != TypeClass::Pointer || !type.is_reference) return;
  const target::TypeId referred = table.strip(type.target);
  const TypeClass kind = table.type(referred).kind;
  const bool is_number = kind == TypeClass::Integer || kind == TypeClass::Enum || kind == TypeClass::Float;
  const auto array = array_in(table, referred);
  const bool is_array = array && is_shown_whole(table, *array);
  if (!is_number && !is_array && !text_object(table, referred) && !list_object(table, referred)) return;
  arg.expr.dereferences.push_back({.offset = 0});
  operand.type = referred;
}

// Reads the word at byte `offset` of an object. `object` is the expression that reads the object's first word, from
// memory or from an argument register; in registers the next words are the next arguments.
model::FetchExpr word_of(model::FetchExpr object, std::uint32_t offset) {
  constexpr std::uint32_t kWord = 8;
  if (!object.dereferences.empty())
    object.dereferences.back().offset += offset;
  else if (auto* argument = std::get_if<model::ArgumentBase>(&object.base))
    argument->number += offset / kWord;
  return object;
}

// If the operand is a string object (std::string etc.), or points to one and `string` is written, makes the argument
// read its text. False: neither, nothing was done.
bool read_text_object(FetchArg& arg, const ResolvedOperand& operand) {
  if (arg.type.written && !is_text(arg.type.kind)) return false;
  const target::TypeTable& table = *operand.table;
  const target::Type& type = table.type(operand.type);
  const bool is_pointer = type.kind == TypeClass::Pointer;
  if (is_pointer && !arg.type.written) return false;  // an address, as of every pointer
  const auto object = text_object(table, is_pointer ? type.target : operand.type);
  if (!object) return false;
  if (is_pointer) arg.expr.dereferences.push_back({.offset = 0});
  const bool is_argument = std::holds_alternative<model::ArgumentBase>(arg.expr.base);
  if (arg.expr.dereferences.empty() && (!object->length || !is_argument)) return false;
  if (object->length && !arg.length)
    arg.length = {.expr = word_of(arg.expr, *object->length), .type = {.kind = TypeKind::Unsigned}};
  arg.expr = word_of(std::move(arg.expr), object->address);
  arg.expr.dereferences.push_back({.offset = 0});
  if (!arg.type.written) {
    arg.type.kind = TypeKind::String;
    arg.type.bytes = model::kDataLocBytes;
  }
  return true;
}

// If the operand is a list (std::vector etc.), makes the argument read its items. `hex` of a list of bytes, or of a
// pointer to one, is its bytes. False: neither, nothing was done.
bool read_list_object(FetchArg& arg, const ResolvedOperand& operand) {
  const target::TypeTable& table = *operand.table;
  const target::Type& type = table.type(operand.type);
  const bool is_pointer = type.kind == TypeClass::Pointer;
  const bool is_hex = arg.type.written && arg.type.kind == TypeKind::HexBytes && arg.type.array_count == 0;
  if (is_hex ? false : arg.type.written || is_pointer) return false;
  const auto list = list_object(table, is_pointer ? type.target : operand.type);
  if (!list || (is_hex && list->type.bytes != 1)) return false;
  if (is_pointer) arg.expr.dereferences.push_back({.offset = 0});
  if (arg.expr.dereferences.empty() && !std::holds_alternative<model::ArgumentBase>(arg.expr.base)) return false;
  arg.length = {.expr = word_of(arg.expr, list->length), .type = {.kind = TypeKind::Unsigned}, .is_end = list->is_end};
  arg.expr = word_of(std::move(arg.expr), list->address);
  arg.expr.dereferences.push_back({.offset = 0});
  const model::TypeSpec written = std::exchange(arg.type, list->type);
  if (!is_hex) return true;
  arg.type.kind = TypeKind::HexBytes;
  arg.type.written = true;
  arg.type.text = written.text;
  arg.type.span = written.span;
  return true;
}

// `string` of a `char *` reads the bytes that it points to; `string` of a `char []` reads the array.
void prepare_text(const DefinitionCheck& check, std::size_t index, const ResolvedOperand& operand) {
  FetchArg& arg = check.definition.args[index];
  const target::TypeTable& table = *operand.table;
  const target::Type& type = table.type(operand.type);
  // With a length the pointer may point to bytes of any type.
  const bool text =
      table.type(table.strip(type.target)).is_text || (arg.length.has_value() && type.kind == TypeClass::Pointer);
  if (type.kind == TypeClass::Array && text) return;
  if (text) {
    const bool user = arg.type.kind == TypeKind::UserString;
    arg.expr.dereferences.push_back(
        {.offset = 0, .space = user ? model::AddressSpace::User : model::AddressSpace::Default});
    return;
  }
  check.report({.kind = diag::Kind::BadType4str,
                .column = arg.expr.dereferences.empty() && operand.field_column != 0 ? operand.field_column
                                                                                     : body_column(check, arg),
                .order = diag::argument_order(index, diag::kArgStoreSize),
                .note = fmt::format("it is `{}`", table.type_text(operand.type))});
}

bool is_bool(const target::TypeTable& table, const target::Type& type) {
  const std::string_view name = table.name(type.name);
  return type.kind == TypeClass::Integer && type.bytes == 1 && (name == "bool" || name == "_Bool");
}

// `enum`: takes the names of the values from the enumeration's declaration. A `bool` has two.
void name_values(const DefinitionCheck& check, TypeSource source, std::size_t index, const ResolvedOperand& operand) {
  FetchArg& arg = check.definition.args[index];
  const target::TypeTable& table = *operand.table;
  const target::Type& type = table.type(operand.type);
  const bool has_names =
      type.kind == TypeClass::Enum ? type.count != 0 && type.count <= model::kMostEnumNames : is_bool(table, type);
  if (!has_names || arg.type.array_count != 0) {
    check.report({.kind = diag::Kind::BadType,
                  .column = arg.type.span.begin,
                  .order = diag::argument_order(index, diag::kArgType),
                  .note = fmt::format("it is `{}`, not an enumeration of up to {} names", table.type_text(operand.type),
                                      model::kMostEnumNames)});
    return;
  }
  model::TypeSpec implied;
  imply_type(operand, source, implied);
  arg.type.bytes = implied.bytes;
  if (operand.bit_size != 0 && operand.bit_size < 8u * implied.bytes) {
    implied.bit_width = static_cast<std::uint8_t>(operand.bit_size);
    implied.bit_offset = static_cast<std::uint8_t>(operand.bit_offset);
  } else {
    implied.bit_width = implied.bit_offset = 0;
  }
  arg.type.bit_width = implied.bit_width;
  arg.type.bit_offset = implied.bit_offset;
  model::EnumNames names;
  // As the record has them: the bits of a bit field without a sign, all others with one.
  const unsigned unused = 64 - (implied.bit_width != 0 ? implied.bit_width : 8u * implied.bytes);
  if (type.kind != TypeClass::Enum) names = {{.value = 0, .name = "false"}, {.value = 1, .name = "true"}};
  for (const target::Member& name : table.members(type)) {
    if (!grammar::is_good_name(table.name(name.name))) continue;  // of a damaged file: `format` cannot show it
    const auto bits = static_cast<std::uint64_t>(target::value_of(name)) << unused;
    const auto value =
        implied.bit_width != 0 ? static_cast<std::int64_t>(bits >> unused) : static_cast<std::int64_t>(bits) >> unused;
    names.push_back({.value = value, .name = std::string(table.name(name.name))});
  }
  arg.type.names = std::make_shared<const model::EnumNames>(std::move(names));
}

}  // namespace

void take_operand(DefinitionCheck& check, TypeSource source, std::size_t index, ResolvedOperand operand) {
  FetchArg& arg = check.definition.args[index];
  if (operand.base) arg.expr.base = *operand.base;
  arg.needs_types = false;
  // If dereferences are written around the operand, the value they read has no known type.
  const bool outermost = arg.expr.dereferences.empty();
  arg.expr.field_column = operand.field_column;
  const auto added = operand.dereferences;
  arg.expr.dereferences.insert(arg.expr.dereferences.begin(), added.begin(), added.end());
  if (!outermost || operand.table == nullptr) return;
  follow_reference(arg, operand);
  if (read_text_object(arg, operand) || read_list_object(arg, operand)) return;
  if (!arg.type.written) {
    operand.type = array_in(*operand.table, operand.type).value_or(operand.type);
    if (!imply_array(arg, operand, source, arg.type)) imply_type(operand, source, arg.type);
  } else if (is_text(arg.type.kind)) {
    prepare_text(check, index, operand);
  } else if (arg.type.kind == TypeKind::Enum && !arg.type.names) {
    name_values(check, source, index, operand);
  }
}

}  // namespace kevt::sema

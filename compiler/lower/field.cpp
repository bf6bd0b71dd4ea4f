// How the type decides what becomes of a datum: one value and one store, or an array store.
//
//   +0(%si):s16        v1 = load u2 v0+0; v2 = narrow s2 v1; store int2 v2
//   %di:b4@2/8         v1 = bits 2:4 v0; store int1 v1
//   +0(%si):string     v1 = string v0+0; store string v1
//   +0(%si):string(%dx)  v2 = counted v0+0 of v1; store string v2
//   +0(%si):u8[16]     store int1[16] v0+0
//   +0(%si):u8[4]      four loads, four stores
//   +0(%si):s32[%dx]   store int4[64] v0+0 of v1
//   +0(%si):be16       v1 = load u2 v0+0; v2 = byte_swap u2 v1; store int2 v2
//
// Arrays of 1, 2, 4 or 8 bytes are spelled out as single items since the kernel's filters compare
// such a field as one integer (select_comparison_fn goes by size alone), and what is compared has to be
// what is recorded. It mirrors traceprobe_parse_probe_arg_body of kernel/trace/trace_probe.c (6.1).
#include "compiler/lower/field.h"

#include "common/assert.h"

namespace kevt::lower {

using ir::Store;
using ir::StoreKind;
using ir::ValueId;
using model::TypeKind;

namespace {

bool is_string(TypeKind kind) {
  return kind == TypeKind::String || kind == TypeKind::UserString || kind == TypeKind::SymbolString;
}

bool is_integer_size(std::uint32_t bytes) { return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8; }

// The value of one integer of `type`, as it is recorded and compared.
ValueId integer_value(const Fetched& datum, const model::TypeSpec& type, ValueTable& values) {
  const ValueId raw = datum.offset ? values.load(datum.value, *datum.offset, type.bytes, datum.space) : datum.value;
  if (type.bit_width != 0) return values.bits(raw, type.bit_offset, type.bit_width);
  if (type.kind == TypeKind::BigEndian) return values.byte_swap(raw, type.bytes);
  return values.narrow(raw, type.bytes, model::is_signed_number(type.kind));
}

ValueId text_value(const model::FetchArg& arg, const Fetched& datum, const model::Definition& definition,
                   ValueTable& values) {
  const bool is_text = std::holds_alternative<model::CommBase>(arg.expr.base) ||
                       std::holds_alternative<model::ImmediateStringBase>(arg.expr.base);
  if (is_text) return datum.value;
  if (arg.type.kind == TypeKind::SymbolString)
    return values.symbol_text(datum.offset ? values.load(datum.value, *datum.offset, kWordBytes, datum.space)
                                           : datum.value);
  const model::AddressSpace space = arg.type.kind == TypeKind::UserString ? model::AddressSpace::User : datum.space;
  const std::int64_t offset = datum.offset.value_or(0);
  if (!arg.length) return values.string(datum.value, offset, space);
  const ValueId bytes = integer_value(lower_fetch(arg.length->expr, definition, values), arg.length->type, values);
  return values.counted_string(datum.value, offset, space, bytes);
}

Store integer_store(ValueId value, std::uint32_t offset, std::uint8_t bytes) {
  return {.kind = StoreKind::Integer, .value = value, .offset = offset, .bytes = bytes};
}

LoweredField array_of_items(const Fetched& datum, const model::RecordField& field, ValueTable& values) {
  model::TypeSpec item = field.type;
  if (model::is_signed_number(item.kind)) item.kind = TypeKind::Unsigned;  // the bytes are the same
  PackedField packed{.items = {}, .item_bytes = item.bytes};
  std::vector<Store> stores;
  for (std::uint32_t at = 0; at < field.size; at += item.bytes) {
    const ValueId value = integer_value({datum.value, *datum.offset + at, datum.space}, item, values);
    packed.items.push_back(value);
    stores.push_back(integer_store(value, field.offset + at, item.bytes));
  }
  if (!is_integer_size(field.size)) return {OpaqueField{}, std::move(stores)};
  return {std::move(packed), std::move(stores)};
}

LoweredField counted_array(const model::FetchArg& arg, const Fetched& datum, const model::RecordField& field,
                           const model::Definition& definition, ValueTable& values) {
  const model::Length& length = *arg.length;
  return {OpaqueField{},
          {{.kind = StoreKind::CountedArray,
            .value = datum.value,
            .offset = field.offset,
            .bytes = field.type.bytes,
            .count = field.type.array_count,
            .imm = *datum.offset,
            .from_user = datum.space == model::AddressSpace::User,
            .length = integer_value(lower_fetch(length.expr, definition, values), length.type, values),
            .length_is_end = length.is_end}}};
}

LoweredField array_field(const Fetched& datum, const model::RecordField& field, ValueTable& values) {
  KEVT_ASSERT(datum.offset.has_value());  // sema: arrays only over memory
  const bool is_text = is_string(field.type.kind);
  const bool is_swapped = field.type.kind == TypeKind::BigEndian;
  if (!is_text && (is_swapped || is_integer_size(field.size))) return array_of_items(datum, field, values);
  Store store{.kind = is_text ? StoreKind::TextArray : StoreKind::IntegerArray,
              .value = datum.value,
              .offset = field.offset,
              .bytes = is_text ? model::kDataLocBytes : field.type.bytes,
              .count = field.type.array_count,
              .imm = *datum.offset,
              .from_user = datum.space == model::AddressSpace::User,
              .texts_from_user = field.type.kind == TypeKind::UserString};
  if (field.type.kind == TypeKind::Bitfield) {
    store.shift = field.type.bit_offset;
    store.width = field.type.bit_width;
  }
  return {OpaqueField{}, {store}};
}

LoweredField argument_field(const model::FetchArg& arg, const Fetched& datum, const model::RecordField& field,
                            const model::Definition& definition, ValueTable& values) {
  if (field.type.is_counted) return counted_array(arg, datum, field, definition, values);
  if (field.type.array_count > 0) return array_field(datum, field, values);
  if (is_string(field.type.kind)) {
    const ValueId text = text_value(arg, datum, definition, values);
    const Store store{.kind = StoreKind::Text, .value = text, .offset = field.offset, .bytes = model::kDataLocBytes};
    return {TextField{text}, {store}};
  }
  const ValueId value = integer_value(datum, field.type, values);
  return {IntegerField{value}, {integer_store(value, field.offset, field.type.bytes)}};
}

}  // namespace

LoweredField lower_field(const model::Definition& definition, const model::RecordField& field, ValueTable& values) {
  switch (field.role) {
    case model::FieldRole::ProbeIp:
    case model::FieldRole::ProbeFunc:
      return {IntegerField{values.plain(ir::Op::ProbeAddress)}, {}};
    case model::FieldRole::ProbeRetIp:
      return {IntegerField{values.plain(ir::Op::ReturnAddress)}, {}};
    case model::FieldRole::Argument:
      break;
  }
  const model::FetchArg& arg = definition.args.at(field.arg_index);
  // A function that returns a floating point number returns it in %xmm0.
  const bool is_returned_float = arg.type.kind == TypeKind::Float && arg.expr.dereferences.empty() &&
                                 std::holds_alternative<model::ReturnValueBase>(arg.expr.base);
  const Fetched datum = is_returned_float ? Fetched{values.vector(0), {}} : lower_fetch(arg.expr, definition, values);
  return argument_field(arg, datum, field, definition, values);
}

}  // namespace kevt::lower

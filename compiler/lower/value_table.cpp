// Value numbering: equal values are made once, so a field that a filter reads and a store records is
// fetched once, and two arguments that start from the same pointer share it.
//
//   a=+0(%si):u32 b=+8(%si):u32     one `reg si`, two loads
//
// Every op may be shared, Load too: a program sees one moment, and a value is fetched at most once.
// Search is linear: a definition has at most 128 arguments of 16 steps.
#include "compiler/lower/value_table.h"

#include <algorithm>

namespace kevt::lower {

using ir::Op;
using ir::Value;
using ir::ValueId;

namespace {

template <class Items, class Same>
std::size_t find_or_append(Items& items, const typename Items::value_type& item, Same same) {
  const auto found = std::ranges::find_if(items, [&](const auto& other) { return same(item, other); });
  const auto index = static_cast<std::size_t>(found - items.begin());
  if (found == items.end()) items.push_back(item);
  return index;
}

}  // namespace

std::uint64_t narrow_constant(std::uint64_t number, std::uint8_t bytes, bool is_signed) {
  const unsigned unused = 64 - 8 * bytes;
  const std::uint64_t shifted = number << unused;
  return is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(shifted) >> unused) : shifted >> unused;
}

ValueId ValueTable::add(const Value& value) {
  return static_cast<ValueId>(find_or_append(program_.values, value, std::equal_to<>()));
}

ValueId ValueTable::immediate(std::uint64_t number) {
  return add({.op = Op::Immediate, .imm = static_cast<std::int64_t>(number)});
}

ValueId ValueTable::reg(std::uint32_t offset) { return add({.op = Op::Register, .imm = offset}); }

ValueId ValueTable::vector(std::uint32_t number) { return add({.op = Op::Vector, .imm = number}); }

ValueId ValueTable::slot(const model::SlotSource& source) { return add({.op = Op::Slot, .imm = slot_number(source)}); }

ValueId ValueTable::thread_local_variable(const std::string& symbol, std::int64_t offset) {
  return add({.op = Op::ThreadLocal, .imm = slot_number({model::SlotKind::ThreadLocal, symbol, offset})});
}

ValueId ValueTable::span_context(ValueId pointer) { return add({.op = Op::SpanContext, .a = pointer}); }

std::int64_t ValueTable::slot_number(const model::SlotSource& source) {
  const auto same = [](const model::SlotSource& a, const model::SlotSource& b) {
    return a.kind == b.kind && a.name == b.name && a.addend == b.addend;
  };
  return static_cast<std::int64_t>(find_or_append(program_.slots, source, same));
}

ValueId ValueTable::load(ValueId address, std::int64_t offset, std::uint8_t bytes, model::AddressSpace space) {
  const bool from_user = space == model::AddressSpace::User;
  return add({.op = Op::Load, .a = address, .imm = offset, .bytes = bytes, .from_user = from_user});
}

ValueId ValueTable::bits(ValueId value, std::uint8_t shift, std::uint8_t width) {
  return add({.op = Op::Bits, .a = value, .shift = shift, .width = width});
}

// Whether narrowing would not change `id`.
bool ValueTable::fits(ValueId id, std::uint8_t bytes, bool is_signed) const {
  const Value& value = program_.values[id];
  if (bytes == 8) return true;
  switch (value.op) {
    case Op::Load:
      return value.bytes < bytes || (value.bytes == bytes && !is_signed);
    case Op::Bits:
      return value.width < 8 * bytes || (value.width == 8 * bytes && !is_signed);
    case Op::Narrow:
    case Op::ByteSwap:
      if (value.is_signed) return is_signed && value.bytes <= bytes;
      return value.bytes < bytes || (value.bytes == bytes && !is_signed);
    default:
      return ir::row_of(value.op).bits <= 32 && bytes == 4 && !is_signed;
  }
}

ValueId ValueTable::narrow(ValueId value, std::uint8_t bytes, bool is_signed) {
  if (fits(value, bytes, is_signed)) return value;
  const Value& of = program_.values[value];
  if (of.op == Op::Immediate) return immediate(narrow_constant(static_cast<std::uint64_t>(of.imm), bytes, is_signed));
  return add({.op = Op::Narrow, .a = value, .bytes = bytes, .is_signed = is_signed});
}

ValueId ValueTable::float_order(ValueId value, std::uint8_t bytes) {
  return add({.op = Op::FloatOrder, .a = value, .bytes = bytes});
}

ValueId ValueTable::byte_swap(ValueId value, std::uint8_t bytes) {
  return add({.op = Op::ByteSwap, .a = value, .bytes = bytes});
}

ValueId ValueTable::string(ValueId address, std::int64_t offset, model::AddressSpace space) {
  const bool from_user = space == model::AddressSpace::User;
  return add({.op = Op::String, .a = address, .imm = offset, .from_user = from_user});
}

ValueId ValueTable::counted_string(ValueId address, std::int64_t offset, model::AddressSpace space, ValueId bytes) {
  const bool from_user = space == model::AddressSpace::User;
  return add({.op = Op::CountedString, .a = address, .b = bytes, .imm = offset, .from_user = from_user});
}

ValueId ValueTable::located(ValueId word) { return add({.op = Op::Located, .a = word}); }

ValueId ValueTable::symbol_text(ValueId address) { return add({.op = Op::SymbolText, .a = address}); }

ValueId ValueTable::text(const std::string& bytes) {
  const std::size_t index = find_or_append(program_.texts, bytes, std::equal_to<>());
  return add({.op = Op::ImmediateText, .imm = static_cast<std::int64_t>(index)});
}

ValueId ValueTable::entry_argument(std::uint32_t number) { return add({.op = Op::EntryArgument, .imm = number}); }

ValueId ValueTable::plain(Op op) { return add({.op = op}); }

}  // namespace kevt::lower

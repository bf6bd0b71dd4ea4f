// Which numbers of a program depend on the layout of types.
//
//   p vfs_read ino=file->f_inode->i_ino       v0 = reg di; v1 = load8 v0+32; v2 = load8 v1+64
//   open: reg ?, load8 v0+?, load8 v1+?       numbers  112 32 64
//
// Problem: sema has replaced names by numbers, so `+20(%di)` and `file->f_mode` look alike here. Idea: they need not be
// told apart. All offsets, argument registers and places of bits are left open. Where the code runs, the program is
// made again from the definition's text and has the right number for each, whether types or the user gave it.
#include "compiler/ir/type_relocations.h"

#include <algorithm>
#include <cstddef>

#include "common/abi/registers.h"
#include "compiler/ir/shape.h"
#include "compiler/ir/text.h"

namespace kevt::ir {

namespace {

std::int64_t mask_of(std::uint8_t width) {
  return width >= 64 ? -1 : static_cast<std::int64_t>((std::uint64_t{1} << width) - 1);
}

bool holds_argument(std::int64_t offset, model::BpfContext context) {
  return std::ranges::any_of(argument_registers(context), [&](std::uint32_t one) { return one == offset; });
}

class Collector {
 public:
  Collector(const Program& program, model::BpfContext context) : program_(program), context_(context) {}

  std::vector<TypeRelocation> collect() {
    for (ValueId id = 0; id < program_.values.size(); ++id) take(id);
    for (std::size_t i = 0; i < program_.stores.size(); ++i) {
      const Store& store = program_.stores[i];
      if (is_array(store.kind)) add(store_position(program_, i), TypeRelocationKind::Offset, store.imm);
    }
    return std::move(numbers_);
  }

 private:
  void add(std::uint32_t position, TypeRelocationKind kind, std::int64_t word) {
    numbers_.push_back({position, kind, word});
  }
  void take(ValueId id) {
    const Value& value = program_.values[id];
    const std::uint32_t position = value_position(id);
    if (row_of(value.op).fault == Fault::Reads) add(position, TypeRelocationKind::Offset, value.imm);
    if (value.op == Op::Register && holds_argument(value.imm, context_))
      add(position, TypeRelocationKind::Register, value.imm);
    if (value.op == Op::EntryArgument) {
      const auto numbers = entry_arguments(program_);
      add(position, TypeRelocationKind::EntryArgument, std::ranges::find(numbers, value.imm) - numbers.begin());
    }
    if (value.op != Op::Bits) return;
    add(position, TypeRelocationKind::Shift, value.shift);
    add(position, TypeRelocationKind::Mask, mask_of(value.width));
  }

  const Program& program_;
  model::BpfContext context_;
  std::vector<TypeRelocation> numbers_;
};

}  // namespace

std::vector<std::uint32_t> argument_registers(model::BpfContext context) {
  if (context != model::BpfContext::RawTracepoint)
    return {offsetof(kevt_registers, di), offsetof(kevt_registers, si), offsetof(kevt_registers, dx),
            offsetof(kevt_registers, cx), offsetof(kevt_registers, r8), offsetof(kevt_registers, r9)};
  std::vector<std::uint32_t> words;
  for (std::uint32_t i = 0; i < model::kMaxContextArguments; ++i) words.push_back(8 * i);
  return words;
}

std::vector<TypeRelocation> type_relocations(const Program& program, model::BpfContext context) {
  return Collector(program, context).collect();
}

std::string layout_shape(const Program& program, model::BpfContext context) {
  Program shape = program;
  for (const TypeRelocation& number : type_relocations(program, context)) {
    if (number.position >= shape.values.size()) {
      shape.stores[number.position - shape.values.size()].imm = 0;
      continue;
    }
    Value& value = shape.values[number.position];
    value.imm = value.op == Op::Register ? argument_registers(context).front() : 0;
    value.shift = 0;
    value.width = value.op == Op::Bits ? 1 : 0;
  }
  return "layout\n" + print(shape);
}

}  // namespace kevt::ir

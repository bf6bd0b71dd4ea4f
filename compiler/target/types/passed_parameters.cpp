// A register that a parameter is in before the first instruction has run is the one that it was passed in. So if debug
// information has it in another register than the ABI, the caller has passed something else:
//
//   fn value(&self, count: u32, price: f64)      LLVM has removed `self`: count is in %di, and %si is left over
//
// Of a parameter that has no place at all nothing is known, if the compiler may have removed it.
#include "compiler/target/types/passed_parameters.h"

#include <dwarf.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "compiler/target/target_env.h"
#include "compiler/target/types/dwarf_die.h"
#include "compiler/target/types/late_sections.h"
#include "compiler/target/types/variable_location.h"

namespace kevt::target {

VariableLocation passed_location(const TypeTable& types, const Member& parameter) {
  constexpr std::uint32_t kWord = 8;
  const auto general = [](std::uint32_t number) -> VariableLocation {
    const ArgumentLocation where = argument_location(number);
    if (!where.in_register) return {.base = VariableLocation::Base::Register, .reg = "sp", .offset = where.offset};
    return {.base = VariableLocation::Base::Register, .reg = std::string(register_at(where.offset)), .is_value = true};
  };
  if (parameter.bit_size != 0)
    return {.base = VariableLocation::Base::Register,
            .reg = vector_register_name(parameter.bit_size - 1),
            .is_value = true};
  if (parameter.bit_offset == 0)
    return {.why = "it is passed in no register that is known; what lies on the stack is `+8(%sp)` and on"};
  const Type& type = types.type(types.strip(parameter.type));
  const bool is_structure = type.kind == TypeClass::Struct || type.kind == TypeClass::Union;
  if (!is_structure || type.bytes <= kWord) return general(parameter.bit_offset);
  VariableLocation whole{.base = VariableLocation::Base::Pieces};
  for (std::uint32_t at = 0; at < std::min(type.bytes, 2 * kWord); at += kWord) {
    whole.pieces.push_back(general(parameter.bit_offset + at / kWord));
    whole.pieces.back().bytes = kWord;
  }
  return whole;
}

namespace {

bool is_whole_register(const VariableLocation& where) {
  return where.base == VariableLocation::Base::Register && where.is_value && where.reads.empty() && where.offset == 0;
}

// Whether the ABI passes parameters in it. A place that holds for the whole function may be another register, which has
// the value only behind the prologue.
bool is_passing(std::string_view reg) {
  for (std::uint32_t number = 1; argument_location(number).in_register; ++number)
    if (register_at(argument_location(number).offset) == reg) return true;
  for (std::uint32_t number = 0; number < kVectorArguments; ++number)
    if (vector_register_name(number) == reg) return true;
  return false;
}

// Whether the compiler may have removed parameters of it, and kept its name.
bool may_have_lost_parameters(Dwarf_Die& function) {
  Dwarf_Attribute attribute;
  if (dwarf_attr_integrate(&function, DW_AT_external, &attribute) != nullptr) return false;
  Dwarf_Die unit;
  if (dwarf_diecu(&function, &unit, nullptr, nullptr) == nullptr ||
      dwarf_attr(&unit, DW_AT_producer, &attribute) == nullptr)
    return false;
  const char* text = text_of(attribute);
  const std::string_view producer = text ? text : "";
  return std::ranges::any_of(std::initializer_list<std::string_view>{"LLVM", "clang", "rustc"},
                             [&](std::string_view name) { return producer.contains(name); });
}

bool has_place(Dwarf_Die& parameter) {
  Dwarf_Attribute attribute;
  return dwarf_attr_integrate(&parameter, DW_AT_location, &attribute) != nullptr ||
         dwarf_attr_integrate(&parameter, DW_AT_const_value, &attribute) != nullptr;
}

}  // namespace

bool passes_otherwise(Dwarf_Die& function, Dwarf_Addr entry, const TypeTable& types,
                      std::span<const Member> parameters) {
  if (!may_have_lost_parameters(function)) return false;
  const LocationContext context{.address = entry, .function = &function};
  std::size_t next = 0;
  return any_child(function, [&](Dwarf_Die& child) {
    if (dwarf_tag(&child) != DW_TAG_formal_parameter || next == parameters.size()) return false;
    const Member& parameter = parameters[next++];
    if (!has_place(child)) return true;
    const VariableLocation expected = passed_location(types, parameter);
    if (!is_whole_register(expected)) return false;
    const VariableLocation described = variable_location(child, context);
    return is_whole_register(described) && is_passing(described.reg) && described.reg != expected.reg;
  });
}

}  // namespace kevt::target

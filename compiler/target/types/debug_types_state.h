// What is known of a file's types. Private to debug_types.cpp and source_places.cpp.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <deque>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "compiler/target/types/debug_types.h"
#include "compiler/target/types/open_dwarf.h"
#include "compiler/target/types/type_table.h"

namespace kevt::target {

struct DebugTypes::State {
  // If the file has no debug information that can be read, `dwarf` stays empty and `why` says so.
  State(const std::string& path, DwarfSections sections);

  std::optional<OpenDwarf> dwarf;
  std::string why;  // why there is no `dwarf`
  TypeTable table;
  std::unordered_map<const void*, TypeId> known;  // by the address of the DIE
  std::deque<std::pair<Dwarf_Die, TypeId>> open;  // place-holders to be filled
  struct Function {
    TypeId prototype = 0;  // its parameters are numbered
    // Callers do not pass arguments as the ABI has it: LLVM has removed some (DW_CC_nocall, passed_parameters.h).
    bool passes_otherwise = false;
  };
  std::unordered_map<std::uint64_t, Function> functions;
  std::uint32_t const_ = table.add_name("const ");
  std::uint32_t volatile_ = table.add_name("volatile ");

  TypeId type_of(Dwarf_Die& die);  // the type that its DW_AT_type refers to; 0: void
  TypeId take(Dwarf_Die& die);
  void fill_all();
  Type convert(Dwarf_Die& die);
  void convert_base(Dwarf_Die& die, Type& type);
  void convert_members(Dwarf_Die& die, Type& type);
  void convert_names(Dwarf_Die& die, Type& type);
  void convert_array(Dwarf_Die& die, Type& type);
  // The function that begins there; an error says why it is not described.
  std::expected<Function, std::string> function_at(Dwarf_Addr address, std::string_view name);
  TypeId add_prototype(Dwarf_Die& die);
  Type parameters_of(Dwarf_Die& die);
  void number_parameters(TypeId prototype, bool is_rust);
};

}  // namespace kevt::target

// Questions to one DIE, and walks over its children. Only code that uses elfutils includes this header.
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/target/types/late_sections.h"

namespace kevt::target {

inline constexpr unsigned kMaxScopes = 16;  // namespaces in namespaces

inline std::optional<Dwarf_Die> reference(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Die target;
  if (dwarf_attr_integrate(&die, name, &attribute) == nullptr || dwarf_formref_die(&attribute, &target) == nullptr)
    return std::nullopt;
  return target;
}

inline std::optional<std::uint64_t> number(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr_integrate(&die, name, &attribute) == nullptr || dwarf_formudata(&attribute, &value) != 0)
    return std::nullopt;
  return value;
}

inline std::string name_of(Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  const char* name = dwarf_attr_integrate(&die, DW_AT_name, &attribute) ? text_of(attribute) : nullptr;
  return name ? name : "";
}

// Calls visit(Dwarf_Die) for each unit.
template <class Visit>
void each_unit(Dwarf* dwarf, Visit visit) {
  Dwarf_Off at = 0, next = 0;
  std::size_t header = 0;
  Dwarf_Die die;
  while (dwarf_nextcu(dwarf, at, &next, &header, nullptr, nullptr, nullptr) == 0) {
    if (dwarf_offdie(dwarf, at + header, &die) != nullptr && read_unit_of(die)) visit(die);
    at = next;
  }
}

// Whether visit(CHILD) is true of a child; those behind it are not visited.
template <class Visit>
bool any_child(Dwarf_Die& die, Visit visit) {
  Dwarf_Die child;
  if (dwarf_child(&die, &child) != 0) return false;
  do {
    if (visit(child)) return true;
  } while (dwarf_siblingof(&child, &child) == 0);
  return false;
}

template <class Visit>
void each_child(Dwarf_Die& die, Visit visit) {
  any_child(die, [&](Dwarf_Die& child) {
    visit(child);
    return false;
  });
}

// Whether the DIE is of a unit that GCC or Clang made of C. Others say C of languages whose types have functions (Zig).
inline bool is_of_c(Dwarf_Die& die) {
  constexpr int kC17 = 0x2c;  // libdw 0.188 has no name for it
  Dwarf_Die unit;
  if (dwarf_diecu(&die, &unit, nullptr, nullptr) == nullptr) return false;
  const int language = dwarf_srclang(&unit);
  if (language != DW_LANG_C89 && language != DW_LANG_C && language != DW_LANG_C99 && language != DW_LANG_C11 &&
      language != kC17)
    return false;
  Dwarf_Attribute attribute;
  const char* text = dwarf_attr(&unit, DW_AT_producer, &attribute) != nullptr ? text_of(attribute) : nullptr;
  const std::string_view producer = text != nullptr ? text : "";
  return producer.starts_with("GNU C") || producer.contains("clang");
}

// Whether functions may be among the children of a DIE that has no code itself. Structures of C have members alone, and
// a large program's have millions.
inline bool holds_functions(Dwarf_Die& die) {
  const int tag = dwarf_tag(&die);
  return tag == DW_TAG_namespace || tag == DW_TAG_module ||
         ((tag == DW_TAG_class_type || tag == DW_TAG_structure_type) && !is_of_c(die));
}

// `name` without the arguments of a template: "larger" of "larger<int>". All instances have the source in common.
inline std::string_view without_template(std::string_view name) {
  return name.starts_with("operator") ? name : name.substr(0, name.find('<'));
}

// A source file's name as it is in the unit's tables, with the compiler's folder before a relative one: Clang writes
// the same file in both ways.
inline std::string whole_path(Dwarf_Die& unit, const char* name) {
  Dwarf_Attribute attribute;
  const char* folder = dwarf_attr(&unit, DW_AT_comp_dir, &attribute) != nullptr ? text_of(attribute) : nullptr;
  const bool is_whole = *name == '/' || folder == nullptr;
  return std::filesystem::path(is_whole ? std::string(name) : std::string(folder) + "/" + name).lexically_normal();
}

// A source file as the table of a unit names it.
struct SourceFileName {
  Dwarf_Die unit{};
  const char* name = nullptr;  // null: none is said; one text for all that the unit has of the file

  std::string path() { return name != nullptr ? whole_path(unit, name) : ""; }
};

// The source file in which `die` is declared. Unlike dwarf_decl_file(), which knows no file of the number 0 (libdw
// 0.188): since DWARF 5 that is the unit's own.
inline SourceFileName declaring_file(Dwarf_Die die) {
  for (unsigned depth = 0; depth < kMaxScopes; ++depth) {
    Dwarf_Attribute attribute;
    Dwarf_Die unit, origin;
    Dwarf_Word index = 0;
    Dwarf_Files* files = nullptr;
    std::size_t count = 0;
    if (dwarf_attr(&die, DW_AT_decl_file, &attribute) != nullptr) {
      if (dwarf_formudata(&attribute, &index) != 0 || dwarf_diecu(&die, &unit, nullptr, nullptr) == nullptr ||
          !read_lines_of(unit) || dwarf_getsrcfiles(&unit, &files, &count) != 0 || index >= count)
        return {};
      return {.unit = unit, .name = dwarf_filesrc(files, index, nullptr, nullptr)};
    }
    if ((dwarf_attr(&die, DW_AT_abstract_origin, &attribute) == nullptr &&
         dwarf_attr(&die, DW_AT_specification, &attribute) == nullptr) ||
        dwarf_formref_die(&attribute, &origin) == nullptr)
      return {};
    die = origin;
  }
  return {};
}

// The line in which a function is declared; where it is not said (Go), the line of its first instruction. 0: unknown.
inline int declaring_line(Dwarf_Die function) {
  int line = 0;
  Dwarf_Die unit;
  Dwarf_Addr entry = 0;
  if (dwarf_decl_line(&function, &line) == 0) return line;
  if (dwarf_entrypc(&function, &entry) != 0 || dwarf_diecu(&function, &unit, nullptr, nullptr) == nullptr ||
      !read_lines_of(unit))
    return 0;
  Dwarf_Line* row = dwarf_getsrc_die(&unit, entry);
  return row != nullptr && dwarf_lineno(row, &line) == 0 ? line : 0;
}

// Calls visit(FUNCTION, FILE, LINE) for each function that the unit defines, also for those without code of their own,
// and for those in functions (lambdas, local classes).
template <class Visit>
void each_function(Dwarf_Die& scope, unsigned depth, const Visit& visit) {
  each_child(scope, [&](Dwarf_Die& child) {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_subprogram && !dwarf_hasattr(&child, DW_AT_declaration)) {
      const int line = declaring_line(child);
      SourceFileName file = line > 0 ? declaring_file(child) : SourceFileName{};
      if (file.name != nullptr) visit(child, file, static_cast<std::uint32_t>(line));
    }
    if (depth < kMaxScopes && (tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block || holds_functions(child)))
      each_function(child, depth + 1, visit);
  });
}

}  // namespace kevt::target

// DWARF says of a function what BTF says of the kernel's: names and types of parameters, members of structures.
//
//   DIE subprogram openat (low_pc 0xf5d60): formal_parameter fd → base int; file → pointer → const → char; …
//   ->  Prototype (int fd, const char *file, int oflag, ...), arguments 1, 2, 3
//
// Problem: debug information is large and a graph with cycles. Idea: copy into a TypeTable the types that the functions
// asked about lead to, each DIE once; a DIE that is still to be copied has a place-holder, so cycles need no care.
// Which argument holds a parameter follows from the calling convention of x86-64: integers and pointers count, floating
// point does not; a small structure of integers and pointers takes as many arguments as it has words. After any other
// structure that is passed by value, the arguments of the following parameters are unknown.
#include "compiler/target/types/debug_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "compiler/target/elf/debug_file.h"
#include "compiler/target/types/debug_types_state.h"
#include "compiler/target/types/dwarf_die.h"
#include "compiler/target/types/passed_parameters.h"

namespace kevt::target {

namespace {

constexpr std::size_t kMaxTypes = 1u << 20;

// Whether calls enter the function at `address`; a function of several pieces begins with the first one.
bool enters_at(Dwarf_Die& die, Dwarf_Addr address) {
  Dwarf_Addr low = 0, base = 0, end = 0;
  if (dwarf_entrypc(&die, &low) == 0) return low == address;
  return dwarf_ranges(&die, 0, &base, &low, &end) > 0 && low == address;
}

// The function's DIE that has code at `address`.
bool find_function(Dwarf_Die& scope, Dwarf_Addr address, unsigned depth, Dwarf_Die& out) {
  bool found = false;
  each_child(scope, [&](Dwarf_Die& child) {
    if (found) return;
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_subprogram && enters_at(child, address)) {
      out = child;
      found = true;
    } else if (depth < kMaxScopes && holds_functions(child)) {
      found = find_function(child, address, depth + 1, out);
    }
  });
  return found;
}

}  // namespace

TypeId DebugTypes::State::type_of(Dwarf_Die& die) {
  auto target = reference(die, DW_AT_type);
  return target ? take(*target) : 0;
}

TypeId DebugTypes::State::take(Dwarf_Die& die) {
  if (table.size() > kMaxTypes) return 0;
  const auto [at, added] = known.try_emplace(die.addr, table.size());
  if (!added) return at->second;
  table.add({.kind = TypeClass::Other});
  open.emplace_back(die, at->second);
  return at->second;
}

void DebugTypes::State::fill_all() {
  while (!open.empty()) {
    auto [die, id] = open.front();
    open.pop_front();
    table.set(id, convert(die));
  }
}

void DebugTypes::State::convert_base(Dwarf_Die& die, Type& type) {
  const std::uint64_t encoding = number(die, DW_AT_encoding).value_or(0);
  const bool text = encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char;
  const bool whole = text || encoding == DW_ATE_signed || encoding == DW_ATE_unsigned || encoding == DW_ATE_boolean ||
                     encoding == DW_ATE_UTF;
  const bool is_float = encoding == DW_ATE_float && (type.bytes == 4 || type.bytes == 8);
  type.kind = whole ? TypeClass::Integer : is_float ? TypeClass::Float : TypeClass::Other;
  type.is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
  type.is_text = text && type.bytes == 1;
}

namespace {

// Whether a constructor copies or moves: its one argument is a reference to its class.
bool copies(Dwarf_Die& constructor, const Dwarf_Die& of) {
  unsigned arguments = 0;
  bool is_reference = false;
  each_child(constructor, [&](Dwarf_Die& child) {
    if (dwarf_tag(&child) != DW_TAG_formal_parameter || dwarf_hasattr(&child, DW_AT_artificial)) return;
    ++arguments;
    auto type = reference(child, DW_AT_type);
    if (!type || (dwarf_tag(&*type) != DW_TAG_reference_type && dwarf_tag(&*type) != DW_TAG_rvalue_reference_type))
      return;
    auto referred = reference(*type, DW_AT_type);
    if (referred && dwarf_tag(&*referred) == DW_TAG_const_type) referred = reference(*referred, DW_AT_type);
    is_reference = referred && referred->addr == of.addr;
  });
  return arguments == 1 && is_reference;
}

// Whether objects of the class cannot be copied byte by byte (Itanium C++ ABI, 3.1.2.3). Clang states it. g++ only
// lists the destructor and the copying and moving constructors: if one of them is user-provided, the class is passed by
// address.
bool goes_by_address(Dwarf_Die& die) {
  if (const auto convention = number(die, DW_AT_calling_convention)) return *convention == DW_CC_pass_by_reference;
  const std::string name = name_of(die);
  const std::string_view constructor = std::string_view(name).substr(0, name.find('<'));
  bool is_written = false, is_deleted = false, is_defaulted = false;
  each_child(die, [&](Dwarf_Die& child) {
    if (dwarf_tag(&child) != DW_TAG_subprogram) return;
    const std::string function = name_of(child);
    const bool is_destructor = function.starts_with('~');
    if (!is_destructor && (function != constructor || !copies(child, die))) return;
    if (dwarf_hasattr(&child, DW_AT_defaulted))
      is_defaulted = is_defaulted || !is_destructor;
    else if (dwarf_hasattr(&child, DW_AT_deleted))
      is_deleted = true;
    else
      is_written = true;
  });
  return is_written || (is_deleted && !is_defaulted);
}

}  // namespace

namespace {

// Before DWARF 4 a bit field's place counts from the highest bit of its storage (DW_AT_bit_offset); Clang 14 writes it
// so. The result counts from the lowest bit of the storage's first byte.
std::uint64_t old_bit_offset(Dwarf_Die& member) {
  const auto from_the_top = number(member, DW_AT_bit_offset), size = number(member, DW_AT_bit_size);
  auto storage = number(member, DW_AT_byte_size);
  if (auto type = reference(member, DW_AT_type); !storage && type) {
    Dwarf_Die plain;
    if (dwarf_peel_type(&*type, &plain) == 0) storage = number(plain, DW_AT_byte_size);
  }
  if (!from_the_top || !size || !storage || *storage > 8 || *from_the_top + *size > 8 * *storage) return 0;
  return 8 * *storage - *from_the_top - *size;
}

// Whether an enumeration has a sign: that of its underlying type, or else of its names' values.
bool has_sign(Dwarf_Die& enumeration) {
  Dwarf_Die plain;
  if (auto type = reference(enumeration, DW_AT_type); type && dwarf_peel_type(&*type, &plain) == 0) {
    const auto encoding = number(plain, DW_AT_encoding);
    return encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
  }
  return true;
}

}  // namespace

void DebugTypes::State::convert_members(Dwarf_Die& die, Type& type) {
  std::vector<Member> members;
  each_child(die, [&](Dwarf_Die& child) {
    const int tag = dwarf_tag(&child);
    type.has_more = type.has_more || tag == DW_TAG_inheritance || tag == DW_TAG_variant_part;
    // A base is a member without a name, whose members are found through it. A virtual base has no fixed place.
    const bool is_base = tag == DW_TAG_inheritance && !dwarf_hasattr(&child, DW_AT_virtuality);
    if (tag != DW_TAG_member && !is_base) return;
    const auto location = number(child, DW_AT_data_member_location);
    const auto bits = number(child, DW_AT_data_bit_offset);
    std::uint64_t offset = bits ? *bits : 8 * location.value_or(0);
    if (!bits) offset += old_bit_offset(child);
    if (offset > ~std::uint32_t{0} || dwarf_hasattr(&child, DW_AT_external)) return;
    members.push_back({.name = is_base ? 0 : table.add_name(name_of(child)),
                       .type = type_of(child),
                       .bit_offset = static_cast<std::uint32_t>(offset),
                       .bit_size = static_cast<std::uint32_t>(number(child, DW_AT_bit_size).value_or(0))});
  });
  type.count = static_cast<std::uint32_t>(members.size());
  type.first = table.add_members(members);
}

// An array of several dimensions is one of arrays.
void DebugTypes::State::convert_array(Dwarf_Die& die, Type& type) {
  std::vector<std::uint32_t> counts;
  each_child(die, [&](Dwarf_Die& child) {
    if (dwarf_tag(&child) != DW_TAG_subrange_type || counts.size() >= kMaxScopes) return;
    const auto count = number(child, DW_AT_count);
    const auto last = number(child, DW_AT_upper_bound);
    counts.push_back(static_cast<std::uint32_t>(count ? *count : last ? *last + 1 : 0));
  });
  TypeId item = type_of(die);
  for (; counts.size() > 1; counts.pop_back())
    item = table.add({.kind = TypeClass::Array, .target = item, .count = counts.back()});
  type.kind = TypeClass::Array;
  type.target = item;
  type.count = counts.empty() ? 0 : counts.front();
}

void DebugTypes::State::convert_names(Dwarf_Die& die, Type& type) {
  std::vector<Member> names;
  each_child(die, [&](Dwarf_Die& child) {
    Dwarf_Attribute attribute;
    if (dwarf_tag(&child) != DW_TAG_enumerator || dwarf_attr(&child, DW_AT_const_value, &attribute) == nullptr) return;
    // A constant in a form without a sign belongs to an unsigned enumeration.
    const unsigned form = dwarf_whatform(&attribute);
    Dwarf_Sword with_sign = 0;
    Dwarf_Word plain = 0;
    if (form == DW_FORM_sdata || form == DW_FORM_implicit_const) {
      if (dwarf_formsdata(&attribute, &with_sign) != 0) return;
    } else {
      if (dwarf_formudata(&attribute, &plain) != 0) return;
      with_sign = static_cast<Dwarf_Sword>(plain);
    }
    names.push_back(enumerator(table.add_name(name_of(child)), with_sign));
  });
  type.count = static_cast<std::uint32_t>(names.size());
  type.first = table.add_members(names);
}

Type DebugTypes::State::convert(Dwarf_Die& die) {
  Type type{.kind = TypeClass::Other,
            .bytes = static_cast<std::uint32_t>(number(die, DW_AT_byte_size).value_or(0)),
            .name = table.add_name(name_of(die))};
  switch (dwarf_tag(&die)) {
    case DW_TAG_base_type:
      convert_base(die, type);
      break;
    case DW_TAG_enumeration_type:
      type.kind = TypeClass::Enum;
      type.is_signed = has_sign(die);
      convert_names(die, type);
      break;
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
      type.kind = TypeClass::Pointer;
      // Rust's references are pointers that have a name, which is "&T" or "&mut T".
      type.is_reference = dwarf_tag(&die) != DW_TAG_pointer_type || name_of(die).starts_with('&');
      type.target = type_of(die);
      break;
    case DW_TAG_const_type:
    case DW_TAG_volatile_type:
    case DW_TAG_restrict_type:
    case DW_TAG_atomic_type:
    case DW_TAG_typedef:
      type.kind = TypeClass::Modifier;
      type.target = type_of(die);
      if (dwarf_tag(&die) == DW_TAG_typedef) break;
      type.prefix = dwarf_tag(&die) == DW_TAG_const_type      ? const_
                    : dwarf_tag(&die) == DW_TAG_volatile_type ? volatile_
                                                              : const_ + 6;  // nothing is written for it
      break;
    case DW_TAG_array_type:
      convert_array(die, type);
      break;
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
      if (dwarf_hasattr(&die, DW_AT_declaration)) break;
      type.kind = dwarf_tag(&die) == DW_TAG_union_type ? TypeClass::Union : TypeClass::Struct;
      type.goes_by_address = goes_by_address(die);
      convert_members(die, type);
      break;
    case DW_TAG_subroutine_type:
      return parameters_of(die);
    default:
      break;
  }
  return type;
}

// A Prototype whose parameters have no numbers yet.
Type DebugTypes::State::parameters_of(Dwarf_Die& die) {
  std::vector<Member> parameters;
  bool rest = false;
  each_child(die, [&](Dwarf_Die& child) {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_unspecified_parameters) rest = true;
    if (tag != DW_TAG_formal_parameter) return;
    parameters.push_back({.name = table.add_name(name_of(child)), .type = type_of(child)});
  });
  if (rest) parameters.push_back({});
  Type type{.kind = TypeClass::Prototype, .target = type_of(die)};
  type.count = static_cast<std::uint32_t>(parameters.size());
  type.first = table.add_members(parameters);
  return type;
}

namespace {

// The integers and pointers of an object and their offsets, if it consists of nothing else (class INTEGER of the System
// V ABI, 3.2.3).
class Scalars {
 public:
  struct Scalar {
    std::uint32_t bit_offset = 0, bytes = 0;
  };
  explicit Scalars(const TypeTable& table) : table_(table) {}
  // False: the object has something else, or more parts than a small object can have.
  bool take(TypeId id, std::uint32_t bit_offset, bool is_bit_field = false) {
    constexpr unsigned kMostSteps = 256;  // against unions of unions in a hostile file
    if (++steps_ > kMostSteps) return false;
    const Type& type = table_.type(table_.strip(id));
    switch (type.kind) {
      case TypeClass::Integer:
      case TypeClass::Enum:
      case TypeClass::Pointer: {
        const std::uint32_t bytes = type.kind == TypeClass::Pointer ? 8 : type.bytes;
        if (bytes == 0 || bytes > 8 || (!is_bit_field && bit_offset % (8 * bytes) != 0)) return false;
        found_.push_back({bit_offset, bytes});
        return true;
      }
      case TypeClass::Array:
        return take_items(type, bit_offset);
      case TypeClass::Struct:
      case TypeClass::Union:
        return !type.has_more && type.count != 0 && std::ranges::all_of(table_.members(type), [&](const Member& one) {
          return take(one.type, bit_offset + one.bit_offset, one.bit_size != 0);
        });
      default:
        return false;
    }
  }
  const std::vector<Scalar>& found() const { return found_; }

 private:
  bool take_items(const Type& array, std::uint32_t bit_offset) {
    constexpr std::uint32_t kMostItems = 16;
    const Type& item = table_.type(table_.strip(array.target));
    const std::uint32_t bytes = item.kind == TypeClass::Pointer ? 8 : item.bytes;
    if (array.count == 0 || array.count > kMostItems || bytes == 0) return false;
    for (std::uint32_t i = 0; i < array.count; ++i)
      if (!take(array.target, bit_offset + 8 * bytes * i)) return false;
    return true;
  }

  const TypeTable& table_;
  std::vector<Scalar> found_;
  unsigned steps_ = 0;
};

}  // namespace

// Rust passes a value larger than two registers by its address, and a pair of scalars in two registers, however small
// they are (rustc_ty_utils, abi.rs; Rust does not promise this).
void DebugTypes::State::number_parameters(TypeId prototype, bool is_rust) {
  const Type type = table.type(prototype);  // types are added below
  const auto size_of = [&](TypeId id) { return table.type(table.strip(id)).bytes; };
  const auto class_of = [&](TypeId id) { return table.type(table.strip(id)).kind; };
  const auto by_value = [&](TypeId id) {
    return class_of(id) == TypeClass::Struct || class_of(id) == TypeClass::Union;
  };
  const auto by_address = [&](TypeId id) {
    return by_value(id) && (table.type(table.strip(id)).goes_by_address || (is_rust && size_of(id) > 16));
  };
  std::vector<Member> numbered;
  // A large structure, or one that is not copied byte by byte, is returned in memory to which a hidden first argument
  // points.
  const bool is_hidden = by_value(type.target) && (size_of(type.target) > 16 || by_address(type.target));
  std::uint32_t next = is_hidden ? 2 : 1;
  std::uint32_t next_vector = 1;
  constexpr std::uint32_t kGeneralRegisters = 6;
  bool known = true, are_vectors_known = true;
  bool is_float_on_stack = false;  // then the stack places of integer arguments are not known
  const auto general_number = [&]() -> std::uint32_t {
    const std::uint32_t number = next++;
    return known && (number <= kGeneralRegisters || !is_float_on_stack) ? number : 0;
  };
  // How many general registers hold a structure that is passed by value; 0: it is not, or not surely, in general
  // registers alone.
  const auto general_words = [&](TypeId id) -> std::uint32_t {
    Scalars scalars(table);
    if (!by_value(id) || by_address(id) || size_of(id) > 16 || !scalars.take(id, 0)) return 0;
    const std::uint32_t words = (size_of(id) + 7) / 8;
    const auto is_word = [](const Scalars::Scalar& one) { return one.bytes == 8; };
    const bool is_certain = scalars.found().size() == 1 || (scalars.found().size() == 2 && words == 2 &&
                                                            std::ranges::all_of(scalars.found(), is_word));
    return is_rust && !is_certain ? 0 : words;
  };
  for (Member parameter : table.members(type)) {
    const TypeClass kind = class_of(parameter.type);
    const bool general = kind == TypeClass::Pointer || kind == TypeClass::Enum || kind == TypeClass::Integer;
    if (by_address(parameter.type)) {
      parameter.type = table.add({.kind = TypeClass::Pointer, .is_reference = true, .target = parameter.type});
      parameter.bit_offset = general_number();
    } else if (kind == TypeClass::Float) {
      parameter.bit_size = are_vectors_known && next_vector <= kVectorArguments ? next_vector : 0;
      is_float_on_stack = is_float_on_stack || ++next_vector > kVectorArguments + 1;
    } else if (general && size_of(parameter.type) <= 8 && parameter.type != 0) {
      parameter.bit_offset = general_number();
    } else if (const std::uint32_t words = general_words(parameter.type);
               words != 0 && known && next + words - 1 <= kGeneralRegisters) {
      parameter.bit_offset = next;
      next += words;
    } else if (kind != TypeClass::Other || size_of(parameter.type) > 8) {
      known = are_vectors_known = false;
    } else {
      are_vectors_known = false;  // a complex number is in vector registers, too
    }
    numbered.push_back(parameter);
  }
  Type changed = type;
  changed.first = table.add_members(numbered);
  table.set(prototype, changed);
}

TypeId DebugTypes::State::add_prototype(Dwarf_Die& die) {
  Dwarf_Die source = die;
  bool has_parameters = false;
  each_child(
      die, [&](Dwarf_Die& child) { has_parameters = has_parameters || dwarf_tag(&child) == DW_TAG_formal_parameter; });
  // A definition that is separate from its declaration may have its parameters in the declaration only.
  for (const unsigned attribute : {DW_AT_abstract_origin, DW_AT_specification})
    if (!has_parameters)
      if (auto origin = reference(die, attribute)) source = *origin;
  const TypeId prototype = table.add({.kind = TypeClass::Other});
  Type type = parameters_of(source);
  if (auto returned = reference(die, DW_AT_type)) type.target = take(*returned);
  fill_all();
  table.set(prototype, type);
  Dwarf_Die unit;
  const bool is_rust = dwarf_diecu(&die, &unit, nullptr, nullptr) != nullptr && dwarf_srclang(&unit) == DW_LANG_Rust;
  number_parameters(prototype, is_rust);
  return prototype;
}

DebugTypes::State::State(const std::string& path, DwarfSections sections) {
  const DebugFile file = find_debug_file(path);
  why = file.why;
  if (!file.contents) return;
  auto opened = OpenDwarf::of(file, sections);
  if (opened)
    dwarf = std::move(*opened);
  else
    why = opened.error().message();
}

DebugTypes::DebugTypes(const std::string& path) : state_(std::make_unique<State>(path, DwarfSections::TypesAndLines)) {}
DebugTypes::DebugTypes(DebugTypes&&) noexcept = default;
DebugTypes& DebugTypes::operator=(DebugTypes&&) noexcept = default;
DebugTypes::~DebugTypes() = default;

std::expected<DebugTypes::State::Function, std::string> DebugTypes::State::function_at(Dwarf_Addr address,
                                                                                       std::string_view name) {
  if (!dwarf) return std::unexpected(why);
  if (const auto known_one = functions.find(address); known_one != functions.end()) return known_one->second;
  auto unit = unit_at(dwarf->get(), address);
  Dwarf_Die die;
  if (!unit || !find_function(*unit, address, 0, die))
    return std::unexpected(fmt::format("the debug information does not describe `{}`", name));
  Dwarf_Attribute attribute;
  Dwarf_Word convention = 0;
  if (dwarf_attr(&die, DW_AT_calling_convention, &attribute) != nullptr) dwarf_formudata(&attribute, &convention);
  Function function{.prototype = add_prototype(die), .passes_otherwise = convention == DW_CC_nocall};
  if (!function.passes_otherwise)
    function.passes_otherwise =
        target::passes_otherwise(die, address, table, table.members(table.type(function.prototype)));
  return functions.emplace(address, function).first->second;
}

std::expected<FunctionTypes, TypesError> DebugTypes::function_at(ImageAddr address, std::string_view name) {
  const auto function = state_->function_at(address.value, name);
  if (!function) return std::unexpected(TypesError{TypesFailure::Missing, function.error()});
  if (function->passes_otherwise)
    return std::unexpected(
        TypesError{TypesFailure::Missing, fmt::format("the compiler has changed what callers of `{}` pass; "
                                                      "`PATH:FUNCTION` and lines have the parameters that are known",
                                                      name)});
  FunctionTypes found{.table = &state_->table, .prototype = function->prototype};
  for (const Member& parameter : state_->table.members(state_->table.type(function->prototype)))
    found.parameters += parameter.name != 0 || parameter.type != 0 ? 1 : 0;
  return found;
}

}  // namespace kevt::target

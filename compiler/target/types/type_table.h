// The types of a traced program or kernel, from DWARF or BTF: one growing table of small nodes.
//
// A TypeId is an index that never changes; 0 is void. Names and members live in the table; a view of them is valid
// until something is added to the table. The table may be filled from a damaged file: every access by id is checked,
// and every walk ends.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kevt::target {

using TypeId = std::uint32_t;

enum class TypeClass : std::uint8_t {
  Void,
  Integer,
  Enum,
  Pointer,
  Array,
  Struct,
  Union,
  Modifier,   // const, volatile, typedef …
  Prototype,  // members are its parameters, `target` what it returns
  Function,   // `target` is its prototype
  Float,      // of 4 or 8 bytes
  Other,      // larger floating point, forward declarations
};

struct Type {
  TypeClass kind = TypeClass::Void;
  bool is_signed = false;        // Integer, Enum
  bool is_text = false;          // Integer: a character as `string` understands it
  bool is_reference = false;     // Pointer: of C++ or Rust, which is written as what it refers to
  bool goes_by_address = false;  // Struct: as a parameter it is passed by its address
  bool has_more = false;         // Struct: has bases or variants
  std::uint32_t bytes = 0;       // Integer, Enum, Struct, Union
  TypeId target = 0;             // Pointer, Array, Modifier, Prototype, Function; meaningless for other kinds
  std::uint32_t count = 0;       // members, parameters, names, items
  std::uint32_t first = 0;       // index of the first member, parameter or name
  std::uint32_t name = 0;        // as add_name() returned it; 0: none
  std::uint32_t prefix = 0;      // Modifier: name of "const " and the like, for C's spelling; 0: a typedef
};

// A member of a Struct or Union, a parameter of a Prototype, or a name of an Enum.
// Of an Enum's name value_of() is the value, of which as many low bytes count as the Enum has.
// Of a parameter `bit_offset` is the number of the integer argument that holds it (1-based, as in $arg1; 0: none does),
// and `bit_size` is the number of the vector register that holds it (1: %xmm0; 0: none does). With BTF `bit_offset` is
// simply the parameter's number, as the kernel counts.
struct Member {
  std::uint32_t name = 0;
  TypeId type = 0;
  std::uint32_t bit_offset = 0;
  std::uint32_t bit_size = 0;  // 0: not a bit field
};

inline std::int64_t value_of(const Member& enumerator) {
  return static_cast<std::int64_t>(std::uint64_t{enumerator.bit_size} << 32 | enumerator.bit_offset);
}
inline Member enumerator(std::uint32_t name, std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return {
      .name = name, .bit_offset = static_cast<std::uint32_t>(bits), .bit_size = static_cast<std::uint32_t>(bits >> 32)};
}

struct FoundMember {
  TypeId type = 0;
  std::uint32_t bit_offset = 0;  // from the start of the structure that was searched, through anonymous ones
  std::uint32_t bit_size = 0;
};

class TypeTable {
 public:
  TypeTable();

  // ---- making
  TypeId size() const { return static_cast<TypeId>(types_.size()); }
  TypeId add(Type type);  // makes functions and structures findable by name; the first one of a name is found
  void set(TypeId id, Type type) { types_[id] = type; }  // completes a place-holder
  std::uint32_t add_name(std::string_view name);
  std::uint32_t add_members(std::span<const Member> members);
  // Sets all names at once, as BTF has them; an offset into `names` is a name then. Call it before all other functions;
  // `names` must end with a NUL.
  void set_names(std::string names) { names_ = std::move(names); }

  // ---- asking
  const Type& type(TypeId id) const { return types_[id < types_.size() ? id : 0]; }
  std::string_view name(std::uint32_t at) const;
  std::span<const Member> members(const Type& type) const;
  TypeId strip(TypeId id) const;  // the type behind all modifiers
  std::optional<TypeId> find_function(std::string_view name) const;
  std::optional<TypeId> find_struct(std::string_view name) const;
  // Anonymous members are searched, too, the last one first, as the kernel does.
  std::optional<FoundMember> find_member(TypeId structure, std::string_view name) const;

  std::string type_text(TypeId id) const;  // "const char *"
  // "ssize_t vfs_read(struct file *file, char *buf)"; `prototype` is a Prototype.
  std::string prototype_text(TypeId prototype, std::string_view name) const;

 private:
  std::vector<Type> types_;
  std::vector<Member> members_;
  std::string names_;
  void index(TypeId id);
  std::unordered_map<std::string, TypeId> functions_;
  std::unordered_map<std::string, TypeId> structs_;
};

}  // namespace kevt::target

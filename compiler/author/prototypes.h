// What types tell about a probed function: its parameters, where each is at entry, and members of structures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/target/target_env.h"

namespace kevt::author {

struct Parameter {
  std::string name;   // empty: `...`
  std::string type;   // C
  std::string where;  // "%dx", "+8(%sp)"; empty: in no general register
};
struct Prototype {
  std::string text;  // "ssize_t vfs_read(struct file *file, char *buf)"
  std::string returns;
  std::vector<Parameter> parameters;
};

// The probed place of a definition: its second word. `symbol` is empty for a file offset, or if nothing was typed yet.
struct PlaceWord {
  std::string module, symbol;
  bool is_entry = true;  // no offset
};
PlaceWord place_of(std::string_view line);
// That word as it is written.
std::string_view place_text(std::string_view line);

// nullopt: no types are known for the place.
std::optional<Prototype> prototype_of(const target::TargetEnv& env, const PlaceWord& place);

struct StructMember {
  std::string name;
  std::string type;
  std::uint32_t byte_offset = 0;  // anonymous structures around it included
};
// Members of the structure that `path` leads to: "o", "o->in", "file->f_path"; `$retval` is the return value.
std::vector<StructMember> members_behind(const target::TargetEnv& env, const PlaceWord& place, std::string_view path);

// The same from a value of the type: `path` is "", "->in", ".f_path.dentry".
std::vector<StructMember> members_of(const target::TypeTable& table, target::TypeId from, std::string_view path);

}  // namespace kevt::author

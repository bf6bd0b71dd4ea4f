// What types tell about a probed function: its parameters, where each is at entry, and members of structures.
#pragma once

#include <QString>
#include <optional>
#include <vector>

#include "compiler/target/target_env.h"

namespace kevt::gui {

struct Parameter {
  QString name;   // empty: `...`
  QString type;   // C
  QString where;  // "%dx", "+8(%sp)"; empty: in no general register
};
struct Prototype {
  QString text;  // "ssize_t vfs_read(struct file *file, char *buf)"
  QString returns;
  std::vector<Parameter> parameters;
};

// The probed place of a definition: its second word. `symbol` is empty for a file offset, or if nothing was typed yet.
struct PlaceWord {
  QString module, symbol;
  bool is_entry = true;  // no offset
};
PlaceWord placeOf(const QString& line);

// nullopt: no types are known for the place.
std::optional<Prototype> prototypeOf(const target::TargetEnv& env, const PlaceWord& place);

struct StructMember {
  QString name;
  QString type;
  std::uint32_t byte_offset = 0;  // anonymous structures around it included
};
// Members of the structure that `path` leads to: "o", "o->in", "file->f_path"; `$retval` is the return value. `what`
// gets the structure's type.
std::vector<StructMember> membersBehind(const target::TargetEnv& env, const PlaceWord& place, const QString& path,
                                        QString* what = nullptr);

}  // namespace kevt::gui

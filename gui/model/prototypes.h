// What types tell of a probed function: its parameters, where they are at entry, members of what they point to.
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

// The probed place of a definition: its second word. Empty symbol: a file's offset, or nothing yet.
struct PlaceWord {
  QString module, symbol;
  bool is_entry = true;  // no offset
};
PlaceWord placeOf(const QString& line);

// nullopt: nobody knows types there.
std::optional<Prototype> prototypeOf(const target::TargetEnv& env, const PlaceWord& place);

struct StructMember {
  QString name;
  QString type;
  std::uint32_t byte_offset = 0;  // anonymous structures around it included
};
// Members of what `path` ends at: "o", "o->in", "file->f_path"; `$retval` is the return value. `what`: the type.
std::vector<StructMember> membersBehind(const target::TargetEnv& env, const PlaceWord& place, const QString& path,
                                        QString* what = nullptr);

}  // namespace kevt::gui

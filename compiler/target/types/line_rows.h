// The rows of a unit's line table, and the scopes that hold an address. Only code that uses elfutils includes this
// header.
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kevt::target {

struct LineRow {
  Dwarf_Addr address = 0;
  int line = 0, column = 0;
  bool begins_statement = false, ends_sequence = false, ends_prologue = false;
  const std::string* file = nullptr;  // its whole path, in LineUnit::files
  unsigned view = 0;                  // the number of the row among those of its address, as GCC counts "views"
  std::size_t run = 0;                // rows of one run have one line, with no statement of another line between them

  bool is_statement_of(std::string_view name) const {
    return begins_statement && !ends_sequence && line > 0 && file != nullptr && *file == name;
  }
};

// A function that a unit defines, also without code of its own.
struct DeclaredFunction {
  Dwarf_Die die;
  const std::string* file = nullptr;  // its whole path, in LineUnit::files
  std::uint32_t line = 0;

  std::string name() const;  // without the arguments of a template; empty: it has none
};

// One compilation unit, with its rows by address.
struct LineUnit {
  Dwarf_Die die;
  std::vector<Dwarf_Die> outermost;  // the children of `die` that functions are in or that are functions
  std::map<const char*, std::string> files;
  std::vector<LineRow> rows;
  std::unordered_map<int, std::vector<std::size_t>> rows_of;  // by line, the indexes of those that begin statements
  std::vector<DeclaredFunction> functions;
  bool is_optimized = true;
  bool marks_statements = false;  // an is_stmt row is the beginning of a statement, also in optimized code
  bool is_skeleton = false;       // what it describes is in a file of its own (.dwo), which is not read
};
LineUnit read_line_unit(Dwarf_Die die);

// The scopes that hold an address, the outermost function first.
using Scopes = std::vector<Dwarf_Die>;
Scopes scopes_at(Dwarf_Die unit, Dwarf_Addr address);
Scopes scopes_at(const LineUnit& unit, Dwarf_Addr address);
// Index of the innermost function, or inlined copy of one; of the function whose frame the code uses.
std::optional<std::size_t> innermost_function(const Scopes& scopes);
std::optional<std::size_t> frame_function(const Scopes& scopes);

// A place where a line's statement begins, and whose code it is: `scopes` have a function.
struct StatementPlace {
  Dwarf_Addr address = 0;
  Scopes scopes;
};
inline constexpr std::size_t kMostLinePlaces = 4096;
// One place for each execution of the line. `file` is the name of a source file as the rows have it.
std::vector<StatementPlace> places_of_line(const LineUnit& unit, std::string_view file, int line);

}  // namespace kevt::target

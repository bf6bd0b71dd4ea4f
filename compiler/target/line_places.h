// Places of a line of the source, and where its variables are there.
//
//   int area = s->w * s->h;     // shapes.c:42
//   ─►  0x11b4 in `area_of`: s in %rbx, scale at +12(%sp)    0x1320, the copy that was inlined into `main`: s in %di
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/target/types/type_table.h"

namespace kevt::target {

// A walk to a variable: begin with `base`; for each of `reads` add it and read 8 bytes there; add `offset`.
//
//   in %bx                       base %bx, is_value
//   at 16 bytes above %sp        base %sp, offset 16
//   where +8(%bx) points to      base %bx, reads {8}
//   a pointer in %dx, a length in %cx        base Pieces, which are %dx and %cx, of 8 bytes each
struct VariableLocation {
  enum class Base : std::uint8_t {
    None,  // the variable cannot be read: `why`
    Register,
    Address,  // `number`, as the file's own addresses count
    Constant,
    Pieces,  // `pieces`, one behind the other; `offset` is in the whole
  };
  Base base = Base::None;
  std::string reg;           // as fetch arguments name it; Base::Register
  std::uint64_t number = 0;  // Base::Address, Base::Constant
  std::vector<std::int64_t> reads;
  std::int64_t offset = 0;
  bool is_value = false;  // the walk ends in the variable's value; false: in its address
  std::vector<VariableLocation> pieces;
  std::uint32_t bytes = 0;  // of a piece
  std::string why;          // "it is optimized out there"

  bool can_be_read() const { return base != Base::None; }
  // Whether the value itself is the sum of a register and a number, or an address in the file, which no fetch argument
  // can say; what a pointer of this kind points to can be said.
  bool is_sum() const {
    return is_value && base != Base::Constant && (offset != 0 || (base == Base::Address && reads.empty()));
  }
};

struct SourceVariable {
  std::string name;
  TypeId type = 0;
  bool is_parameter = false;
  VariableLocation location;
};

// One place where the line's statement begins.
struct LinePlace {
  std::string path;                       // the file, as the target names it
  std::uint64_t offset = 0;               // bytes from the file's start
  std::uint64_t address = 0;              // as the file's own addresses count
  std::string function;                   // which has the line; of an inlined copy, the function that was inlined
  std::string inlined_into;               // the function whose code holds that copy; empty: it is no copy
  std::vector<SourceVariable> variables;  // those asked for that are in sight there, inner ones first
};

inline constexpr std::size_t kMostGlobbed = 10'000;  // functions that one glob matches

struct LinePlaces {
  std::shared_ptr<const TypeTable> types;  // of the variables
  std::vector<LinePlace> places;           // ascending; never empty
};

// A line where a statement begins, and the names of the variables in sight.
struct ListedLine {
  std::uint32_t line = 0;
  std::size_t places = 0;
  std::vector<std::string> readable;    // at every place
  std::vector<std::string> unreadable;  // at one place at least
};
struct ListedSource {
  std::string file;      // as it was given to the compiler
  std::string function;  // empty: lines of the file were asked for
  std::uint32_t first = 0;
  std::vector<ListedLine> lines;
};

// Lines from `from` to `to` of a source file, or of a function, whose first line has the number 0.
struct LinesWanted {
  std::string_view module;  // a program or library
  std::string_view source;  // as LineQuestion::source
  std::uint32_t from = 0, to = ~std::uint32_t{0};
  std::size_t most = ~std::size_t{0};  // of lines, the first ones
};

struct LineQuestion {
  std::string_view module;  // a program or library
  // The end of a source file's path (`shapes.c`, `lib/shapes.c`), whose line `line` is meant; or a function, whose
  // first line has the number 0.
  std::string_view source;
  std::uint32_t line = 0;
  std::vector<std::string> names;  // of the variables that are looked for, also global ones
  bool all_locals = false;         // all parameters and local variables that are in sight
  // The first instruction of the function `source` is meant, where its parameters are as they are passed.
  bool at_entry = false;
  // At the entry: only copies of the function that a compiler has made are meant, where nothing has its own name;
  // NotChecked otherwise.
  bool only_copies = false;
  // At the entry: `source` is a glob, and all functions that it matches are meant, but those that cannot be probed.
  bool is_glob = false;
  // At the entry: arguments are asked for by their numbers, as C passes them, which not every language does.
  bool asks_for_arguments = false;
};

}  // namespace kevt::target

// The line table says which addresses belong to a line; the tree of scopes says whose code they are.
//
//   0x1190 is_stmt line 42 column 3     in `main`                         a place
//   0x1194 is_stmt line 42 column 14    in `main`, the same statement     none
//   0x1320 is_stmt line 42 column 3     in a copy inlined into `main`     a place
//
// Problem: a line has many rows, yet one execution shall be one hit. Idea: one place for each function, or copy of a
// function that was inlined, that has the line: the lowest address where a statement of it begins. GCC marks the
// beginnings of statements in optimized code (-gstatement-frontiers). There the line's statement is the one that begins
// in its first column, and a second run of rows that begins there is the same statement again, in a copy of a loop's
// body, and is a place, too.
// At the entry of a function that is not optimized, parameters are not in the frame yet: its place is behind the
// prologue, as debuggers have it.
#include "compiler/target/types/line_rows.h"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "compiler/target/types/dwarf_die.h"

namespace kevt::target {

namespace {

constexpr unsigned kMostScopeDepth = 64;  // blocks and inlined functions in each other

bool is_scope(int tag) {
  return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block;
}

bool descend(Dwarf_Die& die, Dwarf_Addr address, unsigned depth, Scopes& scopes);

// Adds the scopes from `die` on, if it holds the address.
bool enter(Dwarf_Die& die, Dwarf_Addr address, unsigned depth, Scopes& scopes) {
  const int tag = dwarf_tag(&die);
  if (is_scope(tag) && dwarf_haspc(&die, address) > 0) {
    scopes.push_back(die);
    descend(die, address, depth, scopes);
    return true;
  }
  return holds_functions(die) && descend(die, address, depth, scopes);
}

bool descend(Dwarf_Die& die, Dwarf_Addr address, unsigned depth, Scopes& scopes) {
  return depth <= kMostScopeDepth &&
         any_child(die, [&](Dwarf_Die& child) { return enter(child, address, depth + 1, scopes); });
}

// Functions in functions and in classes of functions (lambdas) are below a DIE that has no code at the address.
bool descend_everywhere(Dwarf_Die& die, Dwarf_Addr address, unsigned depth, Scopes& scopes) {
  return depth <= kMostScopeDepth && any_child(die, [&](Dwarf_Die& child) {
           const int tag = dwarf_tag(&child);
           if (tag == DW_TAG_subprogram && enter(child, address, depth + 1, scopes)) return true;
           return (is_scope(tag) || holds_functions(child)) && descend_everywhere(child, address, depth + 1, scopes);
         });
}

}  // namespace

Scopes scopes_at(Dwarf_Die unit, Dwarf_Addr address) {
  Scopes scopes;
  if (!descend(unit, address, 0, scopes)) descend_everywhere(unit, address, 0, scopes);
  return scopes;
}
Scopes scopes_at(const LineUnit& unit, Dwarf_Addr address) {
  Scopes scopes;
  for (Dwarf_Die die : unit.outermost)
    if (enter(die, address, 1, scopes)) return scopes;
  Dwarf_Die whole = unit.die;
  descend_everywhere(whole, address, 0, scopes);
  return scopes;
}

std::optional<std::size_t> innermost_function(const Scopes& scopes) {
  for (std::size_t i = scopes.size(); i-- > 0;) {
    Dwarf_Die die = scopes[i];
    if (dwarf_tag(&die) != DW_TAG_lexical_block) return i;
  }
  return std::nullopt;
}
std::optional<std::size_t> frame_function(const Scopes& scopes) {
  for (std::size_t i = scopes.size(); i-- > 0;) {
    Dwarf_Die die = scopes[i];
    if (dwarf_tag(&die) == DW_TAG_subprogram) return i;
  }
  return std::nullopt;
}

namespace {

LineRow row_of(Dwarf_Line* line) {
  LineRow row;
  bool flag = false;
  dwarf_lineaddr(line, &row.address);
  dwarf_lineno(line, &row.line);
  dwarf_linecol(line, &row.column);
  if (dwarf_linebeginstatement(line, &flag) == 0) row.begins_statement = flag;
  if (dwarf_lineendsequence(line, &flag) == 0) row.ends_sequence = flag;
  if (dwarf_lineprologueend(line, &flag) == 0) row.ends_prologue = flag;
  return row;
}

// GCC writes its options into DW_AT_producer, unless it was told not to (-gno-record-gcc-switches).
void read_producer(LineUnit& unit) {
  Dwarf_Attribute attribute;
  const char* text = dwarf_attr(&unit.die, DW_AT_producer, &attribute) != nullptr ? text_of(attribute) : nullptr;
  const std::string_view producer = text != nullptr ? text : "";
  unit.is_skeleton = dwarf_hasattr(&unit.die, DW_AT_dwo_name) || dwarf_hasattr(&unit.die, DW_AT_GNU_dwo_name);
  if (!producer.starts_with("GNU ") || !producer.contains(" -")) return;
  const std::size_t level = producer.rfind(" -O");
  unit.is_optimized = level != std::string_view::npos && !producer.substr(level).starts_with(" -O0");
  unit.marks_statements = unit.is_optimized;
}

Dwarf_Addr entry_of(Dwarf_Die& function) {
  Dwarf_Addr entry = 0;
  return dwarf_entrypc(&function, &entry) == 0 ? entry : ~Dwarf_Addr{0};
}

// Where the prologue of the function that begins at `entry` ends; `entry` itself if nothing says so.
Dwarf_Addr behind_prologue(const LineUnit& unit, Dwarf_Die& function, Dwarf_Addr entry) {
  std::optional<Dwarf_Addr> second;
  for (const LineRow& row : unit.rows) {
    if (row.address <= entry || row.ends_sequence || dwarf_haspc(&function, row.address) <= 0) continue;
    if (row.ends_prologue) return row.address;
    if (row.begins_statement && !second) second = row.address;
  }
  return unit.is_optimized ? entry : second.value_or(entry);
}

struct Candidate {
  const LineRow* row;
  Scopes scopes;
};

// The name of the function that has the line in the source: the last one that is declared before it.
std::string owner_of(const LineUnit& unit, std::string_view file, int line) {
  const DeclaredFunction* owner = nullptr;
  for (const DeclaredFunction& one : unit.functions)
    if (one.line <= static_cast<std::uint32_t>(line) && (owner == nullptr || one.line >= owner->line) &&
        *one.file == file && !one.name().empty())
      owner = &one;
  return owner != nullptr ? owner->name() : "";
}

// `scopes` up to the innermost function that is called `owner`; empty: there is none.
Scopes up_to(Scopes scopes, const std::string& owner) {
  while (const auto function = innermost_function(scopes)) {
    Dwarf_Die die = scopes[*function];
    if (without_template(name_of(die)) == owner) return scopes;
    scopes.resize(*function);
  }
  return {};
}

bool is_entered_by(Dwarf_Die& copy, const LineRow& row) {
  return dwarf_tag(&copy) == DW_TAG_inlined_subroutine && entry_of(copy) == row.address &&
         number(copy, DW_AT_GNU_entry_view).value_or(0) <= row.view;
}

// Adds the scopes down to an inlined copy of `owner` that is entered at the row. False: there is none.
bool add_entered(Dwarf_Die& die, const LineRow& row, const std::string& owner, unsigned depth, Scopes& scopes) {
  return depth <= kMostScopeDepth && any_child(die, [&](Dwarf_Die& child) {
           if (!is_scope(dwarf_tag(&child))) return false;
           scopes.push_back(child);
           const bool is_it = is_entered_by(child, row) && without_template(name_of(child)) == owner;
           if (is_it || add_entered(child, row, owner, depth + 1, scopes)) return true;
           scopes.pop_back();
           return false;
         });
}

// The scopes of the statement that begins at the row and belongs to the function `owner`. Where a statement has no code
// of its own, its address is that of the code behind it, which may be of an inlined copy, or of the function behind the
// copy.
Scopes scopes_of_statement(const LineUnit& unit, const LineRow& row, const std::string& owner) {
  Scopes at = scopes_at(unit, row.address);
  if (Scopes found = up_to(at, owner); !found.empty()) return found;
  const auto frame = frame_function(at);
  if (!frame || row.address == 0) return at;
  Scopes entered(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(*frame) + 1);
  Dwarf_Die function = entered.back();
  if (add_entered(function, row, owner, 0, entered)) return entered;
  Scopes before = up_to(scopes_at(unit, row.address - 1), owner);
  const auto frame_before = frame_function(before);
  return frame_before && before[*frame_before].addr == at[*frame].addr ? before : at;
}

// The scopes of the function whose frame it is, without those of copies that were inlined into it.
Scopes without_copies(Scopes scopes) {
  const auto is_copy = [](Dwarf_Die die) { return dwarf_tag(&die) == DW_TAG_inlined_subroutine; };
  scopes.erase(std::ranges::find_if(scopes, is_copy), scopes.end());
  return scopes;
}

// The rows of the line that begin statements, by function or inlined copy, in the order of addresses.
std::map<const void*, std::vector<Candidate>> candidates_of(const LineUnit& unit, std::string_view file, int line) {
  std::map<const void*, std::vector<Candidate>> found;
  const std::string owner = owner_of(unit, file, line);
  const auto rows = unit.rows_of.find(line);
  if (rows == unit.rows_of.end()) return found;
  std::size_t all = 0;
  for (const std::size_t index : rows->second) {
    const LineRow& row = unit.rows[index];
    if (*row.file != file || ++all > kMostLinePlaces) continue;
    Scopes scopes = scopes_of_statement(unit, row, owner);
    const auto function = innermost_function(scopes);
    if (!function) continue;
    auto& of_function = found[scopes[*function].addr];
    if (of_function.empty() || of_function.back().row->run != row.run) of_function.push_back({&row, std::move(scopes)});
  }
  return found;
}

// Whether the code lies in the piece of the function, or of the inlined copy, that it is entered by: not in a part that
// is seldom run and lies elsewhere (.text.unlikely).
bool is_beside_the_entry(const Candidate& one) {
  Dwarf_Die function = one.scopes[*innermost_function(one.scopes)];
  const Dwarf_Addr entry = entry_of(function);
  Dwarf_Addr base = 0, begin = 0, end = 0;
  for (std::ptrdiff_t at = 0; (at = dwarf_ranges(&function, at, &base, &begin, &end)) > 0;)
    if (begin <= entry && entry < end) return begin <= one.row->address && one.row->address < end;
  return true;
}

// One address for each execution of the line's statement in a function. Where beginnings of statements are marked, it
// is the statement that begins first in the source.
std::vector<const Candidate*> places_in(const LineUnit& unit, const std::vector<Candidate>& candidates) {
  std::vector<const Candidate*> places;
  const auto column = [](const Candidate& one) { return one.row->column > 0 ? one.row->column : INT_MAX; };
  if (unit.marks_statements) {
    const int first = column(*std::ranges::min_element(candidates, {}, column));
    for (const Candidate& one : candidates)
      if (column(one) == first) places.push_back(&one);
    return places;
  }
  const auto beside = std::ranges::find_if(candidates, is_beside_the_entry);
  places.push_back(beside == candidates.end() ? &candidates.front() : &*beside);
  return places;
}

}  // namespace

std::string DeclaredFunction::name() const {
  Dwarf_Die function = die;
  return std::string(without_template(name_of(function)));
}

LineUnit read_line_unit(Dwarf_Die die) {
  LineUnit unit;
  unit.die = die;
  read_producer(unit);
  const auto file_of = [&](SourceFileName source) {
    const auto [file, is_new] = unit.files.try_emplace(source.name);
    if (is_new) file->second = source.path();
    return &file->second;
  };
  each_child(die, [&](Dwarf_Die& child) {
    if (is_scope(dwarf_tag(&child)) || holds_functions(child)) unit.outermost.push_back(child);
  });
  each_function(die, 0, [&](Dwarf_Die& function, SourceFileName& file, std::uint32_t line) {
    unit.functions.push_back({function, file_of(file), line});
  });
  Dwarf_Lines* lines = nullptr;
  std::size_t count = 0;
  if (!read_lines_of(die) || dwarf_getsrclines(&die, &lines, &count) != 0) return unit;
  unit.rows.reserve(count);
  const LineRow* last_statement = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    Dwarf_Line* line = dwarf_onesrcline(lines, i);
    LineRow row = row_of(line);
    if (const char* name = dwarf_linesrc(line, nullptr, nullptr)) row.file = file_of({die, name});
    if (i > 0 && unit.rows.back().address == row.address) row.view = unit.rows.back().view + 1;
    const bool goes_on = last_statement != nullptr && !last_statement->ends_sequence && row.file != nullptr &&
                         row.line == last_statement->line && *row.file == *last_statement->file;
    row.run = goes_on ? last_statement->run : i;
    unit.rows.push_back(row);
    if (!row.begins_statement && !row.ends_sequence) continue;
    last_statement = row.file != nullptr ? &unit.rows.back() : nullptr;  // `rows` does not move: its room is reserved
    if (!row.ends_sequence && row.file != nullptr && row.line > 0) unit.rows_of[row.line].push_back(i);
  }
  return unit;
}

std::vector<StatementPlace> places_of_line(const LineUnit& unit, std::string_view file, int line) {
  std::vector<StatementPlace> places;
  for (const auto& [_, candidates] : candidates_of(unit, file, line)) {
    for (const Candidate* one : places_in(unit, candidates)) {
      StatementPlace place{.address = one->row->address, .scopes = one->scopes};
      Dwarf_Die function = place.scopes[*innermost_function(place.scopes)];
      if (dwarf_tag(&function) == DW_TAG_subprogram && entry_of(function) == place.address) {
        place.address = behind_prologue(unit, function, place.address);
        place.scopes = without_copies(scopes_at(unit, place.address));
      }
      if (innermost_function(place.scopes)) places.push_back(std::move(place));
    }
  }
  return places;
}

}  // namespace kevt::target

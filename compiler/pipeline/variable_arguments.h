// Arguments of a definition that name variables of the source, at each of the places that the definition stands for.
//
//   scale s->w name=s->label:string   at 0x11b4: scale=+12(%sp):s32 w=+8(%bx):s32 name=+0(+16(%bx)):string
//
// Words that name no variable stay as they are. `$vars` stands for all variables in sight that an argument can hold at
// every place, `$params` for the parameters among them.
#pragma once

#include <expected>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/pipeline/variable_path.h"
#include "compiler/pipeline/words.h"
#include "compiler/target/line_places.h"

namespace kevt::pipeline {

struct WrittenArgument;

// A mistake at `word` of the definition `line`.
diag::Diagnostic mistake_at(std::string_view line, const Word& word, std::string detail,
                            diag::Kind kind = diag::Kind::UnsupportedForm);

// Whether kevtrace may give the name to an argument: an identifier (Go has `~r0`), not too long, none of a record's
// own.
bool is_argument_name(std::string_view name);
// The names that the arguments have which are not all members of something: those that members must not take.
std::set<std::string> written_names(const std::vector<Word>& words);
// The name of the argument for a member behind `path` ("s->"): its own, or with the name before it where that is taken;
// empty: it gets none. Adds it to `names`.
std::string member_argument_name(std::string_view path, std::string_view member, std::set<std::string>& names);

// Writes into the question which variables the words behind the place name.
void ask_for_variables(const std::vector<Word>& words, target::LineQuestion& question);
// Whether all of them are in sight at each place.
bool has_all_variables(const target::LineQuestion& question, const target::LinePlaces& found);

// The arguments' texts for each place, each with a blank before it.
class VariableArguments {
 public:
  // Says in a mistake where `place` is: "shapes.c:42 (`area_of`, 0x11b4)".
  using Where = std::function<std::string(const target::LinePlace& place)>;

  VariableArguments(std::string_view line, const std::vector<Word>& words, const target::LinePlaces& found, Where where)
      : line_(line), words_(words), found_(found), where_(std::move(where)), arguments_(found.places.size()) {}

  std::expected<std::vector<std::string>, diag::Diagnostic> texts() &&;

 private:
  std::expected<void, diag::Diagnostic> add(const Word& word);
  std::expected<void, diag::Diagnostic> add_all(const Word& word);
  std::expected<void, diag::Diagnostic> add_members(const Word& word, std::string_view path);
  std::vector<VariableFetch> fetch_everywhere(const std::string& path) const;
  void append(std::string_view name, const std::vector<VariableFetch>& made);
  std::expected<VariableFetch, diag::Diagnostic> fetch(const Word& word, std::string_view path, std::string_view type,
                                                       std::size_t place) const;
  std::expected<std::string, diag::Diagnostic> address(const Word& word, std::string_view path,
                                                       std::size_t place) const;
  diag::Diagnostic mistake(const Word& word, std::string detail) const;
  std::string name_of(const WrittenArgument& argument, bool is_path);

  std::string_view line_;
  const std::vector<Word>& words_;
  const target::LinePlaces& found_;
  Where where_;
  std::vector<std::string> arguments_;  // of each place
  std::set<std::string> names_;         // of the arguments
  std::size_t number_ = 0;
};

}  // namespace kevt::pipeline

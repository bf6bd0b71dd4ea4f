// The rules of check_definition(), one file each; check_definition.cpp names them in order.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/diag/definition_order.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/model/definition.h"
#include "compiler/sema/sema.h"
#include "compiler/target/event_catalog.h"
#include "compiler/target/target_env.h"

namespace kevt::sema {

struct Finding {
  diag::Kind kind;
  std::uint32_t column = 0;  // byte of the command
  std::uint32_t order = 0;
  int errno_value = EINVAL;
  bool logged = true;
  std::string detail;
  std::vector<diag::FixIt> fixits = {};
  std::string note = {};
};

// Whether the place is the first byte of a function. Unknown: the function's module is not loaded.
enum class FunctionEntry : std::uint8_t { No, Yes, Unknown };

// How a kernel rewrote the words of a definition before it read them.
struct ReplacedWords {
  struct Argument {
    std::size_t word = 0;     // index among the arguments as written
    std::int32_t longer = 0;  // bytes by which the name that replaced `$argN` is longer; negative: shorter
  };
  std::vector<std::uint32_t> begins;  // columns of the arguments as written
  std::vector<Argument> arguments;    // one for each argument as it is now; empty: no argument was replaced
  bool by_argument_words = false;     // `$arg*` or `$argN` was replaced
  struct FileName {
    std::size_t word = 0;
    std::string text;  // the text that replaces the word
  };
  std::vector<FileName> file_names;
  std::optional<std::uint32_t> unknown_arguments;  // column of a `$arg*` that stayed, since no arguments are known
};

enum class PlaceState : std::uint8_t {
  Found,
  Waits,       // its module is not loaded yet
  NotChecked,  // the environment does not know
};

// One definition being checked.
struct DefinitionCheck {
  model::Definition& definition;
  const target::TargetEnv& env;
  const target::EventCatalog& catalog;
  diag::Sink& sink;
  CheckRequest request;

  // Set by the rules for places.
  FunctionEntry entry = FunctionEntry::No;
  PlaceState place = PlaceState::Found;
  std::uint64_t function_address = 0;
  std::uint64_t place_address = 0;
  bool attached_unknown = false;  // the event an eprobe attaches to is in no catalog
  ReplacedWords replaced = {};

  bool has(dialect::Feature feature) const { return request.dialect.has(feature); }
  void report(Finding finding) const;
  diag::Location location() const;
  std::uint32_t place_column() const { return definition.place_span.begin; }
};

// While this object lives, the argument's length and its expression are exchanged, so that the rules for expressions
// check the length. The argument must have a length.
class LengthInPlace {
 public:
  explicit LengthInPlace(model::FetchArg& arg) : arg_(arg) { exchange(); }
  ~LengthInPlace() { exchange(); }
  LengthInPlace(const LengthInPlace&) = delete;
  LengthInPlace& operator=(const LengthInPlace&) = delete;

 private:
  void exchange() {
    std::swap(arg_.expr, arg_.length->expr);
    std::swap(arg_.type, arg_.length->type);
  }
  model::FetchArg& arg_;
};

// ---- the rules ---------------------------------------------------------------------------------
void check_symbol_place(DefinitionCheck& check, const model::SymbolPlace& place);
void check_address_place(DefinitionCheck& check, const model::AddressPlace& place);
void check_file_place(DefinitionCheck& check, const model::FilePlace& place);
// The place of an `f` or `t` probe that is to run: it must exist, be unique, and be one that the kernel lets be probed.
void check_hook_place(DefinitionCheck& check);
// The memory that a `w` probe that is to run watches: a debug register must be able to watch it.
void check_watched_memory(DefinitionCheck& check, const model::WatchPlace& place);
// Reports `$argN` if the tracepoint has fewer arguments, as far as its types are known.
void check_tracepoint_arguments(const DefinitionCheck& check);
// The event that an eprobe attaches to; nullptr: there is none, which is reported unless it is merely unknown.
const target::CatalogEntry* check_event_place(DefinitionCheck& check, const model::EventPlace& place);
void check_eprobe_filter(DefinitionCheck& check, const target::CatalogEntry& attached);

// Fills in the group and event names that were not written.
void fill_names(const DefinitionCheck& check);

// Replaces what the target's types can tell: `$arg*`, names of parameters, fields, `%pd`. The rest stays as it is.
void resolve_types(DefinitionCheck& check);
// Resolves `(STRUCT)FIELD->MEMBER` of 7.2, where FIELD is one of the event that an eprobe attaches to.
void resolve_event_typecasts(DefinitionCheck& check, const target::CatalogEntry& attached);

// If words were replaced, gives each mistake the text and columns that error_log shows for it.
void log_replaced_words(DefinitionCheck& check);

// Expressions and types of all arguments; `attached` is the event that an eprobe reads, nullptr for other probes.
void check_arguments(DefinitionCheck& check, const target::CatalogEntry* attached);
// Bytes of `+u-8(` that the kernel does not count: the 'u', and a '+' before a '-'.
std::uint32_t uncounted_bytes(const model::Definition& definition, const model::Dereference& dereference);
// The kernel's column for an expression's base.
std::uint32_t leaf_column(const model::Definition& definition, const model::FetchExpr& expr);
// The kernel's column for mistakes that it finds after it has read the argument's expression.
std::uint32_t body_column(const DefinitionCheck& check, const model::FetchArg& arg);
void check_argument_type(DefinitionCheck& check, std::size_t argument);

// If the event exists already: may this probe be added to it?
void check_existing(DefinitionCheck& check);
// Mistakes that a kernel finds only when it arms the probe: data symbols, instruction boundaries, blacklists.
void check_registration(DefinitionCheck& check);
// The function (unless a running kernel was asked already) and the data symbols of an `f` or `t` probe.
void check_function_symbols(DefinitionCheck& check);
// The arguments of the entry that a return probe reads: there may not be too many.
void check_entry_arguments(const DefinitionCheck& check);
// What the rules could not check, because the environment does not know it.
std::vector<Unchecked> find_unchecked(const DefinitionCheck& check);

}  // namespace kevt::sema

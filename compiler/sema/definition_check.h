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
  std::uint32_t column = 0;  // of the command
  std::uint32_t order = 0;
  int errno_value = EINVAL;
  bool logged = true;
  std::string detail;
  std::vector<diag::FixIt> fixits = {};
  std::string note = {};
};

// Is the place the first byte of a function? Unknown: its module is not loaded.
enum class FunctionEntry : std::uint8_t { No, Yes, Unknown };

// How a kernel rewrote the words of a definition before it read them.
struct ReplacedWords {
  struct Argument {
    std::size_t word = 0;     // of the arguments as written
    std::int32_t longer = 0;  // `$argN` became a name of so many bytes more
  };
  std::vector<std::uint32_t> begins;  // of the arguments as written
  std::vector<Argument> arguments;    // as they are now; empty: those that were written
  bool by_argument_words = false;     // `$arg*` or `$argN` was among them
  struct FileName {
    std::size_t word = 0;
    std::string text;  // what stands there instead
  };
  std::vector<FileName> file_names;
  std::optional<std::uint32_t> unknown_arguments;  // column of a `$arg*` that stayed, as nobody knows the arguments
};

enum class PlaceState : std::uint8_t {
  Found,
  Waits,       // for its module
  NotChecked,  // nobody here knows
};

// One definition being checked.
struct DefinitionCheck {
  model::Definition& definition;
  const target::TargetEnv& env;
  const target::EventCatalog& catalog;
  diag::Sink& sink;
  CheckRequest request;

  // Found by the place's rules.
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

// While it lives, the length of the argument's text stands where its expression does: the rules of expressions see it.
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
// Of an `f` or `t` probe that is to run: there, once, and allowed.
void check_hook_place(DefinitionCheck& check);
// What a `w` probe that is to run watches: what a debug register can.
void check_watched_memory(DefinitionCheck& check, const model::WatchPlace& place);
// `$argN` of a tracepoint that has fewer, where its types are known.
void check_tracepoint_arguments(const DefinitionCheck& check);
// The event attached to, or nullptr after reporting.
const target::CatalogEntry* check_event_place(DefinitionCheck& check, const model::EventPlace& place);
void check_eprobe_filter(DefinitionCheck& check, const target::CatalogEntry& attached);

// Group and event names that were not written.
void fill_names(const DefinitionCheck& check);

// What the target's types tell: `$arg*`, names of arguments, fields, `%pd`. What they cannot tell stays as it is.
void resolve_types(DefinitionCheck& check);
// 7.2: `(STRUCT)FIELD->MEMBER` of the event that an eprobe attaches to.
void resolve_event_typecasts(DefinitionCheck& check, const target::CatalogEntry& attached);

// Gives each mistake the entry that error_log has for it, where words were replaced.
void log_replaced_words(DefinitionCheck& check);

// Expressions and types of all arguments; `attached` is what an eprobe reads.
void check_arguments(DefinitionCheck& check, const target::CatalogEntry* attached);
// Bytes of `+u-8(` that the kernel does not count: the 'u', and a '+' before a '-'.
std::uint32_t uncounted_bytes(const model::Definition& definition, const model::Dereference& dereference);
// Where the kernel sees what an expression starts from.
std::uint32_t leaf_column(const model::Definition& definition, const model::FetchExpr& expr);
// Where the kernel counts from once it has read the expression.
std::uint32_t body_column(const DefinitionCheck& check, const model::FetchArg& arg);
void check_argument_type(DefinitionCheck& check, std::size_t argument);

// Against the event of the same name: may this probe be added to it?
void check_existing(DefinitionCheck& check);
// What only arming finds: data symbols, instruction boundaries, blacklists.
void check_registration(DefinitionCheck& check);
// Data symbols alone, for probes whose place is looked up otherwise.
void check_function_symbols(DefinitionCheck& check);
// What an exit probe keeps from the entry.
void check_entry_arguments(const DefinitionCheck& check);
// What the rules could not look at.
std::vector<Unchecked> find_unchecked(const DefinitionCheck& check);

}  // namespace kevt::sema

// The rules of histogram triggers, one file each; trigger_hist.cpp names them in order.
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/dialect/dialect.h"
#include "compiler/model/trigger.h"
#include "compiler/sema/trigger.h"
#include "compiler/sema/trigger_hist_log.h"
#include "compiler/sema/trigger_table.h"
#include "compiler/target/event_catalog.h"

namespace kevt::sema {

inline constexpr std::size_t kMaxHistKeys = 3;
inline constexpr std::size_t kMaxHistValues = 3;      // hitcount included
inline constexpr std::size_t kMostOwnHistValues = 9;  // with a statistic among them
inline constexpr std::size_t kMaxHistVariables = 16;
inline constexpr std::size_t kMaxSortKeys = 2;
inline constexpr std::size_t kMaxActionFields = 64;        // params of an action; also field variables of a histogram
inline constexpr std::uint32_t kTextBytes = 256;           // room for a string whose length is not fixed
inline constexpr std::uint32_t kStackBytes = 16 * 8;       // a stack trace of 16 frames
inline constexpr std::uint32_t kFullStackBytes = 127 * 8;  // all that hits take

// What a write does to an equal histogram that is set already. If several are written, the last of this list counts.
enum class HistUpdate : std::uint8_t { None, Clear, Continue, Pause };

// The parts of the text. If a part is repeated, the last one counts; assignments and actions are collected.
struct HistParts {
  std::string keys;
  std::optional<std::string> values;
  std::optional<std::string> sort;
  std::optional<std::string> name;
  std::optional<std::string> clock;
  std::uint32_t bits = model::kDefaultHistBits;
  HistUpdate update = HistUpdate::None;
  bool wants_existing = false;           // `cont` or `clear`
  bool hides_hitcount = false;           // `nohitcount`
  std::uint32_t top = 0;                 // `top=N`; 0: not written
  bool drops = false;                    // `drop`
  std::vector<std::string> assignments;  // "x=v,y=$x"
  std::vector<std::string> actions;      // "onmax($x).save(v)"
};
HistParts hist_parts(const model::TriggerSpec& spec);

enum class HistPurpose : std::uint8_t { Add, Remove };

// `name=text` of a variable. Reading the definition cuts `text` short: 6.1 splits expressions in place, so a later
// `$name` sees `i` if `i*10` was written.
struct VariableText {
  std::string name;
  std::string text;
};

// One histogram that is being made.
struct HistCheck {
  const target::EventCatalog& catalog;
  TriggerTable& table;              // with the write's steps so far
  std::vector<TriggerStep>& steps;  // the write's changes to the table so far
  HistLog& log;
  model::EventName event;
  const target::CatalogEntry& entry;
  HistPurpose purpose = HistPurpose::Add;
  dialect::Dialect dialect = dialect::Dialect::superset();

  bool has(dialect::Feature feature) const { return dialect.has(feature); }

  model::Histogram hist;
  std::vector<VariableText> definitions;  // only while fields are read
  std::uint32_t variables_made = 0;       // at most kMaxHistVariables
};

// ---- fields and expressions -----------------------------------------------------------------------
enum class HistRole : std::uint8_t { Key, Value, Variable, Operand };

// Reads `FIELD[.MODIFIER]`. nullopt: a mistake was logged; so for all functions here unless they say otherwise.
std::optional<model::HistField> read_hist_field(HistCheck& check, std::string_view text, HistRole role);

struct ExpressionReading {
  std::optional<model::HistField> field;
  std::size_t cut = std::string_view::npos;  // where 6.1 wrote the first NUL into the text
};
// Reads operands and operators.
ExpressionReading read_hist_expression(HistCheck& check, std::string_view text, HistRole role);
// Reads a variable's definition; a lone `$VAR` becomes an alias. `definition` is cut short as VariableText says.
std::optional<model::HistField> read_hist_definition(HistCheck& check, VariableText& definition);
// One operand: number, field or `[SYSTEM.EVENT.]$VAR`.
ExpressionReading read_hist_operand(HistCheck& check, std::string_view text, HistRole role);

// ---- variables ------------------------------------------------------------------------------------
struct FoundVariable {
  std::uint64_t histogram = 0;
  const model::HistVariable* variable = nullptr;  // lives as long as the table is not changed
};
// Finds a variable of a histogram that is set: on `event`, or on any event if the name is unique.
std::optional<FoundVariable> find_variable(HistCheck& check, const std::optional<model::EventName>& event,
                                           std::string_view name);
// Finds a variable of the histogram that is being made.
const model::HistVariable* find_own_variable(const HistCheck& check, std::string_view name);
// Whether the event has this variable already, in this histogram or in one that is set.
bool event_has_variable(const HistCheck& check, std::string_view name);
// Adds a reference: its index in Histogram::references. nullopt: there are too many, which is not logged.
std::optional<std::uint32_t> refer_to(HistCheck& check, const FoundVariable& variable,
                                      const std::optional<model::EventName>& qualifier);
// Makes room for one more variable and returns its index.
std::optional<std::uint32_t> make_variable(HistCheck& check);
// The field that a `$VAR` of the same text stands for, where its definition is just a field.
std::optional<std::string> local_field(const HistCheck& check, const std::optional<model::EventName>& qualifier,
                                       std::string_view reference);
// Whether `text` has the form `$x`.
bool is_reference(std::string_view text);

// ---- parts ----------------------------------------------------------------------------------------
bool read_definitions(HistCheck& check, const HistParts& parts);
bool read_hist_values(HistCheck& check, const HistParts& parts);
bool read_hist_variables(HistCheck& check);
bool read_hist_keys(HistCheck& check, const HistParts& parts);
bool read_hist_sort(HistCheck& check, const HistParts& parts);
bool read_hist_top(HistCheck& check, const HistParts& parts);
bool read_hist_actions(HistCheck& check, const HistParts& parts);
// Binds what the actions name, and makes variables (and histograms on other events) for fields.
bool create_hist_actions(HistCheck& check);
bool create_trace_action(HistCheck& check, model::HistAction& action);

// Whether the two count the same. As in 6.1, the insides of expressions and constants are not compared.
bool same_histogram(const model::Histogram& one, const model::Histogram& other);
// The text behind the '.' of a field; "" if the field has no modifier.
std::string_view modifier_text(const model::HistField& field);

// ---- the whole ------------------------------------------------------------------------------------
// The stack trace of the hit, which every kernel has as the key `stacktrace`.
model::HistField stacktrace_field(const HistCheck& check, HistRole role);
// Reads all parts. What the actions name is bound later, by create_hist_actions().
bool read_histogram(HistCheck& check, const HistParts& parts);
// Does what `spec` says to `check.table`. False: refused, and a mistake was logged.
bool write_histogram(HistCheck& check, const model::TriggerSpec& spec);
// Removes a histogram; if no other trigger shares its counts, its helper histograms that nobody else uses go, too.
void remove_histogram(TriggerTable& table, std::vector<TriggerStep>& steps, const model::EventName& event,
                      std::uint64_t id);

// The condition of a trigger; kernels before 6.2 log none of its mistakes.
std::optional<model::FilterExpr> compile_trigger_filter(std::string_view text, const model::RecordLayout& layout,
                                                        dialect::Dialect dialect, diag::Sink& sink);

// ---- text -----------------------------------------------------------------------------------------
// As strsep(): returns the text before `separator`; `rest` becomes the text behind it, or nullopt if there is none.
std::string_view cut_at(std::optional<std::string_view>& rest, char separator);
std::string_view without_blanks(std::string_view text);

}  // namespace kevt::sema

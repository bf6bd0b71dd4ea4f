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
inline constexpr std::size_t kMaxHistValues = 3;  // with hitcount
inline constexpr std::size_t kMaxHistVariables = 16;
inline constexpr std::size_t kMaxSortKeys = 2;
inline constexpr std::size_t kMaxActionFields = 64;   // params of an action, field variables of a histogram
inline constexpr std::uint32_t kTextBytes = 256;      // room of a string whose length is not fixed
inline constexpr std::uint32_t kStackBytes = 16 * 8;  // frames of a stack trace

// What is done to an equal histogram that is set, the strongest one last.
enum class HistUpdate : std::uint8_t { None, Clear, Continue, Pause };

// The parts of the text; the last one of a kind counts.
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
  std::vector<std::string> assignments;  // "x=v,y=$x"
  std::vector<std::string> actions;      // "onmax($x).save(v)"
};
HistParts hist_parts(const model::TriggerSpec& spec);

enum class HistPurpose : std::uint8_t { Add, Remove };

// `name=text` of a variable. Reading it cuts it short: 6.1 splits expressions in place, so that a later `$name`
// sees `i` where `i*10` was written.
struct VariableText {
  std::string name;
  std::string text;
};

// One histogram in the making.
struct HistCheck {
  const target::EventCatalog& catalog;
  TriggerTable& table;              // as the write leaves it so far
  std::vector<TriggerStep>& steps;  // what it did to the table
  HistLog& log;
  model::EventName event;
  const target::CatalogEntry& entry;
  HistPurpose purpose = HistPurpose::Add;
  dialect::Dialect dialect = dialect::Dialect::superset();

  bool has(dialect::Feature feature) const { return dialect.has(feature); }

  model::Histogram hist;
  std::vector<VariableText> definitions;  // while fields are read
  std::uint32_t variables_made = 0;       // of the 16 a histogram has room for
};

// ---- fields and expressions -----------------------------------------------------------------------
enum class HistRole : std::uint8_t { Key, Value, Variable, Operand };

// `FIELD[.MODIFIER]`; a mistake is logged, as in all of these.
std::optional<model::HistField> read_hist_field(HistCheck& check, std::string_view text, HistRole role);

struct ExpressionReading {
  std::optional<model::HistField> field;
  std::size_t cut = std::string_view::npos;  // where 6.1's reading ended the text
};
// Operands and operators.
ExpressionReading read_hist_expression(HistCheck& check, std::string_view text, HistRole role);
// The same of a variable; a lone `$VAR` becomes an alias. What was read is cut off `definition`.
std::optional<model::HistField> read_hist_definition(HistCheck& check, VariableText& definition);
// One operand: number, field or `[SYSTEM.EVENT.]$VAR`.
ExpressionReading read_hist_operand(HistCheck& check, std::string_view text, HistRole role);

// ---- variables ------------------------------------------------------------------------------------
struct FoundVariable {
  std::uint64_t histogram = 0;
  const model::HistVariable* variable = nullptr;  // lives as long as the table is not changed
};
// Of a histogram that is set, on `event` or wherever the name is unique.
std::optional<FoundVariable> find_variable(HistCheck& check, const std::optional<model::EventName>& event,
                                           std::string_view name);
// Of the histogram in the making.
const model::HistVariable* find_own_variable(const HistCheck& check, std::string_view name);
// Has the event this variable already, in the making or set?
bool event_has_variable(const HistCheck& check, std::string_view name);
// Index into Histogram::references; nullopt, unlogged: too many.
std::optional<std::uint32_t> refer_to(HistCheck& check, const FoundVariable& variable,
                                      const std::optional<model::EventName>& qualifier);
// Room for one more variable: its index.
std::optional<std::uint32_t> make_variable(HistCheck& check);
// The field that a `$VAR` of the same text stands for, where its definition is just a field.
std::optional<std::string> local_field(const HistCheck& check, const std::optional<model::EventName>& qualifier,
                                       std::string_view reference);
// `$x`
bool is_reference(std::string_view text);

// ---- parts ----------------------------------------------------------------------------------------
bool read_definitions(HistCheck& check, const HistParts& parts);
bool read_hist_values(HistCheck& check, const HistParts& parts);
bool read_hist_variables(HistCheck& check);
bool read_hist_keys(HistCheck& check, const HistParts& parts);
bool read_hist_sort(HistCheck& check, const HistParts& parts);
bool read_hist_actions(HistCheck& check, const HistParts& parts);
// Binds what the actions name, and makes variables (and histograms on other events) for fields.
bool create_hist_actions(HistCheck& check);
bool create_trace_action(HistCheck& check, model::HistAction& action);

// Do the two count the same? 6.1 does not look into expressions and constants.
bool same_histogram(const model::Histogram& one, const model::Histogram& other);
// What stands behind the '.' of a field, "" for nothing.
std::string_view modifier_text(const model::HistField& field);

// ---- the whole ------------------------------------------------------------------------------------
// The stack trace of the hit, which every kernel has as the key `stacktrace`.
model::HistField stacktrace_field(const HistCheck& check, HistRole role);
// Reads everything but the actions' parameters.
bool read_histogram(HistCheck& check, const HistParts& parts);
// What `spec` does to `check.table`, or false.
bool write_histogram(HistCheck& check, const model::TriggerSpec& spec);
// Removes a histogram and the helpers it had made.
void remove_histogram(TriggerTable& table, std::vector<TriggerStep>& steps, const model::EventName& event,
                      std::uint64_t id);

// The condition of a trigger; kernels before 6.2 log none of its mistakes.
std::optional<model::FilterExpr> compile_trigger_filter(std::string_view text, const model::RecordLayout& layout,
                                                        dialect::Dialect dialect, diag::Sink& sink);

// ---- text -----------------------------------------------------------------------------------------
// strsep(): what stands before `separator`; `rest` becomes what stands behind it, or nullopt.
std::string_view cut_at(std::optional<std::string_view>& rest, char separator);
std::string_view without_blanks(std::string_view text);

}  // namespace kevt::sema

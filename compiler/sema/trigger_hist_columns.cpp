// What a histogram is made of: keys, values, variables, and the order of its entries.
//
//   hist:keys=id,common_pid.execname:vals=n,hitcount:t=common_timestamp.usecs:sort=n.descending,hitcount
//
// The problem: each role forbids other modifiers and has its own limit, and mistakes must come in the kernel's
// order: first the variables' texts are cut, then values, variables and keys are read, then the order.
// The idea: one function for each, over texts split at ','. Limits that 6.1 answers with a bare EINVAL are our
// own kinds. Mirrors parse_var_defs(), create_val_fields(), create_var_fields(), create_key_fields() and
// create_sort_keys() of kernel/trace/trace_events_hist.c, 6.1. Not here: what stands in an expression.
#include <algorithm>
#include <array>

#include "compiler/sema/trigger_hist.h"

namespace kevt::sema {
namespace {

using diag::Kind;
using dialect::Feature;
using model::HistField;
using model::HistModifier;
using model::HistSource;

constexpr std::uint32_t kMaxKeyBytes = kTextBytes + kStackBytes;

bool is_one_of(HistModifier modifier, std::initializer_list<HistModifier> set) {
  return std::ranges::find(set, modifier) != set.end();
}

// The rules for modifiers of values and variables. An expression has no modifier of its own, only its operands have.
bool is_bad_value(const HistField& field) {
  if (field.source == HistSource::Stacktrace) return true;
  return model::is_measuring(field.modifier) ||
         is_one_of(field.modifier, {HistModifier::Sym, HistModifier::SymOffset, HistModifier::Syscall});
}
bool is_bad_variable(const HistField& field) {
  return model::is_measuring(field.modifier) || is_one_of(field.modifier, {HistModifier::Graph, HistModifier::Percent});
}

bool has_reference(const HistField& field) {
  return field.source == HistSource::Reference || std::ranges::any_of(field.operands, has_reference);
}

std::uint32_t rounded_up(std::uint32_t bytes) { return (bytes + 7) / 8 * 8; }

// ---- variables --------------------------------------------------------------------------------

// Reads `x=v,y=$x`; text behind the 16th ',' is dropped.
bool read_assignments(HistCheck& check, std::string_view assignments) {
  std::optional<std::string_view> rest = assignments;
  for (std::size_t i = 0; i < kMaxHistVariables && rest; ++i) {
    std::optional<std::string_view> text = cut_at(rest, ',');
    const std::string_view name = cut_at(text, '=');
    if (!text) {
      check.log.refuse(Kind::HistMalformedAssignment, name);
      return false;
    }
    if (check.definitions.size() == kMaxHistVariables) {
      check.log.refuse(Kind::HistTooManyVars, name);
      return false;
    }
    check.definitions.push_back({std::string(name), std::string(*text)});
  }
  return true;
}

// A field with `.execname` is kept as text: the process's name.
void keep_as_text(HistField& field) {
  if (field.modifier != HistModifier::Execname) return;
  field.is_string = true;
  field.bytes = kTextBytes;
  field.is_signed = false;
  field.type = "char[]";
}

bool read_variable(HistCheck& check, VariableText& definition) {
  if (check.purpose == HistPurpose::Add && event_has_variable(check, definition.name)) {
    check.log.refuse(Kind::HistDuplicateVar, definition.name);
    return false;
  }
  auto field = read_hist_definition(check, definition);
  if (!field) return false;
  if (is_bad_variable(*field)) {
    check.log.refuse(Kind::HistBadFieldModifier, definition.text);
    return false;
  }
  keep_as_text(*field);
  const auto index = static_cast<std::uint32_t>(check.hist.variables.size());
  check.hist.variables.push_back({.index = index, .name = definition.name, .value = *std::move(field)});
  return true;
}

// ---- values and keys ------------------------------------------------------------------------------

bool read_value(HistCheck& check, std::string_view text) {
  auto field = read_hist_expression(check, text, HistRole::Value).field;
  if (!field) return false;
  if (is_bad_value(*field)) {
    check.log.refuse(Kind::HistBadFieldModifier, text);
    return false;
  }
  check.hist.values.push_back(*std::move(field));
  return true;
}

std::optional<HistField> read_key(HistCheck& check, std::string_view text) {
  if (text == "stacktrace") return stacktrace_field(check, HistRole::Key);
  if (check.dialect.has_own_forms() && (text == "stacktrace.full" || text == "common_stacktrace.full")) {
    HistField field = stacktrace_field(check, HistRole::Key);
    field.modifier = HistModifier::Full;
    field.bytes = kFullStackBytes;
    return field;
  }
  auto [field, cut] = read_hist_expression(check, text, HistRole::Key);
  if (!field) return std::nullopt;
  if (has_reference(*field)) return check.log.refuse(Kind::HistInvalidRefKey, text.substr(0, cut));
  field->bytes = std::max(rounded_up(field->bytes), 8u);  // a number's
  return field;
}

// `nohitcount` needs something else to show.
bool has_visible_value(HistCheck& check) {
  if (check.hist.shows_hitcount || !check.hist.values.empty()) return true;
  check.log.refuse(Kind::HistNeedNohcVal, "", ENOENT);
  return false;
}

// ---- order ----------------------------------------------------------------------------------------

std::optional<model::SortOrder> read_order(HistCheck& check, std::optional<std::string_view> text) {
  if (!text || *text == "ascending") return model::SortOrder::Ascending;
  if (*text == "descending") return model::SortOrder::Descending;
  return check.log.refuse(Kind::HistInvalidSortModifier, *text);
}

// The number of a column: 0 is hitcount, then values and keys follow. `statistic`: min, max or avg of a value; empty:
// the first column of the name.
std::optional<std::uint32_t> find_column(const model::Histogram& hist, std::string_view name,
                                         std::string_view statistic) {
  if (name == "hitcount") return 0;
  std::uint32_t column = 0;
  for (const auto* fields : {&hist.values, &hist.keys}) {
    for (const HistField& field : *fields) {
      ++column;
      const bool is_it = statistic.empty() || model::statistic_word(field.modifier) == statistic;
      if (field.name == name && is_it) return column;
    }
  }
  return std::nullopt;
}

std::optional<model::HistSortKey> read_sort_key(HistCheck& check, std::string_view text) {
  std::optional<std::string_view> rest = text;
  const std::string_view name = cut_at(rest, '.');
  if (name.empty()) return check.log.refuse(Kind::HistEmptySortField, "sort=");
  std::string_view statistic;
  if (rest && check.dialect.has_own_forms()) {
    const std::string_view word = rest->substr(0, rest->find('.'));
    if (word == "min" || word == "max" || word == "avg") statistic = cut_at(rest, '.');
  }
  const auto column = find_column(check.hist, name, statistic);
  if (!column) return check.log.refuse(Kind::HistInvalidSortField, name);
  const auto order = read_order(check, rest);
  if (!order) return std::nullopt;
  return model::HistSortKey{.column = *column, .order = *order};
}

}  // namespace

bool read_definitions(HistCheck& check, const HistParts& parts) {
  return std::ranges::all_of(parts.assignments, [&](const std::string& part) { return read_assignments(check, part); });
}

// Whether some value is one that no kernel has: then there is room for more of them than in a kernel.
bool has_statistic(const HistCheck& check, std::string_view values) {
  if (!check.dialect.has_own_forms()) return false;
  std::optional<std::string_view> rest = values;
  while (rest) {
    const std::string_view text = cut_at(rest, ',');
    const std::size_t dot = text.find('.');
    const std::string_view word = dot == std::string_view::npos ? "" : text.substr(dot + 1);
    if (word == "min" || word == "max" || word == "avg") return true;
  }
  return false;
}

// There is room for two values; with a statistic among them for eight. `hitcount` is always there and may be written
// anywhere among the first three. In kernels where `hitcount` is also a field, a second `hitcount` is a value.
bool read_hist_values(HistCheck& check, const HistParts& parts) {
  if (!parts.values) return has_visible_value(check);
  std::optional<std::string_view> rest = *parts.values;
  bool counted = false;
  const std::size_t most = has_statistic(check, *parts.values) ? kMostOwnHistValues : kMaxHistValues;
  for (std::size_t i = 0; i < most && check.hist.values.size() + 1 < most && rest; ++i) {
    const std::string_view text = cut_at(rest, ',');
    const bool is_first = text == "hitcount" && !(counted && check.has(Feature::HitcountField));
    counted = counted || text == "hitcount";
    if (!is_first && !read_value(check, text)) return false;
  }
  if (!rest || *rest == "hitcount") return has_visible_value(check);
  check.log.refuse_unlogged(Kind::HistTooManyVals, *rest, EINVAL);
  return false;
}

bool read_hist_variables(HistCheck& check) {
  return std::ranges::all_of(check.definitions,
                             [&](VariableText& definition) { return read_variable(check, definition); });
}

bool read_hist_keys(HistCheck& check, const HistParts& parts) {
  std::optional<std::string_view> rest = parts.keys;
  std::uint32_t bytes = 0;
  while (rest && check.hist.keys.size() < kMaxHistKeys) {
    const std::string_view text = cut_at(rest, ',');
    auto key = read_key(check, text);
    if (!key) return false;
    bytes += key->modifier == HistModifier::Full ? kStackBytes : key->bytes;
    if (bytes > kMaxKeyBytes) {
      check.log.refuse_unlogged(Kind::HistKeysTooLong, text, EINVAL);
      return false;
    }
    check.hist.keys.push_back(*std::move(key));
  }
  if (!rest) return true;
  check.log.refuse_unlogged(Kind::HistTooManyKeys, *rest, EINVAL);
  return false;
}

// A key that is shown must be able to make room for another, and with it its variables would go.
bool read_hist_top(HistCheck& check, const HistParts& parts) {
  if (parts.top == 0) return true;
  const model::Histogram& hist = check.hist;
  const bool has_variables = !hist.variables.empty() || !hist.references.empty() || !parts.actions.empty();
  if (parts.top < 1u << hist.bits && !has_variables && !hist.drops) return true;
  check.log.refuse_unlogged(Kind::HistBadTop, "top=", EINVAL);
  return false;
}

bool read_hist_sort(HistCheck& check, const HistParts& parts) {
  if (!parts.sort) {
    if (parts.top != 0) check.hist.sort = {{.column = 0, .order = model::SortOrder::Descending}};
    return true;
  }
  check.hist.sort.clear();
  std::optional<std::string_view> rest = *parts.sort;
  while (rest) {
    const std::string_view text = cut_at(rest, ',');
    if (text.empty()) {
      check.log.refuse(Kind::HistEmptySortField, "sort=");
      return false;
    }
    if (check.hist.sort.size() + 1 == kMaxSortKeys && rest) {
      check.log.refuse(Kind::HistTooManySortFields, "sort=");
      return false;
    }
    const auto key = read_sort_key(check, text);
    if (!key) return false;
    check.hist.sort.push_back(*key);
  }
  return true;
}

}  // namespace kevt::sema

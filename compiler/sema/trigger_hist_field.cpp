// One field of a histogram with its modifier.
//
// The problem: `v.log2` may be a key and not a value, `common_pid.execname` is fine where `i.execname` is not,
// and what a field yields (its type, its size) decides what it can be compared with later.
//
//   common_timestamp.usecs   Timestamp, Usecs        cpu      Cpu, still called `cpu`
//   s                        text, 256 bytes         v.nope   BAD_FIELD_MODIFIER under `nope`
//
// The idea: the modifier is everything behind the first '.', looked at before the field. Roles that forbid a
// modifier for the whole expression are checked by who asks (keys, values, variables). Text written as
// `.sym-offset` arrives as `.symXoffset`, as in the kernel, so that '-' always is an operator.
// Mirrors parse_field() and create_hist_field() of kernel/trace/trace_events_hist.c, 6.1.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "compiler/sema/filter_field.h"
#include "compiler/sema/trigger_hist.h"
#include "grammar/parse_definition_text.h"

namespace kevt::sema {
namespace {

using diag::Kind;
using dialect::Feature;
using model::FilterOperand;
using model::HistField;
using model::HistModifier;
using model::HistSource;
using model::RecordField;

struct ModifierName {
  std::string_view text;
  HistModifier modifier;
};
constexpr std::array<ModifierName, 6> kPlainModifiers = {{{"hex", HistModifier::Hex},
                                                          {"sym", HistModifier::Sym},
                                                          {"symXoffset", HistModifier::SymOffset},
                                                          {"syscall", HistModifier::Syscall},
                                                          {"log2", HistModifier::Log2},
                                                          {"usecs", HistModifier::Usecs}}};

constexpr std::array kStatistics = {HistModifier::Least, HistModifier::Greatest, HistModifier::Average};

constexpr std::string_view kModifierHelp =
    "modifiers: .hex .sym .sym-offset .syscall .usecs; .execname of common_pid; .log2 and .buckets=N of keys; .percent "
    "and .graph of values; of kevtrace alone, on no kernel: .loglinear of keys, stacktrace.full, .min .max .avg of "
    "values";

struct Modifier {
  HistModifier kind = HistModifier::None;
  std::uint64_t buckets = 0;
  std::string_view wrong;  // for a mistake: the text that the caret points to
  bool good = false;
};

Modifier good(HistModifier kind) { return {.kind = kind, .buckets = 0, .wrong = {}, .good = true}; }
Modifier bad(std::string_view wrong) { return {.kind = HistModifier::None, .buckets = 0, .wrong = wrong}; }

// `buckets=N`, `bucket=N`
Modifier read_buckets(std::string_view text) {
  text.remove_prefix(std::string_view("bucket").size());
  if (text.starts_with('s')) text.remove_prefix(1);
  if (!text.starts_with('=')) return bad(text);
  text.remove_prefix(1);
  const grammar::Number width = grammar::parse_unsigned(text, grammar::kAutoBase);
  if (width.error != 0 || width.value == 0) return bad(text);
  return {.kind = HistModifier::Buckets, .buckets = width.value, .wrong = {}, .good = true};
}

Modifier read_modifier(const HistCheck& check, std::string_view text, std::string_view field, HistRole role) {
  for (const ModifierName& known : kPlainModifiers) {
    if (text == known.text) return good(known.modifier);
  }
  if (text == "stacktrace" && check.has(Feature::StacktraceFields)) return good(HistModifier::Stacktrace);
  if (text == "execname" && field == "common_pid") return good(HistModifier::Execname);
  if (text.starts_with("bucket")) return read_buckets(text);
  if (text == "loglinear" && check.dialect.has_own_forms()) return good(HistModifier::LogLinear);
  if (role == HistRole::Value && check.dialect.has_own_forms()) {
    for (const HistModifier known : kStatistics)
      if (text == model::statistic_word(known)) return good(known);
  }
  const bool shows_share = role == HistRole::Value || role == HistRole::Operand;
  if (shows_share && text.starts_with("percent")) return good(HistModifier::Percent);
  if (shows_share && text.starts_with("graph")) return good(HistModifier::Graph);
  return bad(text);
}

bool names_c_types(target::EventOwner owner) {
  return owner == target::EventOwner::Static || owner == target::EventOwner::Synthetic;
}

// The type's name in the `format` file.
std::string type_name(const target::CatalogEntry& entry, const RecordField& field) {
  if (field.role != model::FieldRole::Argument) return "unsigned long";
  if (names_c_types(entry.owner) && !field.type.text.empty()) {
    const std::string& text = field.type.text;
    return text.ends_with("[]") && !text.starts_with("__data_loc") ? "__data_loc " + text : text;
  }
  if (model::RecordLayout::is_string(field)) return "__data_loc char[]";
  if (field.type.kind == model::TypeKind::Char) return fmt::format("char[{}]", field.type.array_count);
  const char sign = model::is_signed_number(field.type.kind) ? 's' : 'u';
  if (field.type.array_count > 0) return fmt::format("{}{}[{}]", sign, 8 * field.type.bytes, field.type.array_count);
  return fmt::format("{}{}", sign, 8 * field.type.bytes);
}

std::string_view common_type(FilterOperand source) {
  switch (source) {
    case FilterOperand::CommonType:
      return "unsigned short";
    case FilterOperand::CommonFlags:
    case FilterOperand::CommonPreemptCount:
      return "unsigned char";
    case FilterOperand::CommonPid:
      return "int";
    case FilterOperand::Unbound:
    case FilterOperand::RecordField:
    case FilterOperand::Cpu:
    case FilterOperand::Comm:
      return "";
  }
  std::unreachable();
}

std::string field_names(const model::RecordLayout& layout) {
  std::string names;
  for (const RecordField& field : layout.fields) names += (names.empty() ? "" : " ") + field.name;
  return names;
}

bool is_number_size(std::uint32_t bytes) { return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8; }

// Fills in type and size of the field's value. False: 6.1 cannot read a number of this size, or it is a list.
bool fill_value(HistField& field, const FilterField& found, const target::CatalogEntry& entry) {
  const bool recorded = found.source == FilterOperand::RecordField;
  field.type = recorded ? type_name(entry, entry.layout.fields[found.index]) : std::string(common_type(found.source));
  const bool is_pointer = field.type.ends_with('*');
  const bool is_text = found.is_string && !is_pointer;
  field.bytes = is_text && field.type.starts_with("__data_loc") ? kTextBytes : found.bytes;
  field.is_signed = !is_text && found.is_signed;
  // A logarithm or a bucket of a text is no text.
  field.is_string = is_text && !model::is_measuring(field.modifier);
  return !found.is_counted && (is_text || is_number_size(field.bytes));
}

void make_timestamp(HistField& field) {
  field.source = HistSource::Timestamp;
  field.type = "u64";
  field.bytes = 8;
  field.is_timestamp = true;
}

void make_cpu(const HistCheck& check, HistField& field) {
  field.source = HistSource::Cpu;
  field.type = "unsigned int";
  field.bytes = 4;
  // Such a listing cannot be written back, so it is made only for the dialect of one kernel.
  if (check.dialect.version() && check.has(Feature::CpuListedTwice)) field.listed = "common_cpu" + field.name;
}

void make_comm(HistField& field) {
  field.source = HistSource::Comm;
  field.type = "char[]";
  field.bytes = kTextBytes;
  field.is_string = true;
  field.listed = "common_comm";
}

bool measures(const HistField& field) { return model::is_measuring(field.modifier); }

void make_hitcount(HistField& field) {
  field.source = HistSource::Hitcount;
  field.type = "u64";
  if (measures(field)) field.name.clear();  // the kernel looks for the name of what is measured, and there is none
}

// The stack trace of the hit, or the one that field `of` holds.
void make_stacktrace(HistField& field, std::string_view of, HistRole role) {
  field.source = HistSource::Stacktrace;
  field.type = "unsigned long[]";
  field.bytes = kStackBytes;
  field.name = of.empty() ? "common_stacktrace" : of;
  field.listed = of.empty() || role != HistRole::Key ? field.name : field.name + ".stacktrace";
  if (of.empty() && measures(field)) field.name.clear();
}

bool is_own_field(const target::CatalogEntry& entry, std::string_view name) {
  return std::ranges::any_of(entry.layout.fields, [&](const RecordField& field) { return field.name == name; });
}

bool holds_stacktrace(const RecordField& field) { return field.type.text.contains("long["); }

// Fills in a field that every event has and that is no part of its record. False: `field.name` is no such field.
bool fill_generic(HistCheck& check, HistField& field, HistRole role) {
  const std::string name = field.name;
  const bool stacks = check.has(Feature::StacktraceFields);
  if (name == "common_timestamp") {
    check.hist.uses_timestamps = true;
    make_timestamp(field);
  } else if (stacks && name == "common_stacktrace") {
    make_stacktrace(field, "", role);
  } else if (name == "common_cpu") {
    make_cpu(check, field);
  } else if (name == "common_comm" && check.has(Feature::CommField)) {
    make_comm(field);
  } else if (name == "hitcount" && check.has(Feature::HitcountField)) {
    make_hitcount(field);
  } else if (stacks && (name == "stacktrace" || name == "STACKTRACE") && !is_own_field(check.entry, name)) {
    make_stacktrace(field, "", role);
  } else {
    return false;
  }
  return true;
}

// Fills in a field of the record, or a common field. False: there is no such field, or it is unusable; it is logged.
bool fill_field(HistCheck& check, HistField& field, HistRole role) {
  const auto found = find_filter_field(field.name, check.entry.layout);
  const bool is_comm = found && found->source == FilterOperand::Comm;
  if (!found || (is_comm && !check.has(Feature::CommField))) {
    check.log.refuse(Kind::HistFieldNotFound, field.name);
    check.log.advise("fields of this event: " + field_names(check.entry.layout));
    return false;
  }
  const bool recorded = found->source == FilterOperand::RecordField;
  if (found->is_float) {
    check.log.refuse_unlogged(Kind::HistFieldFloat, field.name, EINVAL);
    return false;
  }
  if (is_comm) {
    make_comm(field);
  } else if (found->source == FilterOperand::Cpu) {
    make_cpu(check, field);
  } else if (check.has(Feature::StacktraceFields) && recorded &&
             holds_stacktrace(check.entry.layout.fields[found->index])) {
    make_stacktrace(field, std::string(field.name), role);
  } else if (!fill_value(field, *found, check.entry)) {
    check.log.refuse_unlogged(Kind::HistFieldSize, field.name, ENOMEM);
    return false;
  }
  return true;
}

}  // namespace

std::optional<HistField> read_hist_field(HistCheck& check, std::string_view text, HistRole role) {
  const std::size_t dot = text.find('.');
  HistField field;
  field.name = text.substr(0, dot);
  if (dot != std::string_view::npos) {
    const Modifier modifier = read_modifier(check, text.substr(dot + 1), field.name, role);
    if (!modifier.good) {
      check.log.refuse(Kind::HistBadFieldModifier, modifier.wrong);
      check.log.advise(std::string(kModifierHelp));
      return std::nullopt;
    }
    field.modifier = modifier.kind;
    field.buckets = modifier.buckets;
    field.in_usecs = modifier.kind == HistModifier::Usecs;
  }
  const std::string written = field.name;
  if (!fill_generic(check, field, role) && !fill_field(check, field, role)) return std::nullopt;
  const bool stack_of_field = field.source == HistSource::Stacktrace && is_own_field(check.entry, written);
  if (field.modifier == HistModifier::Stacktrace && !stack_of_field) {
    return check.log.refuse(Kind::HistBadFieldModifier, text);
  }
  return field;
}

HistField stacktrace_field(const HistCheck& check, HistRole role) {
  HistField field;
  make_stacktrace(field, "", role);
  if (check.has(Feature::StacktraceFields)) return field;
  field.name.clear();
  field.type.clear();
  field.listed = "stacktrace";
  return field;
}

std::string_view modifier_text(const HistField& field) {
  switch (field.modifier) {
    case HistModifier::None:
      return field.in_usecs ? "usecs" : "";
    case HistModifier::Hex:
      return "hex";
    case HistModifier::Sym:
      return "sym";
    case HistModifier::SymOffset:
      return "sym-offset";
    case HistModifier::Execname:
      return "execname";
    case HistModifier::Syscall:
      return "syscall";
    case HistModifier::Log2:
      return "log2";
    case HistModifier::Buckets:
      return "buckets";
    case HistModifier::LogLinear:
      return "loglinear";
    case HistModifier::Usecs:
      return "usecs";
    case HistModifier::Percent:
      return "percent";
    case HistModifier::Graph:
      return "graph";
    case HistModifier::Least:
    case HistModifier::Greatest:
    case HistModifier::Average:
      return model::statistic_word(field.modifier);
    case HistModifier::Stacktrace:
      return "stacktrace";
    case HistModifier::Full:
      return "full";
  }
  std::unreachable();
}

}  // namespace kevt::sema

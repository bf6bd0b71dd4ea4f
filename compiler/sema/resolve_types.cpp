// Replaces arguments that need the target's types by the expressions that they mean.
//
//   p vfs_read $arg*             ->  file=file buf=buf count=count pos=pos
//   p vfs_read count             ->  count=count of type u64, argument 3
//   p vfs_read n=file->f_pos     ->  +104($arg1):s64          r vfs_read $retval  ->  s64
//   p vfs_read n=file:%pD        ->  n=+0x0(+0x20(+0x48(file))):string
//
// Problem: the text alone does not say what is read. Idea: before the other rules run, ask the environment once for the
// function's prototype, rewrite each argument into forms that need no types, and leave it alone if the types are not
// known. A kernel's types are part of the kernel: there `$arg1` takes its parameter's name and type. A process's types
// come from debug information, which may be missing: there only arguments that name a parameter or field use them.
// Mirrors traceprobe_expand_meta_args(), traceprobe_expand_dentry_args() and parse_btf_arg() of
// kernel/trace/trace_probe.c (6.12, 7.3). Carets of words behind `$arg*` are those of the words as written.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/sema/argument_words.h"
#include "compiler/sema/definition_check.h"
#include "compiler/sema/resolve_fields.h"
#include "compiler/sema/typed_argument.h"

namespace kevt::sema {
namespace {

using model::FetchArg;
using model::TypeKind;
using model::VariableBase;
using model::VariableKind;
using target::TypeClass;
using target::TypeSource;

constexpr std::string_view kFileType = ":%pd";

std::optional<std::uint32_t> member_bytes(const target::TypeTable& table, std::optional<target::TypeId> structure,
                                          std::string_view outer, std::string_view inner) {
  const auto first = structure ? table.find_member(*structure, outer) : std::nullopt;
  const auto second = first ? table.find_member(table.strip(first->type), inner) : std::nullopt;
  if (!second) return std::nullopt;
  return (first->bit_offset + second->bit_offset) / 8;
}

bool is_variable(const model::FetchExpr& expr) {
  const auto* variable = std::get_if<VariableBase>(&expr.base);
  return variable != nullptr && !variable->resolved;
}

class Resolution {
 public:
  explicit Resolution(DefinitionCheck& check) : check_(check) {}

  void run() {
    types_.source = check_.env.type_source();
    if (types_.source == TypeSource::None || !check_.has(dialect::Feature::ArgumentNames) || !is_asked()) return;
    for (const FetchArg& arg : check_.definition.args) check_.replaced.begins.push_back(arg.span.begin);
    if (types_.source == TypeSource::Kernel && is_elsewhere()) return;
    auto function = types_of_place();
    if (function) {
      types_.function = *function;
    } else if (function.error().failure == target::TypesFailure::NotChecked) {
      return;
    } else {
      types_.why = function.error().why;
    }
    if (!expand_argument_words(check_, types_)) return;
    for (std::size_t i = 0; i < check_.definition.args.size(); ++i) {
      resolve(i);
      resolve_file_name(i);
    }
  }

  void run_event_typecasts(const target::CatalogEntry& attached) {
    types_.source = check_.env.type_source();
    for (std::size_t i = 0; i < check_.definition.args.size(); ++i) {
      const FetchArg& arg = check_.definition.args[i];
      const auto* base = std::get_if<VariableBase>(&arg.expr.base);
      if (arg.text.empty() || base == nullptr || base->kind != VariableKind::Typecast) continue;
      const std::string text = base->name;
      auto operand = FieldResolver(check_, i, types_.function)
                         .event_typecast(text, leaf_column(check_.definition, arg.expr), attached);
      if (operand && operand->table != nullptr) take_operand(check_, types_.source, i, *std::move(operand));
    }
  }

 private:
  bool is_asked() const {
    return types_.source == TypeSource::Kernel || std::ranges::any_of(check_.definition.args, &FetchArg::needs_types);
  }
  bool is_elsewhere() const;
  std::expected<target::FunctionTypes, target::TypesError> types_of_place() const;
  void resolve(std::size_t index);
  void resolve_expression(std::size_t index);
  void resolve_file_name(std::size_t index);

  DefinitionCheck& check_;
  PlaceTypes types_;
};

std::expected<target::FunctionTypes, target::TypesError> Resolution::types_of_place() const {
  if (const auto* place = std::get_if<model::TracepointPlace>(&check_.definition.place))
    return check_.env.tracepoint_types(place->tracepoint);
  const auto* place = std::get_if<model::SymbolPlace>(&check_.definition.place);
  if (place == nullptr || place->offset != 0)
    return std::unexpected(target::TypesError{target::TypesFailure::Missing, ""});
  std::optional<std::string_view> module;
  if (place->module) module = *place->module;
  return check_.env.function_types(module, place->symbol);
}

// Reports `$arg` words and names of parameters in a `p` probe whose place is not known to be a function's entry (also
// one that waits for its module). True: something was reported.
bool Resolution::is_elsewhere() const {
  const bool entry = check_.definition.kind == model::EventKind::Kprobe &&
                     check_.definition.probe_kind == model::ProbeKind::Entry &&
                     std::holds_alternative<model::SymbolPlace>(check_.definition.place);
  if (!entry || check_.entry == FunctionEntry::Yes) return false;
  for (const FetchArg& arg : check_.definition.args) {
    if (!argument_word(check_.definition, arg).starts_with(kArgumentWord)) continue;
    report_argument_word(check_, types_, {.kind = diag::Kind::NofentryArgs, .order = diag::kStepArgumentWords}, arg);
    return true;
  }
  bool reported = false;
  for (std::size_t i = 0; i < check_.definition.args.size(); ++i) {
    const auto* base = std::get_if<VariableBase>(&check_.definition.args[i].expr.base);
    if (base == nullptr || base->kind != VariableKind::Name) continue;
    check_.report({.kind = diag::Kind::NosupBtfarg,
                   .column = leaf_column(check_.definition, check_.definition.args[i].expr),
                   .order = diag::argument_order(i, diag::kArgBase)});
    reported = true;
  }
  return reported;
}

void Resolution::resolve(std::size_t index) {
  FetchArg& arg = check_.definition.args[index];
  if (arg.text.empty()) return;
  const bool has_length = arg.length.has_value();  // a written length, not one that a text object brings
  if (has_length) {
    const LengthInPlace length(arg);
    resolve_expression(index);
  }
  const bool length_needs_types = has_length && arg.needs_types && is_variable(arg.length->expr);
  resolve_expression(index);
  arg.needs_types = arg.needs_types || length_needs_types;
}

void Resolution::resolve_expression(std::size_t index) {
  FetchArg& arg = check_.definition.args[index];
  const std::uint32_t column = leaf_column(check_.definition, arg.expr);
  FieldResolver fields(check_, index, types_.function);
  if (const auto* variable = std::get_if<VariableBase>(&arg.expr.base)) {
    const bool by_name = variable->kind == VariableKind::Name || variable->kind == VariableKind::ReturnValue;
    if (!by_name && check_.env.named_types() == nullptr) return;
    if (by_name && !types_.function && !types_.why.empty()) {
      check_.report({.kind = diag::Kind::NoBtfEntry,
                     .column = column,
                     .order = diag::argument_order(index, diag::kArgBase),
                     .errno_value = ENOENT,
                     .note = types_.why});
      return;
    }
    auto operand = fields.operand(variable->name, column);
    if (operand) take_operand(check_, types_.source, index, *std::move(operand));
  } else if (std::holds_alternative<model::ReturnValueBase>(arg.expr.base) &&
             (types_.source == TypeSource::Kernel || (arg.type.kind == TypeKind::Enum && !arg.type.names)) &&
             check_.definition.probe_kind == model::ProbeKind::Return) {
    auto operand = fields.return_value("$retval", column);
    if (operand) take_operand(check_, types_.source, index, *std::move(operand));
  }
}

// `x:%pd` is `+0x0(+NAME(x)):string`; the grammar left room for the offsets.
void Resolution::resolve_file_name(std::size_t index) {
  FetchArg& arg = check_.definition.args[index];
  const std::string written(argument_word(check_.definition, arg));
  const target::TypeTable* table = check_.env.named_types();
  const bool of_file = written.ends_with(":%pD");
  if (table == nullptr || !check_.has(dialect::Feature::FileNameTypes) || (!of_file && !written.ends_with(":%pd")))
    return;
  const auto name = member_bytes(*table, table->find_struct("dentry"), "d_name", "name");
  const auto dentry = member_bytes(*table, table->find_struct("file"), "f_path", "dentry");
  if (!name || !dentry) return;
  const std::size_t equals = written.find('=');
  const std::size_t begin = equals == std::string::npos ? 0 : equals + 1;
  const std::string body = arg.text.empty() ? written.substr(begin) : arg.text;
  const std::string inner = body.substr(0, body.size() - kFileType.size());
  const std::string text = of_file ? fmt::format("+0x0(+0x{:x}(+0x{:x}({}))):string", *name, *dentry, inner)
                                   : fmt::format("+0x0(+0x{:x}({})):string", *name, inner);
  check_.replaced.file_names.push_back({index, written.substr(0, begin) + text});
  const std::size_t reads = of_file ? 3 : 2;
  if (arg.text.empty() || arg.expr.dereferences.size() < reads) return;
  auto at = arg.expr.dereferences.end() - static_cast<std::ptrdiff_t>(reads);
  if (of_file) (at++)->offset = *dentry;
  at->offset = *name;
  arg.text = text;
  arg.needs_types = false;
}

}  // namespace

void resolve_types(DefinitionCheck& check) { Resolution(check).run(); }

void resolve_event_typecasts(DefinitionCheck& check, const target::CatalogEntry& attached) {
  const bool of_fields = check.has(dialect::Feature::TypecastOfField) && !check.has(dialect::Feature::Typecast);
  if (of_fields) Resolution(check).run_event_typecasts(attached);
}

}  // namespace kevt::sema

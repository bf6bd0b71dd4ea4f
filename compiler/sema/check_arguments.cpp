// Expressions of fetch-args: what may be read at this place.
//
//   p vfs_read+4 $arg1  →  BadVar: arguments are known at a function's entry only
//   p vfs_read $retval  →  RetvalOnProbe        p vfs_read %rdi  →  BadRegName
//
// Problem: availability depends on kind, point and place, and a return probe given by address is, for the
// kernel, no return probe where variables are concerned. Idea: one visitor over the base.
// Columns behind `+u( )` are one too small, as the kernel's are.
// Mirrors parse_probe_vars() and parse_probe_arg() of kernel/trace/trace_probe.c (6.1, 7.3).
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/model/span_context.h"
#include "compiler/sema/definition_check.h"

namespace kevt::sema {
namespace {

using dialect::Feature;

// What a name needs when its types are not known. A program's types are looked up once the function is loaded.
std::string_view what_names_need(const target::TargetEnv& env) {
  if (env.type_source() != target::TypeSource::DebugInformation)
    return "needs types: the kernel's (BTF), or debug information of a program (`-- CMD`)";
  return "is looked up in debug information (-g), which a function that is not loaded, or a place inside one, does not "
         "have; a register works everywhere: `%di`, `$arg1`";
}

bool is_trace_id(const model::FetchArg& arg) {
  const auto* base = std::get_if<model::SpanIdBase>(&arg.expr.base);
  return base != nullptr && base->id == model::SpanIdBase::Id::Trace;
}
std::uint32_t id_bytes_of(const model::FetchArg& arg) {
  return is_trace_id(arg) ? model::kTraceIdBytes : model::kSpanIdBytes;
}
std::string_view id_word_of(const model::FetchArg& arg) { return is_trace_id(arg) ? "$trace_id" : "$span_id"; }

// Visits one base and reports what is wrong with it.
class BaseCheck {
 public:
  BaseCheck(DefinitionCheck& check, std::size_t argument, const target::CatalogEntry* attached)
      : check_(check), argument_(argument), attached_(attached) {}

  void operator()(const model::RegisterBase& base) const {
    const bool is_vector = check_.request.dialect.has_own_forms() && target::vector_register(base.name);
    if (!is_vector && !target::register_offset(base.name)) report(diag::Kind::BadRegName);
  }
  void operator()(const model::StackPointerBase&) const {}
  void operator()(const model::StackSlotBase& base) const {
    const bool limited = check_.definition.kind != model::EventKind::Uprobe;
    if (limited && base.index > check_.env.max_stack_slots()) report(diag::Kind::BadStackNum);
  }
  void operator()(const model::ReturnValueBase&) const {
    const bool by_address = std::holds_alternative<model::AddressPlace>(check_.definition.place);
    const bool returns = check_.definition.probe_kind == model::ProbeKind::Return && !by_address;
    if (!returns) report(diag::Kind::RetvalOnProbe);
  }
  void operator()(const model::ArgumentBase& base) const {
    const bool entry = check_.definition.probe_kind == model::ProbeKind::Entry && check_.entry == FunctionEntry::Yes;
    if (!entry && !check_.has(Feature::EntryOnlyMessage)) return report(diag::Kind::BadVar);
    const bool by_address = std::holds_alternative<model::AddressPlace>(check_.definition.place);
    const bool at_return = check_.definition.probe_kind == model::ProbeKind::Return && !by_address;
    const bool in_range = base.number != 0 && base.number <= check_.env.max_stack_slots();
    if (in_range && !entry && !at_return) return report(diag::Kind::NofentryArgs);
    if (base.number == 0 || base.number > check_.env.max_stack_slots()) return report(diag::Kind::BadArgNum);
    const model::FetchArg& arg = check_.definition.args[argument_];
    if (arg.type.kind == model::TypeKind::Float && arg.expr.dereferences.empty())
      refuse(
          fmt::format("`$arg{}` is no floating point argument: they are in %xmm0, %xmm1 and so on, or by their "
                      "names where there is debug information",
                      base.number));
  }
  void operator()(const model::CommBase&) const {}
  void operator()(const model::EventFieldBase& base) const {
    const auto& fields = attached_->layout.fields;
    if (std::ranges::find(fields, base.name, &model::RecordField::name) != fields.end()) return;
    if (!base.bare && (base.name == "comm" || base.name == "COMM")) {
      const bool read = !check_.definition.args[argument_].expr.dereferences.empty();
      return read && check_.has(Feature::EventFieldIsVar) ? report(diag::Kind::CommCantDeref) : void();
    }
    if (base.bare) return report(diag::Kind::NoEventField);
    if (check_.has(Feature::EventFieldIsVar)) return report(diag::Kind::BadVar);
    const auto& arg = check_.definition.args[argument_];
    check_.report({.kind = diag::Kind::BadAttachArg,
                   .column = arg.span.begin,
                   .order = diag::argument_order(argument_, diag::kArgAttach),
                   .errno_value = ENOENT});
  }
  void operator()(const model::MemoryBase&) const {}
  void operator()(const model::SymbolBase& base) const {
    const auto found = check_.env.find_data(base.symbol);
    std::get<model::SymbolBase>(check_.definition.args[argument_].expr.base).is_thread_local =
        found && found->thread_local_place;
    // Other probes report it when they are armed (check_register.cpp).
    if (check_.definition.kind != model::EventKind::Eprobe) return;
    if (found || found.error().failure == target::LookupFailure::NotChecked) return;
    check_.report({.kind = diag::Kind::SymbolMissing,
                   .column = check_.definition.args[argument_].expr.base_span.begin,
                   .order = diag::argument_order(argument_, diag::kArgAttach),
                   .errno_value = ENOENT,
                   .logged = false});
  }
  void operator()(const model::SpanIdBase&) const {
    const model::FetchArg& arg = check_.definition.args[argument_];
    if (check_.env.is_running_kernel() || check_.env.type_source() == target::TypeSource::Kernel)
      return refuse(
          fmt::format("`{}` is what a thread of a program publishes: it is read in the process (`-- CMD`, "
                      "`--pid`)",
                      id_word_of(arg)));
    const bool has_own_type = arg.type.kind == model::TypeKind::HexBytes && arg.type.array_count == id_bytes_of(arg);
    if (arg.expr.dereferences.empty() && has_own_type && !arg.length) return;
    check_.report({.kind = diag::Kind::BadType,
                   .column = arg.type.written ? arg.type.span.begin : arg.expr_span.begin,
                   .order = diag::argument_order(argument_, diag::kArgType),
                   .note = fmt::format("`{}` is {} bytes, of the type `hex[{}]`, and nothing is read behind it",
                                       id_word_of(arg), id_bytes_of(arg), id_bytes_of(arg))});
  }
  void operator()(const model::FileOffsetBase&) const {}
  void operator()(const model::ImmediateBase&) const {}
  void operator()(const model::ImmediateStringBase&) const {}
  void operator()(const model::VariableBase& base) const {
    if (base.kind == model::VariableKind::WatchedAddress) return;
    if (check_.request.newer_forms == NewerForms::Refused)
      refuse(fmt::format("`{}` {}", base.name, what_names_need(check_.env)));
  }

 private:
  void refuse(std::string what) const {
    check_.report({.kind = diag::Kind::UnsupportedForm,
                   .column = check_.definition.args[argument_].expr_span.begin,
                   .order = diag::argument_order(argument_, diag::kArgBase),
                   .errno_value = EOPNOTSUPP,
                   .logged = false,
                   .detail = std::move(what)});
  }
  void report(diag::Kind kind) const {
    check_.report({.kind = kind,
                   .column = leaf_column(check_.definition, check_.definition.args[argument_].expr),
                   .order = diag::argument_order(argument_, diag::kArgBase)});
  }

  DefinitionCheck& check_;
  std::size_t argument_;
  const target::CatalogEntry* attached_;
};

// `$trace_id` and `$span_id` have one type.
void imply_hex(model::FetchArg& arg) {
  if (arg.type.written || !std::holds_alternative<model::SpanIdBase>(arg.expr.base)) return;
  arg.type.kind = model::TypeKind::HexBytes;
  arg.type.bytes = 1;
  arg.type.array_count = id_bytes_of(arg);
}

// A vector register without a written type is read as a double.
void imply_float(model::FetchArg& arg) {
  const auto* base = std::get_if<model::RegisterBase>(&arg.expr.base);
  if (arg.type.written || !arg.expr.dereferences.empty() || base == nullptr || arg.type.kind == model::TypeKind::Float)
    return;
  if (!target::vector_register(base->name)) return;
  arg.type.kind = model::TypeKind::Float;
  arg.type.bytes = 8;
}

// `$comm` of an eprobe, where the attached event has no such field.
void resolve_comm(model::FetchArg& arg, const target::CatalogEntry& attached) {
  const auto* field = std::get_if<model::EventFieldBase>(&arg.expr.base);
  if (field == nullptr || field->bare || (field->name != "comm" && field->name != "COMM")) return;
  const auto& fields = attached.layout.fields;
  if (std::ranges::find(fields, field->name, &model::RecordField::name) == fields.end()) {
    arg.expr.base = model::CommBase{};
  }
}

void resolve_field(model::FetchArg& arg, const target::CatalogEntry& attached) {
  auto* base = std::get_if<model::EventFieldBase>(&arg.expr.base);
  if (base == nullptr) return;
  const auto field = std::ranges::find(attached.layout.fields, base->name, &model::RecordField::name);
  if (field == attached.layout.fields.end()) return;
  const bool number = field->size == 1 || field->size == 2 || field->size == 4 || field->size == 8;
  const bool text = model::RecordLayout::is_fixed_text(*field);
  base->offset = field->offset;
  base->is_signed = field->is_signed;
  if (text) {
    base->form = model::EventFieldForm::Text;
  } else if (model::RecordLayout::is_located_text(*field)) {
    base->form = model::EventFieldForm::Located;
    base->located_from = field->located_from;
  } else if (number && !model::RecordLayout::is_string(*field) && !field->type.is_counted) {
    base->form = model::EventFieldForm::Integer;
    base->bytes = static_cast<std::uint8_t>(field->size);
  }
}

// From 6.5 on the kernel reads the expression first, and the caret stands where that reading ended.
Finding too_big(const DefinitionCheck& check, std::size_t argument) {
  const bool late = check.has(Feature::CaretInDereference);
  const model::FetchArg& arg = check.definition.args[argument];
  return {.kind = diag::Kind::EventTooBig,
          .column = late ? body_column(check, arg) : arg.expr_span.begin,
          .order = diag::argument_order(argument, late ? diag::kArgStoreSize : diag::kArgSize),
          .errno_value = E2BIG};
}

// Refuses `%pd` if types are needed for the offsets of its dereferences and are not known.
void refuse_file_name(DefinitionCheck& check, std::size_t argument) {
  const model::FetchArg& arg = check.definition.args[argument];
  const bool variable = std::holds_alternative<model::VariableBase>(arg.expr.base);
  if (!arg.needs_types || variable || check.request.newer_forms == NewerForms::Judged) return;
  check.report({.kind = diag::Kind::UnsupportedForm,
                .column = arg.expr_span.begin,
                .order = diag::argument_order(argument, diag::kArgBase),
                .errno_value = EOPNOTSUPP,
                .logged = false,
                .detail = fmt::format("`{}` {}", arg.text, what_names_need(check.env))});
}

constexpr std::uint32_t kMaxArgumentBytes = 3072;  // MAX_PROBE_EVENT_SIZE

}  // namespace

std::uint32_t uncounted_bytes(const model::Definition& definition, const model::Dereference& dereference) {
  const bool user = dereference.space == model::AddressSpace::User;
  const std::uint32_t digits = dereference.span.begin + (user ? 2 : 1);
  const std::string& text = definition.command;
  const bool both = digits < text.size() && text[dereference.span.begin] == '+' && text[digits] == '-';
  return (user ? 1U : 0U) + (both ? 1U : 0U);
}

std::uint32_t leaf_column(const model::Definition& definition, const model::FetchExpr& expr) {
  std::uint32_t column = expr.base_span.begin;
  for (const model::Dereference& dereference : expr.dereferences)
    if (dereference.span.end != 0) column -= uncounted_bytes(definition, dereference);
  return column;
}

std::uint32_t body_column(const DefinitionCheck& check, const model::FetchArg& arg) {
  if (!check.has(Feature::CaretInDereference) || arg.expr.dereferences.empty()) return arg.expr_span.begin;
  // Behind the outermost '(', or at the last field if types added the outermost dereference: that one was not written.
  const model::Dereference& outer = arg.expr.dereferences.back();
  if (outer.span.end == 0) return arg.expr.field_column != 0 ? arg.expr.field_column : arg.expr_span.begin;
  return outer.span.end + 1 - uncounted_bytes(check.definition, outer);
}

void check_entry_arguments(const DefinitionCheck& check) {
  constexpr std::size_t kMaxEntryArguments = 15;
  const model::EventKind kind = check.definition.kind;
  const bool by_function = kind == model::EventKind::Fprobe || kind == model::EventKind::Tprobe;
  // Runtimes apply the kernel's limit for function probes to every kind of probe.
  const bool limited =
      check.request.newer_forms == NewerForms::Refused || (by_function && check.has(Feature::EntryArgsLimit));
  if (check.definition.probe_kind != model::ProbeKind::Return || !limited) return;
  std::set<std::uint32_t> saved;
  const auto save = [&](const model::FetchExpr& expr) {
    if (const auto* base = std::get_if<model::ArgumentBase>(&expr.base)) saved.insert(base->number);
    return false;
  };
  for (const model::FetchArg& arg : check.definition.args) model::any_expression(arg, save);
  if (saved.size() <= kMaxEntryArguments) return;
  check.report({.kind = diag::Kind::TooManyEargs,
                .column = check.definition.args.front().span.begin,
                .order = diag::kStepCounter,
                .errno_value = E2BIG});
}

namespace {

bool may_be_counted(model::TypeKind kind) {
  return kind == model::TypeKind::Unsigned || kind == model::TypeKind::Signed || kind == model::TypeKind::Hex ||
         kind == model::TypeKind::HexBytes || kind == model::TypeKind::Octal || kind == model::TypeKind::Float;
}

// Refuses `enum` for an argument whose type is not known, `hex` for a single byte, and what no array can count.
void refuse_incomplete(const DefinitionCheck& check, std::size_t argument) {
  const model::FetchArg& arg = check.definition.args[argument];
  if (arg.type.kind == model::TypeKind::HexBytes && arg.type.array_count < 2)
    check.report({.kind = diag::Kind::BadType,
                  .column = arg.type.span.begin,
                  .order = diag::argument_order(argument, diag::kArgType),
                  .note = "`hex` is for arrays of bytes: `hex[16]`; a number has `x8`, `x16`, `x32` or `x64`"});
  if (arg.type.is_counted && !may_be_counted(arg.type.kind))
    check.report({.kind = diag::Kind::BadType,
                  .column = arg.type.span.begin,
                  .order = diag::argument_order(argument, diag::kArgType),
                  .note =
                      "an array whose length is fetched is of numbers, `hex` or floating point; text has its length "
                      "between parentheses: `string(%si)`"});
  if (arg.type.kind != model::TypeKind::Enum || arg.type.names || arg.needs_types) return;
  check.report(
      {.kind = diag::Kind::BadType,
       .column = arg.type.span.begin,
       .order = diag::argument_order(argument, diag::kArgType),
       .note = "`enum` is for arguments and fields by their names, whose types are known: `mode:enum`; elsewhere the "
               "names are written out: `mode=%di:enum(kOff=0,kOn=1)`"});
}

void check_expression(DefinitionCheck& check, std::size_t argument, const target::CatalogEntry* attached) {
  model::FetchArg& arg = check.definition.args[argument];
  std::visit(BaseCheck(check, argument, attached), arg.expr.base);
  refuse_file_name(check, argument);
  const bool comm_is_text = check.has(Feature::EventCommIsText);
  if (attached != nullptr && comm_is_text) resolve_comm(arg, *attached);
  check_argument_type(check, argument);
  if (attached != nullptr) resolve_comm(arg, *attached);
  if (attached != nullptr) resolve_field(arg, *attached);
}

// Checks the length of a text or of an array as if it were an argument of its own: it must be a number.
void check_length(DefinitionCheck& check, std::size_t argument, const target::CatalogEntry* attached) {
  model::FetchArg& arg = check.definition.args[argument];
  const LengthInPlace length(arg);
  imply_float(arg);
  check_expression(check, argument, attached);
  const bool is_text = std::holds_alternative<model::CommBase>(arg.expr.base) ||
                       std::holds_alternative<model::ImmediateStringBase>(arg.expr.base);
  const bool is_number = arg.type.kind == model::TypeKind::Unsigned || arg.type.kind == model::TypeKind::Signed ||
                         arg.type.kind == model::TypeKind::Hex || arg.type.kind == model::TypeKind::Bitfield;
  const auto* field = std::get_if<model::EventFieldBase>(&arg.expr.base);
  const bool is_text_field =
      field != nullptr && arg.expr.dereferences.empty() &&
      (field->form == model::EventFieldForm::Text || field->form == model::EventFieldForm::Located);
  if (is_text || is_text_field || !is_number)
    check.report({.kind = diag::Kind::BadType,
                  .column = arg.expr.base_span.begin,
                  .order = diag::argument_order(argument, diag::kArgType),
                  .note = "the length of a text or of an array is an integer"});
}

}  // namespace

void check_arguments(DefinitionCheck& check, const target::CatalogEntry* attached) {
  std::uint32_t total = 0;
  for (std::size_t i = 0; i < check.definition.args.size(); ++i) {
    model::FetchArg& arg = check.definition.args[i];
    if (arg.text.empty()) continue;  // the parser reported it
    imply_float(arg);
    imply_hex(arg);
    total += model::field_bytes(arg.type);
    if (total > kMaxArgumentBytes) {
      check.report(too_big(check, i));
      return;
    }
    check_expression(check, i, attached);
    refuse_incomplete(check, i);
    if (arg.length) check_length(check, i, attached);
  }
}

}  // namespace kevt::sema

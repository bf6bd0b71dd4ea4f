// Expressions of fetch-args: what may be read at this place.
//
//   p vfs_read+4 $arg1  →  BadVar: arguments are known at a function's entry only
//   p vfs_read $retval  →  RetvalOnProbe        p vfs_read %rdi  →  BadRegName
//
// Problem: availability depends on kind, point and place, and a return probe given by address is, for the
// kernel, no return probe where variables are concerned. Idea: one visitor over the base.
// Columns behind `+u( )` are one too small, as the kernel's are.
// Mirrors parse_probe_vars() and parse_probe_arg() of kernel/trace/trace_probe.c (6.1).
#include <algorithm>

#include "compiler/sema/definition_check.h"

namespace kevt::sema {
namespace {

std::uint32_t leaf_column(const model::FetchExpr& expr) {
  const auto uncounted = std::ranges::count(expr.dereferences, model::AddressSpace::User, &model::Dereference::space);
  return expr.base_span.begin - static_cast<std::uint32_t>(uncounted);
}

// Visits one base and reports what is wrong with it.
class BaseCheck {
 public:
  BaseCheck(DefinitionCheck& check, std::size_t argument, const target::CatalogEntry* attached)
      : check_(check), argument_(argument), attached_(attached) {}

  void operator()(const model::RegisterBase& base) const {
    if (!target::register_offset(base.name)) report(diag::Kind::BadRegName);
  }
  void operator()(const model::StackPointerBase&) const {}
  void operator()(const model::StackSlotBase& base) const {
    const bool limited = check_.definition.kind == model::EventKind::Kprobe;
    if (limited && base.index > check_.env.max_stack_slots()) report(diag::Kind::BadStackNum);
  }
  void operator()(const model::ReturnValueBase&) const {
    const bool by_address = std::holds_alternative<model::AddressPlace>(check_.definition.place);
    const bool returns = check_.definition.point == model::ProbePoint::Return && !by_address;
    if (!returns) report(diag::Kind::RetvalOnProbe);
  }
  void operator()(const model::ArgumentBase& base) const {
    const bool entry = check_.definition.point == model::ProbePoint::Entry && check_.entry == FunctionEntry::Yes;
    if (!entry) return report(diag::Kind::BadVar);
    if (base.number == 0 || base.number > check_.env.max_stack_slots()) report(diag::Kind::BadArgNum);
  }
  void operator()(const model::CommBase&) const {}
  void operator()(const model::EventFieldBase& base) const {
    const auto& fields = attached_->layout.fields;
    if (std::ranges::find(fields, base.name, &model::RecordField::name) != fields.end()) return;
    if (base.name == "comm" || base.name == "COMM") return;
    const auto& arg = check_.definition.args[argument_];
    check_.report({.kind = diag::Kind::BadAttachArg,
                   .column = arg.span.begin,
                   .order = diag::argument_order(argument_, diag::kArgAttach),
                   .errno_value = ENOENT});
  }
  void operator()(const model::MemoryBase&) const {}
  void operator()(const model::SymbolBase& base) const {
    // Other probes look when they are armed (check_register.cpp).
    if (check_.definition.kind != model::EventKind::Eprobe) return;
    const auto found = check_.env.find_data(base.symbol);
    if (found || found.error().failure == target::LookupFailure::NotChecked) return;
    check_.report({.kind = diag::Kind::SymbolMissing,
                   .column = check_.definition.args[argument_].expr.base_span.begin,
                   .order = diag::argument_order(argument_, diag::kArgAttach),
                   .errno_value = ENOENT,
                   .logged = false});
  }
  void operator()(const model::FileOffsetBase&) const {}
  void operator()(const model::ImmediateBase&) const {}
  void operator()(const model::ImmediateStringBase&) const {}
  void operator()(const model::VariableBase&) const { report(diag::Kind::BadFetchArg); }

 private:
  void report(diag::Kind kind) const {
    check_.report({.kind = kind,
                   .column = leaf_column(check_.definition.args[argument_].expr),
                   .order = diag::argument_order(argument_, diag::kArgBase)});
  }

  DefinitionCheck& check_;
  std::size_t argument_;
  const target::CatalogEntry* attached_;
};

// `$comm` of an eprobe, where the attached event has no such field.
void resolve_comm(model::FetchArg& arg, const target::CatalogEntry& attached) {
  const auto* field = std::get_if<model::EventFieldBase>(&arg.expr.base);
  if (field == nullptr || (field->name != "comm" && field->name != "COMM")) return;
  const auto& fields = attached.layout.fields;
  if (std::ranges::find(fields, field->name, &model::RecordField::name) == fields.end()) {
    arg.expr.base = model::CommBase{};
  }
}

}  // namespace

void check_arguments(DefinitionCheck& check, const target::CatalogEntry* attached) {
  constexpr std::uint32_t kMaxArgumentBytes = 3072;  // MAX_PROBE_EVENT_SIZE
  std::uint32_t total = 0;
  for (std::size_t i = 0; i < check.definition.args.size(); ++i) {
    model::FetchArg& arg = check.definition.args[i];
    if (arg.text.empty()) continue;  // the parser reported it
    total += arg.type.bytes * std::max(arg.type.array_count, 1u);
    if (total > kMaxArgumentBytes) {
      check.report({.kind = diag::Kind::EventTooBig,
                    .column = arg.expr_span.begin,
                    .order = diag::argument_order(i, diag::kArgSize),
                    .errno_value = E2BIG});
      return;
    }
    std::visit(BaseCheck(check, i, attached), arg.expr.base);
    check_argument_type(check, i);
    if (attached != nullptr) resolve_comm(arg, *attached);
  }
}

}  // namespace kevt::sema

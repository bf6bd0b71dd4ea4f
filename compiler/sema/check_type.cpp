// Types against expressions: what can be a string, a symbol's name, an array, and how deep it may nest.
//
//   p vfs_read %si:string    →  BadString: a register is not memory
//   p vfs_read +0(%si):u8[4] →  fine           p vfs_read %si:u8[4]  →  BadString (the kernel's word for it)
//
// Problem: the kernel decides by the operation its little program ends with, and counts 16 operations with the
// closing one. Idea: name that last operation, count as the kernel counts, ask the same questions.
// Mirrors traceprobe_parse_probe_arg_body() of kernel/trace/trace_probe.c (6.1).
#include <algorithm>

#include "compiler/sema/definition_check.h"

namespace kevt::sema {
namespace {

constexpr std::size_t kLastSlot = 15;  // holds the closing operation

// The operation an expression ends with.
enum class LastOp : std::uint8_t {
  Register,
  StackSlot,
  StackPointer,
  ReturnValue,
  Argument,
  SavedArgument,  // of the entry, in a return probe
  Typed,          // known only with the target's types
  Comm,
  Text,
  Immediate,
  EventField,
  Read,
  UserRead
};

struct BaseShape {
  LastOp op;
  std::size_t slot;  // of its last operation
};

struct BaseShapeOf {
  model::ProbeKind probe_kind;

  BaseShape operator()(const model::RegisterBase&) const { return {LastOp::Register, 0}; }
  BaseShape operator()(const model::StackPointerBase&) const { return {LastOp::StackPointer, 0}; }
  BaseShape operator()(const model::StackSlotBase&) const { return {LastOp::StackSlot, 0}; }
  BaseShape operator()(const model::ReturnValueBase&) const { return {LastOp::ReturnValue, 0}; }
  BaseShape operator()(const model::ArgumentBase&) const {
    return {probe_kind == model::ProbeKind::Entry ? LastOp::Argument : LastOp::SavedArgument, 0};
  }
  BaseShape operator()(const model::CommBase&) const { return {LastOp::Comm, 0}; }
  BaseShape operator()(const model::EventFieldBase&) const { return {LastOp::EventField, 0}; }
  BaseShape operator()(const model::MemoryBase&) const { return {LastOp::Read, 1}; }
  BaseShape operator()(const model::SymbolBase&) const { return {LastOp::Read, 2}; }
  BaseShape operator()(const model::SpanIdBase&) const { return {LastOp::Read, 1}; }
  BaseShape operator()(const model::FileOffsetBase&) const { return {LastOp::Read, 1}; }
  BaseShape operator()(const model::ImmediateBase&) const { return {LastOp::Immediate, 0}; }
  BaseShape operator()(const model::ImmediateStringBase&) const { return {LastOp::Text, 0}; }
  BaseShape operator()(const model::VariableBase& base) const {
    const bool plain = base.kind == model::VariableKind::CurrentTask && base.name == "$current";
    if (base.resolved && base.kind == model::VariableKind::PerCpuValue) return {LastOp::Read, 1};
    return {plain || base.resolved ? LastOp::SavedArgument : LastOp::Typed, 0};
  }
};

LastOp last_op(const model::FetchExpr& expr, LastOp base) {
  if (expr.dereferences.empty()) return base;
  return expr.dereferences.back().space == model::AddressSpace::User ? LastOp::UserRead : LastOp::Read;
}

bool is_any_of(LastOp op, std::initializer_list<LastOp> set) { return std::ranges::find(set, op) != set.end(); }

bool is_string(model::TypeKind kind) {
  return kind == model::TypeKind::String || kind == model::TypeKind::UserString ||
         kind == model::TypeKind::SymbolString;
}

// Column of the operand inside dereference `level`, as the kernel counts it.
std::uint32_t inner_column(const model::FetchExpr& expr, std::size_t level) {
  const bool written = level != 0 && expr.dereferences[level - 1].span.end != 0;
  const std::uint32_t begin = written ? expr.dereferences[level - 1].span.begin : expr.base_span.begin;
  const auto outer = expr.dereferences.begin() + static_cast<std::ptrdiff_t>(level);
  const auto uncounted = std::count_if(outer, expr.dereferences.end(), [](const model::Dereference& d) {
    return d.space == model::AddressSpace::User && d.span.end != 0;
  });
  return begin - static_cast<std::uint32_t>(uncounted);
}

class TypeCheck {
 public:
  TypeCheck(DefinitionCheck& check, std::size_t argument)
      : check_(check), argument_(argument), arg_(check.definition.args[argument]) {}

  void run() {
    const BaseShape base = std::visit(BaseShapeOf{check_.definition.probe_kind}, arg_.expr.base);
    op_ = last_op(arg_.expr, base.op);
    if (op_ == LastOp::Typed) return;
    slot_ = base.slot + arg_.expr.dereferences.size();
    if (slot_ >= kLastSlot) {
      return report(diag::Kind::TooManyOps, inner_column(arg_.expr, kLastSlot - 1 - base.slot), diag::kArgOps);
    }
    if (is_string(arg_.type.kind) ? !store_string() : !store_number()) return;
    if (arg_.type.kind == model::TypeKind::Bitfield && ++slot_ >= kLastSlot) {
      return report(diag::Kind::BadBitfield, type_column(), diag::kArgBitfield);
    }
    if (arg_.type.array_count != 0) loop();
  }

 private:
  void report(diag::Kind kind, std::uint32_t column, diag::ArgumentStep step, int errno_value = EINVAL) const {
    check_.report(
        {.kind = kind, .column = column, .order = diag::argument_order(argument_, step), .errno_value = errno_value});
  }
  // From 6.5 on the kernel counts the caret's column from where the reading of the expression ended.
  std::uint32_t type_column() const {
    const std::uint32_t shift = body_column(check_, arg_) - arg_.expr_span.begin;
    return shift + (arg_.type.written ? arg_.type.span.begin : arg_.expr_span.begin);
  }
  void too_many(diag::ArgumentStep step, int newer_errno) const {
    const int errno_value = check_.has(dialect::Feature::TooBigIsE2big) ? newer_errno : EINVAL;
    report(diag::Kind::TooManyOps, body_column(check_, arg_), step, errno_value);
  }

  // False: reported.
  bool take_slot(int newer_errno) {
    if (++slot_ < kLastSlot) return true;
    too_many(diag::kArgStore, newer_errno);
    return false;
  }

  bool store_string() {
    const bool symstr = arg_.type.kind == model::TypeKind::SymbolString;
    const bool good = symstr ? is_any_of(op_, {LastOp::Register, LastOp::StackSlot, LastOp::ReturnValue,
                                               LastOp::Argument, LastOp::Read, LastOp::EventField})
                             : is_any_of(op_, {LastOp::Read, LastOp::UserRead, LastOp::Immediate, LastOp::Comm,
                                               LastOp::Text, LastOp::EventField});
    if (!good) {
      report(symstr ? diag::Kind::BadSymstring : diag::Kind::BadString, type_column(), diag::kArgStore);
      return false;
    }
    const bool kept = is_any_of(op_, {LastOp::Immediate, LastOp::Comm, LastOp::Text, LastOp::EventField});
    return symstr || kept || arg_.type.array_count != 0 ? take_slot(EINVAL) : true;
  }

  bool store_number() { return is_any_of(op_, {LastOp::Read, LastOp::UserRead}) || take_slot(E2BIG); }

  void loop() {
    const bool pointers = arg_.type.kind == model::TypeKind::String || arg_.type.kind == model::TypeKind::UserString;
    if (arg_.type.kind == model::TypeKind::SymbolString || (!pointers && op_ != LastOp::Read))
      return report(diag::Kind::BadString, type_column(), diag::kArgLoop);
    if (++slot_ >= kLastSlot) too_many(diag::kArgLoop, E2BIG);
  }

  DefinitionCheck& check_;
  std::size_t argument_;
  const model::FetchArg& arg_;
  LastOp op_ = LastOp::Register;
  std::size_t slot_ = 0;
};

}  // namespace

void check_argument_type(DefinitionCheck& check, std::size_t argument) { TypeCheck(check, argument).run(); }

}  // namespace kevt::sema

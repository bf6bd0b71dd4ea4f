// Which rows of the table of features a definition needs: the answer to "since when does this exist?".
//
//   f vfs_read $arg*  ->  Fprobes, AllArguments        p:uprobes/x /bin/sh:0x10 %di:symbol  ->  SymbolOnUprobe
//
// Problem: a kernel that does not know a form refuses it with whatever its parser stumbles over. Idea: read the text
// with the superset and look at the definition that was read: each form leaves its mark in it. Not here: features that
// only change how a kernel answers; no text needs them.
#include <algorithm>

#include "compiler/sema/sema.h"

namespace kevt::sema {
namespace {

using dialect::Feature;
using model::EventKind;
using model::VariableKind;

constexpr std::size_t kShortExpression = 63;
constexpr std::size_t kShallow = 8;

class Collector {
 public:
  explicit Collector(const model::Definition& definition) : definition_(definition) {}

  std::vector<FeatureUse> collect() {
    const model::Span head{0, definition_.place_span.begin == 0 ? 0 : definition_.place_span.begin - 1};
    if (definition_.kind == EventKind::Fprobe) add(Feature::Fprobes, head);
    if (definition_.kind == EventKind::Tprobe) add(Feature::Tprobes, head);
    if (definition_.kind == EventKind::Fprobe && definition_.maxactive) add(Feature::FprobeMaxactive, head);
    for (const model::FetchArg& arg : definition_.args) collect(arg);
    return std::move(uses_);
  }

 private:
  void add(Feature feature, model::Span span) { uses_.push_back({feature, span}); }

  bool is_return() const { return definition_.probe_kind == model::ProbeKind::Return; }

  void collect(const model::FetchArg& arg) {
    if (arg.text.size() > kShortExpression) add(Feature::LongExpressions, arg.span);
    if (arg.type.kind == model::TypeKind::Char) add(Feature::CharType, arg.span);
    const bool symbol = arg.type.kind == model::TypeKind::Symbol || arg.type.kind == model::TypeKind::SymbolString;
    if (symbol && definition_.kind == EventKind::Uprobe) add(Feature::SymbolOnUprobe, arg.span);
    if (arg.text.ends_with(":%pd") || arg.text.ends_with(":%pD")) add(Feature::FileNameTypes, arg.span);
    collect(arg.expr, arg.span);
    if (arg.length) collect(arg.length->expr, arg.span);
  }

  void collect(const model::FetchExpr& expr, model::Span span) {
    if (expr.dereferences.size() > kShallow) add(Feature::DeepNesting, span);
    if (std::holds_alternative<model::ArgumentBase>(expr.base) && is_return()) add(Feature::ArgumentsAtReturn, span);
    if (std::holds_alternative<model::ReturnValueBase>(expr.base) && definition_.kind == EventKind::Fprobe &&
        !definition_.command.contains("%return")) {
      add(Feature::ExitByRetval, span);
    }
    if (const auto* field = std::get_if<model::EventFieldBase>(&expr.base); field != nullptr && field->bare) {
      add(Feature::BareEventField, span);
    }
    if (const auto* variable = std::get_if<model::VariableBase>(&expr.base)) collect(*variable, span);
  }

  void collect(const model::VariableBase& variable, model::Span span) {
    switch (variable.kind) {
      case VariableKind::WatchedAddress:
        return;  // watchpoints are in no kernel
      case VariableKind::Name:
        add(variable.name.contains('-') ? Feature::FieldAccess : Feature::ArgumentNames, span);
        if (is_return()) add(Feature::ArgumentsAtReturn, span);
        return;
      case VariableKind::AllArguments:
        add(is_return() ? Feature::ArgumentsAtReturn : Feature::AllArguments, span);
        return;
      case VariableKind::ReturnValue:
        return add(Feature::FieldAccess, span);
      case VariableKind::CurrentTask:
        return add(Feature::CurrentTask, span);
      case VariableKind::PerCpuAddress:
      case VariableKind::PerCpuValue:
        return add(Feature::PerCpu, span);
      case VariableKind::Typecast:
        return add(is_field_typecast(variable.name) ? Feature::TypecastOfField : Feature::Typecast, span);
    }
  }

  // `(STRUCT)FIELD->MEMBER` of an event: 7.2 has it.
  bool is_field_typecast(const std::string& text) const {
    const std::size_t close = text.find(')');
    const bool plain = close + 1 < text.size() &&
                       (text[close + 1] == '_' || std::isalpha(static_cast<unsigned char>(text[close + 1])));
    return definition_.kind == EventKind::Eprobe && plain && !text.substr(0, close).contains(',') &&
           !text.substr(close).contains('(');
  }

  const model::Definition& definition_;
  std::vector<FeatureUse> uses_;
};

}  // namespace

std::vector<FeatureUse> features_used(const model::Definition& definition) { return Collector(definition).collect(); }

}  // namespace kevt::sema

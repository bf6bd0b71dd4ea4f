// What a check could not decide, because the environment did not know enough. It is always reported, never ignored.
//
//   p vfs_read file->f_path   without a kernel's symbols and types  ->  Function `vfs_read`, Types `file->f_path`
//
// Problem: an answer without a kernel at hand is right only as far as the text goes. Idea: the environment answers
// NotChecked to what it does not know. After all rules, ask it everything once more, and list those questions.
// Not here: the text of the note (the command line's).
#include "compiler/sema/definition_check.h"
#include "compiler/sema/filter.h"

namespace kevt::sema {
namespace {

template <class Found>
bool is_not_checked(const Found& found) {
  return !found && found.error().failure == target::LookupFailure::NotChecked;
}

struct PlaceLookup {
  const target::TargetEnv& env;
  std::vector<Unchecked>& out;

  void operator()(const model::SymbolPlace& place) const {
    std::optional<std::string_view> module;
    if (place.module) module = *place.module;
    if (!is_not_checked(env.find_function(module, place.symbol))) return;
    out.push_back({UncheckedRule::Function, place.module ? *place.module + ":" + place.symbol : place.symbol});
  }
  void operator()(const model::AddressPlace& place) const {
    if (env.probeability(place.address) != target::Probeability::NotChecked) return;
    out.push_back({UncheckedRule::Address, ""});
  }
  void operator()(const model::FilePlace& place) const {
    if (env.file_status(place.path) == target::FileStatus::NotChecked) out.push_back({UncheckedRule::File, place.path});
  }
  void operator()(const model::EventPlace&) const {}
  void operator()(const model::TracepointPlace& place) const {
    const auto found = env.find_tracepoint(place.tracepoint);
    if (is_not_checked(found)) out.push_back({UncheckedRule::Tracepoint, place.tracepoint});
  }
  void operator()(const model::WatchPlace& place) const {
    if (place.symbol && is_not_checked(env.find_data(*place.symbol)))
      out.push_back({UncheckedRule::Data, *place.symbol});
  }
};

}  // namespace

std::vector<Unchecked> find_unchecked(const DefinitionCheck& check) {
  std::vector<Unchecked> out;
  if (check.definition.kind == model::EventKind::Synthetic) return out;
  std::visit(PlaceLookup{check.env, out}, check.definition.place);
  const auto* attached = std::get_if<model::EventPlace>(&check.definition.place);
  if (attached != nullptr && check.attached_unknown) {
    out.push_back({UncheckedRule::Event, attached->system + "." + attached->event});
  }
  for (const model::FetchArg& arg : check.definition.args) {
    const auto note = [&](const model::FetchExpr& expr) {
      const auto* symbol = std::get_if<model::SymbolBase>(&expr.base);
      if (symbol != nullptr && is_not_checked(check.env.find_data(symbol->symbol)))
        out.push_back({UncheckedRule::Data, symbol->symbol});
      return false;
    };
    model::any_expression(arg, note);
    if (arg.needs_types) out.push_back({UncheckedRule::Types, arg.text});
  }
  return out;
}

std::vector<Unchecked> unchecked_functions(const model::FilterExpr& filter, const target::TargetEnv& env) {
  std::vector<Unchecked> out;
  for (const model::FilterExpr& child : filter.children) {
    std::vector<Unchecked> below = unchecked_functions(child, env);
    out.insert(out.end(), below.begin(), below.end());
  }
  const model::FilterPredicate& predicate = filter.predicate;
  const bool names_function =
      filter.node == model::FilterNode::Predicate && predicate.modifier == model::FieldModifier::Function;
  if (names_function && is_not_checked(env.find_function(std::nullopt, predicate.operand)))
    out.push_back({UncheckedRule::Function, predicate.operand});
  return out;
}

}  // namespace kevt::sema

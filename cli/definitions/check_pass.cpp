// One pass over the texts: parse, check, lay out, list; nothing is compiled, and no target is looked at.
//
// p:a f %di correct, and the catalog has `a` now
//   p:a g %si:u8   against it: DiffArgType
//   f:b f $arg*    for --kernel 6.1 refused as 6.1 refuses it, and the note "`$arg*` exists since Linux 6.5"
//
// Problem: a kernel that lacks a form says whatever its parser stumbles over. Idea: a text that one kernel refuses is
// read once more with the superset; the forms found there that this kernel has not are named at its mistakes. Not here:
// output, and what a runtime makes of a definition (cmd_check.cpp).
#include "cli/definitions/check_pass.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/layout/layout.h"
#include "compiler/pipeline/all_members.h"
#include "compiler/pipeline/front.h"
#include "compiler/pipeline/place_glob.h"
#include "compiler/pipeline/shorthand.h"
#include "compiler/sema/filter.h"
#include "compiler/target/fixed_target.h"
#include "grammar/parse.h"

namespace kevt::cli {
namespace {

using dialect::Dialect;

// The listing. What only types could complete stays as it was written. A probe that waits for its module has no
// instances yet, as in the kernel's own listing.
std::string listing_of(const model::Definition& definition, bool needs_types, bool waits) {
  const unsigned cpus = waits ? 0 : 1;
  const bool function = definition.kind == model::EventKind::Fprobe;
  if (!needs_types && !function) return layout::listing(definition, cpus);
  model::Definition head = definition;
  head.args.clear();
  std::string text = layout::listing(head, cpus);
  if (function && definition.maxactive) text.insert(1, std::to_string(*definition.maxactive));
  if (function && definition.probe_kind == model::ProbeKind::Return) text += "%return";
  for (const model::FetchArg& arg : definition.args) {
    const auto* variable = std::get_if<model::VariableBase>(&arg.expr.base);
    const bool all = variable != nullptr && variable->kind == model::VariableKind::AllArguments;
    text += all ? " " + arg.text : fmt::format(" {}={}", arg.name, arg.text);
  }
  return text;
}

class Pass {
 public:
  Pass(std::span<const Source> definitions, const Filters& filters, std::optional<dialect::Kernel> kernel,
       const target::TargetEnv& env)
      : env_(env),
        definitions_(definitions),
        filters_(filters),
        dialect_(kernel ? Dialect::of(*kernel) : Dialect::superset()),
        one_kernel_(kernel.has_value()) {}

  CheckResult run() {
    for (std::size_t i = 0; i < definitions_.size(); ++i) check_definition(i);
    for (std::size_t i = 0; i < filters_.filters.size(); ++i) check_filter(i);
    result_.catalog = std::move(catalog_);
    return std::move(result_);
  }

 private:
  void check_definition(std::size_t index);
  void check_line(std::size_t index, std::string_view line);
  void take(std::size_t index, pipeline::LaidOut laid_out);
  void report(std::size_t index, std::vector<diag::Diagnostic> mistakes);
  void say_since_when(const Source& source, std::vector<diag::Diagnostic>& mistakes) const;
  void check_filter(std::size_t index);
  void remember(const std::vector<sema::Unchecked>& unchecked);
  void remark(const Source& source, std::string text) {
    result_.remarks.push_back({.origin = source.origin, .line = source.line, .text = std::move(text)});
  }
  sema::CheckRequest request(Dialect dialect) const {
    return {.dialect = dialect, .newer_forms = sema::NewerForms::Judged, .catalog = sema::CatalogScope::Partial};
  }

  const target::TargetEnv& env_;
  std::span<const Source> definitions_;
  const Filters& filters_;
  Dialect dialect_;
  bool one_kernel_;
  target::FixedCatalog catalog_;
  CheckResult result_;
};

// A kernel has no shorthands, so with --kernel one is checked as it is written.
void Pass::check_definition(std::size_t index) {
  const Source& source = definitions_[index];
  if (one_kernel_) {
    if (auto glob = pipeline::place_glob_mistake(source.text)) return report(index, {*std::move(glob)});
    if (auto members = pipeline::all_members_mistake(source.text)) return report(index, {*std::move(members)});
    return check_line(index, source.text);
  }
  auto lines = pipeline::expand_shorthand(source.text, env_);
  if (!lines) return report(index, {std::move(lines.error())});
  if (!*lines) return check_line(index, source.text);
  for (const std::string& line : **lines) check_line(index, line);
}

void Pass::check_line(std::size_t index, std::string_view line) {
  const Source& source = definitions_[index];
  diag::Sink sink;
  auto statement = grammar::parse_line_leniently(line, grammar::EventsFile::Dynamic, sink, dialect_);
  if (statement && std::holds_alternative<model::Deletion>(*statement)) {
    return remark(source, "a deletion: it is read, and defines nothing");
  }
  if (statement) {
    auto laid_out = pipeline::check_and_lay_out(std::move(std::get<model::Definition>(*statement)), env_, catalog_,
                                                request(dialect_), sink);
    if (laid_out) take(index, *std::move(laid_out));
  }
  if (!sink.empty()) report(index, sink.take());
}

void Pass::take(std::size_t index, pipeline::LaidOut laid_out) {
  RightDefinition right{
      .source = index, .definition = std::move(laid_out.checked.definition), .layout = std::move(laid_out.layout)};
  right.needs_types = pipeline::needs_types(right.definition);
  right.listing = listing_of(right.definition, right.needs_types, laid_out.checked.is_deferred);
  remember(laid_out.checked.unchecked);
  catalog_.add_probe(right.definition, right.layout);
  result_.right.push_back(std::move(right));
}

void Pass::remember(const std::vector<sema::Unchecked>& unchecked) {
  for (const sema::Unchecked& one : unchecked) {
    const auto same = [&](const sema::Unchecked& other) { return other.rule == one.rule && other.what == one.what; };
    if (std::ranges::none_of(result_.unchecked, same)) result_.unchecked.push_back(one);
  }
}

void Pass::report(std::size_t index, std::vector<diag::Diagnostic> mistakes) {
  const Source& source = definitions_[index];
  if (mistakes.front().kind == diag::Kind::UnsupportedForm) {
    result_.not_judged = true;
    return remark(source, fmt::format("`{}` is not supported by a runtime yet; the text was not judged",
                                      source.text.substr(0, 1)));
  }
  if (one_kernel_) say_since_when(source, mistakes);
  if (const auto meaning = pipeline::what_shorthand_means(source.text); !meaning.empty())
    mistakes.front().notes.push_back({std::string(meaning)});
  ++result_.wrong_definitions;
  for (diag::Diagnostic& mistake : mistakes) result_.mistakes.push_back(locate(std::move(mistake), source));
}

// Adds to mistakes the names of the forms that cause them and that this kernel does not have.
void Pass::say_since_when(const Source& source, std::vector<diag::Diagnostic>& mistakes) const {
  diag::Sink sink;
  const auto statement = grammar::parse_line_leniently(source.text, grammar::EventsFile::Dynamic, sink);
  if (!statement || !std::holds_alternative<model::Definition>(*statement)) return;
  const auto& definition = std::get<model::Definition>(*statement);
  sema::check_definition(definition, env_, catalog_, sink, request(Dialect::superset()));
  for (const sema::FeatureUse& use : sema::features_used(definition)) {
    if (dialect_.has(use.feature)) continue;
    const auto inside = [&](const diag::Diagnostic& mistake) {
      return !mistake.column || (use.span.begin <= *mistake.column && *mistake.column <= use.span.end);
    };
    if (std::ranges::any_of(sink.diagnostics(), inside)) continue;  // wrong everywhere
    const auto found = std::ranges::find_if(mistakes, inside);
    if (found == mistakes.end()) continue;
    const std::string text = fmt::format("{} {}", dialect::feature_row(use.feature).text, when_text(use.feature));
    const auto same = [&](const diag::Note& note) { return note.text == text; };
    if (std::ranges::none_of(found->notes, same)) found->notes.push_back({text});
  }
}

void Pass::check_filter(std::size_t index) {
  const engine::EventFilter& filter = filters_.filters[index];
  diag::Sink sink;
  bool used = false;
  for (RightDefinition& right : result_.right) {
    if (!engine::names_event(filter.event, right.definition)) continue;
    used = true;
    if (right.needs_types) {
      remember({{sema::UncheckedRule::Types, "filter of " + right.definition.event}});
    } else if (sink.empty()) {
      right.filter = sema::compile_filter(filter.text, right.layout, sink, request(dialect_), &env_);
      if (right.filter) remember(sema::unchecked_functions(*right.filter, env_));
      if (right.filter && sema::is_only_judged(*right.filter)) {
        right.filter.reset();
        if (!one_kernel_)
          remark(filters_.sources[index], "functions and lists of CPUs in filters are not supported by a runtime yet");
      }
    }
  }
  if (!used && result_.wrong_definitions == 0) {
    sink.report(engine::missing_event(filter));
  }
  for (diag::Diagnostic& mistake : sink.take()) {
    result_.mistakes.push_back(locate(std::move(mistake), filters_.sources[index]));
  }
}

}  // namespace

CheckResult check_texts(std::span<const Source> definitions, const Filters& filters,
                        std::optional<dialect::Kernel> kernel, const target::TargetEnv& env) {
  return Pass(definitions, filters, kernel, env).run();
}

}  // namespace kevt::cli

// Names of events, from the text of their definitions.
//
//   p libc:malloc   →   kprobes/p_libc_malloc_0
//
// Problem: a filter belongs to a definition whose name may be generated, before any target is known. Idea: the
// definition goes through sema with an environment that knows nothing.
#include "compiler/script/event_name.h"

#include "compiler/sema/sema.h"
#include "compiler/target/fixed_target.h"
#include "grammar/parse.h"

namespace kevt::script {

std::optional<NamedDefinition> name_definition(std::string_view text, dialect::Dialect dialect) {
  diag::Sink unused;
  return name_definition(text, unused, dialect);
}

std::optional<NamedDefinition> name_definition(std::string_view text, diag::Sink& sink, dialect::Dialect dialect) {
  auto statement = grammar::parse_line_leniently(text, grammar::EventsFile::Dynamic, sink, dialect);
  if (!statement || !std::holds_alternative<model::Definition>(*statement)) return std::nullopt;
  const target::UncheckedTargetEnv env;
  const target::FixedCatalog nothing;
  auto checked = sema::check_definition(
      std::get<model::Definition>(*std::move(statement)), env, nothing, sink,
      {.dialect = dialect, .newer_forms = sema::NewerForms::Judged, .catalog = sema::CatalogScope::Partial});
  if (!checked) return std::nullopt;
  model::EventName name{checked->definition.group, checked->definition.event};
  return NamedDefinition{std::move(checked->definition), std::move(name)};
}

model::EventName split_event_name(std::string_view text) {
  const std::size_t at = text.find_first_of("/:.");
  if (at == std::string_view::npos) return {"", std::string(text)};
  return {std::string(text.substr(0, at)), std::string(text.substr(at + 1))};
}

}  // namespace kevt::script

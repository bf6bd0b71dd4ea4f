// The name of the event that a definition makes, written or generated.
#pragma once

#include <optional>
#include <string_view>

#include "compiler/diag/diagnostic.h"
#include "compiler/dialect/dialect.h"
#include "compiler/model/definition.h"
#include "compiler/model/histogram.h"

namespace kevt::script {

struct NamedDefinition {
  model::Definition definition;
  model::EventName name;
};
// nullopt: the text is no definition, or has mistakes, which are reported. Functions and types are not looked up.
std::optional<NamedDefinition> name_definition(std::string_view text, diag::Sink& sink,
                                               dialect::Dialect dialect = dialect::Dialect::superset());
std::optional<NamedDefinition> name_definition(std::string_view text,
                                               dialect::Dialect dialect = dialect::Dialect::superset());

// Cuts "GROUP/EVENT", "GROUP:EVENT" or "GROUP.EVENT" in two; `system` is empty if only the event is named.
model::EventName split_event_name(std::string_view text);

}  // namespace kevt::script

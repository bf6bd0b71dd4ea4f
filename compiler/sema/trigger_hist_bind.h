// Variables that a histogram gets for the fields its actions name.
#pragma once

#include <optional>
#include <string_view>

#include "compiler/sema/trigger_hist.h"

namespace kevt::sema {

// Makes a variable of the field's name on the event itself. nullopt: there is no such field, or no room; it is logged.
// `field` is cut to what 6.1 leaves of it: a.b.c becomes `a`.
std::optional<model::HistVariable> make_field_variable(HistCheck& check, std::string_view& field);
// Finds or makes the variable `synthetic_FIELD` on another event. To make the variable, a helper histogram is added to
// the table; it has the keys of a histogram that is set on that event.
std::optional<FoundVariable> make_remote_variable(HistCheck& check, const model::EventName& event,
                                                  std::string_view field);

}  // namespace kevt::sema

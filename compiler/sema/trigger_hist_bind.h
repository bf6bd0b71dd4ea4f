// Variables that a histogram gets for the fields its actions name.
#pragma once

#include <optional>
#include <string_view>

#include "compiler/sema/trigger_hist.h"

namespace kevt::sema {

// A variable of the field's name on the event itself; nullopt, logged: there is no such field, or no room.
// `field` is cut to what 6.1 leaves of it: a.b.c becomes `a`.
std::optional<model::HistVariable> make_field_variable(HistCheck& check, std::string_view& field);
// The variable `synthetic_FIELD` on another event. Where there is none, a helper histogram with the keys of one
// that is set there is added to the table.
std::optional<FoundVariable> make_remote_variable(HistCheck& check, const model::EventName& event,
                                                  std::string_view field);

}  // namespace kevt::sema

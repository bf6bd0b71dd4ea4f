// The parts of a histogram trigger: `keys=pid.hex:vals=n:sort=n:onmax($x).save(y)`. Their texts are not interpreted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/dialect/dialect.h"
#include "compiler/model/trigger.h"

namespace kevt::grammar {

// The kind of the part becomes HistPart::name, one of
//   keys vals sort size name clock      text: the text right of '='
//   pause cont clear nohitcount         text: empty
//   onmatch onmax onchange              text: the whole part
//   var                                 text: the whole part, `a=x,b=y`
// nullopt and a diagnostic: the part is none of these. `command` is the whole trigger, `span` the part in it.
std::optional<model::HistPart> read_hist_part(std::string_view command, model::Span span, dialect::Dialect dialect,
                                              diag::Sink& sink);

// Whether there is room for one more part of this kind (16 parts with variables, 8 handlers); if not, it is reported.
bool has_room(std::string_view command, const std::vector<model::HistPart>& before, const model::HistPart& part,
              diag::Sink& sink);

// The command that error_log shows for the trigger: "hist:" and the text behind it, without blanks between them.
std::string hist_command(std::string_view command);

}  // namespace kevt::grammar

// The parts of a histogram trigger, cut but not understood: `keys=pid.hex:vals=n:sort=n:onmax($x).save(y)`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/dialect/dialect.h"
#include "compiler/model/trigger.h"

namespace kevt::grammar {

// Which part it is becomes HistPart::name, one of
//   keys vals sort size name clock      text: what stands right of '='
//   pause cont clear nohitcount         text: empty
//   onmatch onmax onchange              text: the whole part
//   var                                 text: the whole part, `a=x,b=y`
// nullopt and a diagnostic when it is none. `command` and `span`: the whole trigger and the part in it.
std::optional<model::HistPart> read_hist_part(std::string_view command, model::Span span, dialect::Dialect dialect,
                                              diag::Sink& sink);

// Is there room for one more part like this? 16 of variables, 8 handlers; a mistake is reported.
bool has_room(std::string_view command, const std::vector<model::HistPart>& before, const model::HistPart& part,
              diag::Sink& sink);

// What error_log shows for the trigger: "hist:" and what follows, without blanks between.
std::string hist_command(std::string_view command);

}  // namespace kevt::grammar

// The canonical layout of event scripts.
#pragma once

#include <string>

#include "compiler/model/script.h"

namespace kevt::script {

// The same lines in the same order. Outside quotes blanks become single, lines that belong to an event are indented by
// two, no two blank lines follow each other, and none stands at the beginning or end. A script without mistakes keeps
// its meaning; formatting again changes nothing.
std::string format_script(const model::Script& script);

}  // namespace kevt::script

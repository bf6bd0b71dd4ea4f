// The canonical layout of event scripts.
#pragma once

#include <string>

#include "compiler/model/script.h"

namespace kevt::script {

// The same lines in the same order: blanks made single outside quotes, what belongs to an event indented by two, no two
// blank lines in a row and none at both ends. A script without mistakes stays one that says the same; formatting again
// changes nothing.
std::string format_script(const model::Script& script);

}  // namespace kevt::script

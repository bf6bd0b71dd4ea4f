// Near names and fix-its for mistakes.
#pragma once

#include <span>

#include "compiler/diag/diagnostic.h"

namespace kevt::sema {

// Adds notes and fix-its to a diagnostic, from its command's text alone. Call it once for each diagnostic.
void advise(diag::Diagnostic& diagnostic);

}  // namespace kevt::sema

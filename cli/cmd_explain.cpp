#include "cli/commands.h"
namespace kevt::cli {
int explain(const ExplainOptions&, const GlobalOptions&) { return 1; }
}

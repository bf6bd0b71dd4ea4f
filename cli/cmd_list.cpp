#include "cli/commands.h"
namespace kevt::cli {
int list(const ListOptions&, const GlobalOptions&) { return 1; }
}

#include "cli/commands.h"
namespace kevt::cli {
int check(const CheckOptions&, const GlobalOptions&) { return 1; }
}

#include "cli/commands.h"
namespace kevt::cli {
int doctor(const DoctorOptions&, const GlobalOptions&) { return 1; }
}

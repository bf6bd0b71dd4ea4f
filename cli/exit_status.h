// The exit statuses of session::ExitStatus, by their short names.
#pragma once

#include "runtime-user/session/exit_status.h"

namespace kevt::cli {

using enum session::ExitStatus;

}  // namespace kevt::cli

// Exit statuses by their short names: those of a session are the verbs' own.
#pragma once

#include "runtime-user/session/exit_status.h"

namespace kevt::cli {

using enum session::ExitStatus;

}  // namespace kevt::cli

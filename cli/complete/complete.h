// What could stand at the cursor of a shell: `kevtrace completion --before LINE`.
#pragma once

#include "cli/options/asked_word.h"

namespace kevt::cli {

// Prints the part of each candidate that the shell puts in, a line each, behind a tab what it is. Returns 0; 1: names
// of files could stand there, too.
int print_candidates(const AskedWord& asked);

}  // namespace kevt::cli

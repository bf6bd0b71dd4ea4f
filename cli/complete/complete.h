// What could stand at the cursor of a shell: `kevtrace completion --before LINE`.
#pragma once

#include <vector>

#include "cli/options/asked_word.h"

namespace kevt::cli {

struct Candidates {
  std::vector<Candidate> all;  // whole words, each begins with what is typed
  bool also_files = false;     // so could names of files; the shell knows these
};
Candidates candidates(const AskedWord& asked);

// Prints the part of each that the shell puts in, a line each, behind a tab what it is. Returns 0; 1: names of files
// could stand there, too.
int print_candidates(const AskedWord& asked);

}  // namespace kevt::cli

// Runs the built kevtrace as a shell would.
#pragma once

#include <string>

namespace kevt::tests {

struct Ran {
  int status = -1;  // as $?: 128+N for a signal
  std::string out;
  std::string err;
};

// `command` is for /bin/sh; the word `kevtrace` in it is the built one. Standard input is empty and the
// locale is C; TMPDIR is a folder of its own, to be left empty. It is killed after a minute.
Ran shell(const std::string& command);

}  // namespace kevt::tests

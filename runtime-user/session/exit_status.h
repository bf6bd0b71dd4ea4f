// Exit statuses of kevtrace, the same for every verb (docs/cli.md).
#pragma once

namespace kevt::session {

enum ExitStatus : int {
  kOk = 0,
  kFailed = 1,        // the run failed
  kUsage = 2,         // the command line is wrong
  kNotCompiled = 3,   // a definition, filter or trigger is wrong
  kMissing = 4,       // a privilege or feature is missing
  kDataLost = 5,      // records were lost or hits missed, with --fail-on
  kOurFailure = 125,  // kevtrace itself failed
  kNotExecutable = 126,
  kNotFound = 127,
  kSignalBase = 128,
};

}  // namespace kevt::session

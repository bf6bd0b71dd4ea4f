// A fleet's records, read as a recording is: in the order of time, from all hosts and recordings that an address means.
//
// Of one recording the times are its own, as `kevtrace report` of the file shows them. Of several they are
// nanoseconds since 1970 by the best that is known of each machine's clock (clocks.h), and each recording is an
// instance that is called as its host (`web1`; `web1/3f2a5b6c` where the host has several).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/error.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::fleet {

// A file (record::open_recording), or the address of a fleet. `note`: what its reader should know of the times, which
// may be nothing. `is_stopped` ends questions to servers, also later: error ECANCELED, or a problem of the reader.
Result<std::unique_ptr<record::RecordReader>> open_recording(const std::string& path_or_address,
                                                             std::string* note = nullptr,
                                                             const std::function<bool()>& is_stopped = {});

}  // namespace kevt::fleet

// A flight recorder: of each CPU the newest records are kept, in any format; older ones go and are counted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tracefs-compat/record/recording.h"

namespace kevt::record {

// Keeps `window` bytes of each CPU, 256 KiB at least. A trace.dat is whole at any moment. Other formats are written
// when the recording is finished; until then the records are in PATH.RANDOM.flight (standard output: a file in
// $TMPDIR), a trace.dat, which stays there when the recording is not finished.
Result<std::unique_ptr<RecordWriter>> create_flight_recording(FileFormat format, const std::string& path,
                                                              const Metadata& metadata, std::uint64_t window);

}  // namespace kevt::record

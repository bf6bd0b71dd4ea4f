// JsonReader: the records of NDJSON that kevtrace wrote.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tracefs-compat/record/recording.h"

namespace kevt::record {

bool is_json_recording(std::string_view first_bytes);
// Reads up to the first record.
Result<std::unique_ptr<RecordReader>> open_json_recording(const std::string& path);

}  // namespace kevt::record

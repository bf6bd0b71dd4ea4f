// JsonReader: the records of NDJSON that kevtrace wrote.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tracefs-compat/record/recording.h"

namespace kevt::record {

// Lines one after the other.
class LineSource {
 public:
  virtual ~LineSource() = default;
  // The next line without its end; false: there is none, or none yet.
  virtual bool next(std::string_view& line) = 0;
  // Where the last line began, in bytes.
  virtual std::uint64_t line_at() const = 0;
  virtual void rewind() = 0;
};

bool is_json_recording(std::string_view first_bytes);
// Reads up to the first record.
Result<std::unique_ptr<RecordReader>> open_json_recording(const std::string& path);
// What takes a histogram, as JSON in one line (histogram_object.h).
using TakeHistogram = std::function<void(std::string object)>;
// Reads what comes: next() is false while there is no whole record, and may be asked again. The metadata grows, but for
// histograms, which go to `take_histogram` between the records before and behind them.
std::unique_ptr<RecordReader> follow_json(std::unique_ptr<LineSource> lines, TakeHistogram take_histogram);

}  // namespace kevt::record

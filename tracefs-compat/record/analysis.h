// Analyses: questions to a stream of records, of a file or live. Each takes records as a RecordWriter does and writes
// its answer, a table of text, when it is finished.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tracefs-compat/record/output_file.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::record {

// What is looked at of a record: "FIELD", "EVENT.FIELD", or pid, comm, cpu, event.
struct ValueName {
  std::string event;  // empty: any; globs are allowed
  std::string field;
};
ValueName parse_value_name(std::string_view text);
// Is there an event that has it?
bool is_known(const ValueName& name, const Metadata& metadata);
// Whether the record has it; texts are kept as they are, numbers in decimal.
std::optional<std::string> key_text(const ValueName& name, const TypedRecord& record);
std::optional<Value> number_or_text(const ValueName& name, const TypedRecord& record);

using Analysis = Result<std::unique_ptr<RecordWriter>>;

// Records of each event.
Analysis count_events(OutputFile out, const Metadata& metadata);
// Records, rates, losses, CPUs, tasks, and the most frequent values of fields.
Analysis recording_statistics(OutputFile out, const Metadata& metadata, std::size_t top);

struct HistogramRequest {
  ValueName value;
  std::optional<ValueName> by;
};
// Numbers by powers of two, texts by their frequency. An error when no event has such a field.
Analysis value_histogram(OutputFile out, const Metadata& metadata, const HistogramRequest& request);

struct LatencyRequest {
  std::string start, end;       // events
  std::optional<ValueName> by;  // of the start
};
// From a start to the next end on the same thread, innermost first, in nanoseconds. An error when there is no such
// event.
Analysis latencies(OutputFile out, const Metadata& metadata, const LatencyRequest& request);

// Events and tasks by their rate since the last flush, again and again.
Analysis live_table(OutputFile out, const Metadata& metadata, std::size_t rows);

}  // namespace kevt::record

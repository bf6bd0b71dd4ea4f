// Analyses: questions to a stream of records, of a file or live. Each takes records as a RecordWriter does and writes
// its answer, a table of text or JSON, when it is finished.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tracefs-compat/record/output_file.h"
#include "tracefs-compat/record/print/print_format.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::record {

// What is looked at of a record: "FIELD", "EVENT.FIELD", or pid, comm, cpu, event.
struct ValueName {
  std::string event;  // empty: any; globs are allowed
  std::string field;
};
ValueName parse_value_name(std::string_view text);
// pid, comm, cpu, event.
bool is_of_all_records(const std::string& field);
// Is there an event that has it?
bool is_known(const ValueName& name, const Metadata& metadata);
// How events print a value, found out once an event.
using ValueStyles = std::unordered_map<const EventFormat*, NumberStyle>;
// Whether the record has it; texts are kept as they are, numbers in decimal, or hexadecimal where the event prints them
// so. `styles` are of that name alone.
std::optional<std::string> key_text(const ValueName& name, const TypedRecord& record, ValueStyles& styles);
// The same for a number of an event's field that has no sign.
std::string number_key(const ValueName& name, const EventFormat& event, std::uint64_t number, ValueStyles& styles);
std::optional<Value> number_or_text(const ValueName& name, const TypedRecord& record);

// How an answer is written: a table, or one JSON object with "v":1 and a "type" (docs/recordings.md).
enum class AnswerForm : std::uint8_t { Text, Json };

using Analysis = Result<std::unique_ptr<RecordWriter>>;

enum class Counted : std::uint8_t {
  Hits,     // by the counters in the totals, where they are known when it is finished; else records
  Records,  // those that are given
};
struct CountRequest {
  Counted counts = Counted::Hits;
  std::vector<std::string> events;  // globs; empty: all
};
// How often each event happened.
Analysis count_events(OutputFile out, const Metadata& metadata, const CountRequest& request = {},
                      AnswerForm form = AnswerForm::Text);
// Records, rates, losses, CPUs, tasks, and the most frequent values of fields.
Analysis recording_statistics(OutputFile out, const Metadata& metadata, std::size_t top,
                              AnswerForm form = AnswerForm::Text);

struct HistogramRequest {
  ValueName value;
  std::optional<ValueName> by;
};
// Numbers by powers of two, texts by their frequency. An error when no event has such a field.
Analysis value_histogram(OutputFile out, const Metadata& metadata, const HistogramRequest& request,
                         AnswerForm form = AnswerForm::Text);

// What a start and its end have in common.
struct LatencyKey {
  ValueName start, end;
};
enum class LatencyOrder : std::uint8_t { Count, P50, P99, Max, Total };
struct LatencyRequest {
  std::string start, end;         // events
  std::optional<ValueName> by;    // of the start
  std::optional<LatencyKey> key;  // nullopt: the thread
  std::uint64_t slower_ns = 0;    // shorter times are only counted
  LatencyOrder order = LatencyOrder::Count;
  bool has_bars = false;  // text: a histogram of each row's times
};
// From a start to the next end of the same thread, or of the same key on any thread, innermost first, in nanoseconds.
// An error when there is no such event, or no such field.
Analysis latencies(OutputFile out, const Metadata& metadata, const LatencyRequest& request,
                   AnswerForm form = AnswerForm::Text);

// Events and tasks by their rate since the last flush, again and again.
Analysis live_table(OutputFile out, const Metadata& metadata, std::size_t rows, AnswerForm form = AnswerForm::Text);

}  // namespace kevt::record

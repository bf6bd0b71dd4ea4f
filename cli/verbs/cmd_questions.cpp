// kevtrace stat, count, hist, lat, top, stream: an analysis takes records of a file, or those of a run while it goes
// on.
//
// Live questions use `kevtrace run` (commands.h), with the analysis in place of the writer of a file.
#include <fmt/format.h>

#include <algorithm>

#include "cli/exit_status.h"
#include "cli/output_format.h"
#include "cli/recording_input.h"
#include "cli/verbs/cmd_recordings.h"
#include "cli/verbs/commands.h"
#include "common/error.h"
#include "tracefs-compat/record/analysis/analysis.h"
#include "tracefs-compat/record/output_file.h"

namespace kevt::cli {
namespace {

// Passes the records of a file to the analysis.
int ask_file(const InputOptions& options, const session::MakeWriter& make, const Reporter& report) {
  int status = kOk;
  auto input = RecordingInput::open(options, report, status);
  if (!input) return status;
  auto analysis = make(input->metadata());
  if (!analysis) {
    report.error(analysis.error());
    return kNotCompiled;
  }
  const auto counted = input->reader().give_counts(**analysis);
  if (!counted) {
    report.error(counted.error());
    return kFailed;
  }
  Result<void> done;
  record::TypedRecord record;
  while (done && !*counted && input->reader().next(record)) done = (*analysis)->add(record);
  const int read = input->finish(report);
  if (done) done = (*analysis)->finish();
  if (done || done.error().errno_value() == EPIPE) return read;
  report.error(done.error());
  return kFailed;
}

int ask(const QuestionOptions& source, std::vector<std::string> filters, const session::MakeWriter& make,
        const GlobalOptions& global) {
  const Reporter report(global);
  filters.insert(filters.end(), source.run.filters.begin(), source.run.filters.end());
  if (!source.input.empty())
    return ask_file({.file = source.input, .filters = filters, .from = "", .to = "", .limit = source.run.events}, make,
                    report);
  return run(source.run, global, make);
}

// The output is opened only after the analysis was made: a mistake must not empty a file.
template <class Make>
session::MakeWriter to_output(const std::string& output, record::AnswerForm form, Make make) {
  return [output, form, make](const record::Metadata& metadata) -> record::Analysis {
    auto file = KEVT_TRY(record::OutputFile::create(output));
    return make(std::move(file), metadata, form);
  };
}

template <class Make>
int answer(const QuestionOptions& source, const std::vector<std::string>& filters, Make make,
           const GlobalOptions& global) {
  const auto form = answer_form(source.run.format, source.run.output, Reporter(global));
  if (!form) return kUsage;
  return ask(source, filters, to_output(source.run.output, *form, std::move(make)), global);
}

// The recording's counters cover all hits, so for a part of a recording the records are counted instead.
record::CountRequest count_request(const CountOptions& options) {
  record::CountRequest request;
  for (const std::string& glob : options.events) request.events.push_back(split_filter(glob).event);
  const auto has_condition = [](const std::string& word) { return !split_filter(word).expression.empty(); };
  const RunOptions& run = options.source.run;
  const bool is_part = !options.source.input.empty() &&
                       (run.events || !run.filters.empty() || std::ranges::any_of(options.events, has_condition));
  if (is_part) request.counts = record::Counted::Records;
  return request;
}

// The words behind the first `count`: nothing, or `by KEY`.
bool take_by(const std::vector<std::string>& words, std::size_t count, std::optional<record::ValueName>& by,
             const Reporter& report) {
  if (words.size() == count) return true;
  if (words.size() != count + 2 || words[count] != "by") {
    report.error(fmt::format("`{}` is too much; only `by FIELD` may follow", words.size() > count ? words[count] : ""));
    return false;
  }
  by = record::parse_value_name(words[count + 1]);
  return true;
}

// "p libc:read" → "p:NAME libc:read"; a definition that has a name keeps it. Returns the name.
std::string name_definition(std::string& definition, const std::string& name) {
  const auto blank = definition.find(' ');
  const std::string head = definition.substr(0, blank);
  const auto colon = head.find(':');
  if (colon == std::string::npos) {
    definition = head + ":" + name + definition.substr(blank);
    return name;
  }
  const auto slash = head.rfind('/');
  return head.substr(slash == std::string::npos ? colon + 1 : slash + 1);
}

// "id" or "id=request"
std::optional<record::LatencyKey> latency_key(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto equals = text.find('=');
  const std::string start = text.substr(0, equals);
  return record::LatencyKey{record::parse_value_name(start),
                            record::parse_value_name(equals == std::string::npos ? start : text.substr(equals + 1))};
}

record::LatencyOrder latency_order(std::string_view word) {
  if (word == "p50") return record::LatencyOrder::P50;
  if (word == "p99") return record::LatencyOrder::P99;
  if (word == "max") return record::LatencyOrder::Max;
  return word == "total" ? record::LatencyOrder::Total : record::LatencyOrder::Count;
}

}  // namespace

int stat_recording(const StatOptions& options, const GlobalOptions& global) {
  const Reporter report(global);
  const auto form = answer_form(options.format, options.output, report);
  if (!form) return kUsage;
  return ask_file({.file = options.file, .filters = options.filters, .from = "", .to = "", .limit = {}},
                  to_output(options.output, *form,
                            [top = options.top](record::OutputFile file, const record::Metadata& metadata,
                                                record::AnswerForm wanted) {
                              return record::recording_statistics(std::move(file), metadata, top, wanted);
                            }),
                  report);
}

int count_records(const CountOptions& options, const GlobalOptions& global) {
  if (options.source.input.empty() && !options.events.empty()) {
    Reporter(global).error("names of events choose among those of a file (-i FILE); live, all that are defined count");
    return kUsage;
  }
  return answer(
      options.source, options.events,
      [request = count_request(options)](record::OutputFile file, const record::Metadata& metadata,
                                         record::AnswerForm form) {
        return record::count_events(std::move(file), metadata, request, form);
      },
      global);
}

int value_histogram(const HistOptions& options, const GlobalOptions& global) {
  record::HistogramRequest request{.value = record::parse_value_name(options.words[0]), .by = std::nullopt};
  if (!take_by(options.words, 1, request.by, Reporter(global))) return kUsage;
  return answer(
      options.source, {},
      [request](record::OutputFile file, const record::Metadata& metadata, record::AnswerForm form) {
        return record::value_histogram(std::move(file), metadata, request, form);
      },
      global);
}

int measure_latency(const LatOptions& options, const GlobalOptions& global) {
  const Reporter report(global);
  if (options.words.size() < 2) {
    report.error("two events are needed: where the time starts, and where it ends");
    return kUsage;
  }
  constexpr double kLongest = 9e18;  // nanoseconds: 285 years
  if (options.slower_ns < 0 || options.slower_ns > kLongest) {
    report.error("--slower: a time is from 0 to 9e9 s");
    return kUsage;
  }
  record::LatencyRequest request{.start = options.words[0],
                                 .end = options.words[1],
                                 .by = std::nullopt,
                                 .key = latency_key(options.key),
                                 .slower_ns = static_cast<std::uint64_t>(options.slower_ns),
                                 .order = latency_order(options.order),
                                 .has_bars = options.has_bars};
  if (!take_by(options.words, 2, request.by, report)) return kUsage;
  QuestionOptions source = options.source;
  for (auto [word, name] : {std::pair(&request.start, "lat_start"), std::pair(&request.end, "lat_end")}) {
    if (word->find(' ') == std::string::npos) continue;
    std::string definition = *word;
    *word = name_definition(definition, name);
    source.run.definitions.push_back(definition);
  }
  return answer(
      source, {},
      [request](record::OutputFile file, const record::Metadata& metadata, record::AnswerForm form) {
        return record::latencies(std::move(file), metadata, request, form);
      },
      global);
}

int top_events(const TopOptions& options, const GlobalOptions& global) {
  return answer(
      options.source, {},
      [rows = options.rows](record::OutputFile file, const record::Metadata& metadata, record::AnswerForm form) {
        return record::live_table(std::move(file), metadata, rows, form);
      },
      global);
}

int stream_records(const StreamOptions& options, const GlobalOptions& global) {
  const RunOptions& run = options.source.run;
  const auto format = output_format(run.format, run.output, Reporter(global));
  return ask(
      options.source, {},
      [format, output = run.output](const record::Metadata& metadata) {
        return record::create_recording(format, output, metadata);
      },
      global);
}

}  // namespace kevt::cli

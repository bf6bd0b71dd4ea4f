// Options of verbs that ask about records: those of a file (-i FILE), or of a program or processes while they run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/options/run_options.h"

namespace kevt::cli {

struct QuestionOptions {
  std::string input;  // a recording; empty: live
  RunOptions run;     // for live tracing; filters and -c also apply to a file
};

struct CountOptions {
  std::vector<std::string> events;  // globs; empty: all
  QuestionOptions source;
};
struct HistOptions {
  std::vector<std::string> words;  // EVENT.FIELD [by KEY]
  QuestionOptions source;
};
struct LatOptions {
  std::vector<std::string> words;  // START END [by KEY]
  std::string key;                 // FIELD, or FIELD=FIELD: of the start, of the end; empty: the thread
  double slower_ns = 0;
  std::string order = "count";  // count, p50, p99, max, total
  bool has_bars = false;
  QuestionOptions source;
};
struct TopOptions {
  std::uint64_t rows = 10;
  QuestionOptions source;
};
struct StreamOptions {
  QuestionOptions source;
};
struct StatOptions {
  std::string file;
  std::vector<std::string> filters;
  std::uint64_t top = 10;
  std::string format, output;  // empty: by the output's ending; standard output
};
struct DiffOptions {
  std::string a, b;
  std::vector<std::string> filters;
  std::vector<std::string> fields;     // EVENT.FIELD
  std::vector<std::string> latencies;  // START,END
  std::string format, output;          // as in StatOptions
  std::string align;                   // an event; empty: all of what is compared
  std::string range_a, range_b;        // FROM,TO; empty: whole recordings
};

}  // namespace kevt::cli

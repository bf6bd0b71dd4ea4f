// Questions to records: of a file (-i FILE), or of a program or processes while they run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/options/run_options.h"

namespace kevt::cli {

struct QuestionOptions {
  std::string input;  // a recording; empty: live
  RunOptions run;     // live; its filters and count also serve a file
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
  std::string format, output;  // of the answer; empty: by the output's ending, standard output
};
struct DiffOptions {
  std::string a, b;
  std::vector<std::string> filters;
  std::vector<std::string> fields;     // EVENT.FIELD
  std::vector<std::string> latencies;  // START,END
  std::string format, output;          // as of `stat`
};

}  // namespace kevt::cli

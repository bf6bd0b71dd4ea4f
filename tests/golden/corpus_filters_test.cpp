// The problem: filters must be taken, refused and explained as Debian's 6.1 does.
//
// The idea: replay what that kernel answered. Each record of filter.jsonl.gz is a text written to an event's
// filter file, with errno, the error_log entry and what the file read afterwards; all of them must agree.
//
// The folder comes from KEVT_CORPUS; without it nothing is tested here (filters_test.cpp always runs).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "compiler/sema/filter.h"
#include "grammar/parse_filter.h"
#include "tests/golden/corpus_reader.h"
#include "tests/golden/filter_fixtures.h"

namespace kevt::golden {
namespace {

using nlohmann::json;

constexpr double kLeastPercent = 100.0;

// errno, error_log entry and read-back, as one text that is compared as a whole.
struct Answer {
  std::string verdict;
  std::string log;
  std::string file;
};

Answer kernel_answer(const json& record) {
  const json& result = record.at("result");
  Answer answer{result.at("errno"), "", result.at("filter")};
  if (result.contains("error")) {
    const json& error = result.at("error");
    answer.log = fmt::format("{} | {} | {}", error.at("msg").get<std::string>(), error.at("cmd").get<std::string>(),
                             error.at("caret").is_null() ? -1 : error.at("caret").get<int>());
  }
  return answer;
}

// The filter file read `none` before.
Answer our_answer(const std::string& text, const model::RecordLayout& layout) {
  if (text.empty()) return {"", "", "none\n"};  // an empty write(2) does nothing
  diag::Sink sink;
  if (sema::compile_filter(text, layout, sink, {.dialect = dialect::Dialect::of(dialect::Kernel::Linux6_1)})) {
    return {"", "", std::string(grammar::filter_command(text)) + "\n"};
  }
  const diag::Diagnostic& first = sink.diagnostics().front();
  Answer answer{errno_name(first.errno_value), "", "none\n"};
  if (!first.logged) return answer;
  answer.file = sema::filter_file_text(first);
  answer.log =
      fmt::format("{}: error: {} | {} | {}", diag::location_name(first.location), diag::kernel_text(first.kind),
                  first.command, first.column ? static_cast<int>(*first.column) : -1);
  return answer;
}

struct Tally {
  int seen = 0;
  int agreed = 0;
  void add(bool agrees) {
    ++seen;
    agreed += agrees ? 1 : 0;
  }
  double percent() const { return seen == 0 ? 0.0 : 100.0 * agreed / seen; }
};

void print_tally(std::string_view what, const Tally& tally) {
  fmt::print("{:<28} {:>4} of {:>4}  {:.1f} %\n", what, tally.agreed, tally.seen, tally.percent());
}

TEST(CorpusFilters, AnswersAsTheKernelDoes) {
  const auto folder = corpus_folder();
  if (!folder) GTEST_SKIP() << "KEVT_CORPUS is not set: the folder that holds filter.jsonl.gz";
  Tally verdicts, logs, files;
  int excluded = 0;
  for (const json& record : read_corpus(*folder + "/filter.jsonl.gz")) {
    const model::RecordLayout* layout = fixture_layout(record.at("event").get<std::string>());
    if (layout == nullptr) {
      ++excluded;
      continue;
    }
    const std::string text = record.at("text");
    const Answer kernel = kernel_answer(record);
    const Answer ours = our_answer(text, *layout);
    verdicts.add(kernel.verdict == ours.verdict);
    logs.add(kernel.log == ours.log);
    files.add(kernel.file == ours.file);
    if (kernel.verdict != ours.verdict || kernel.log != ours.log || kernel.file != ours.file) {
      fmt::print("differs: {} {:.200}\n  kernel: {} {:.200}\n  ours:   {} {:.200}\n",
                 record.at("event").get<std::string>(), record.at("text").dump(), kernel.verdict, kernel.log,
                 ours.verdict, ours.log);
    }
  }
  print_tally("filter: verdict, errno", verdicts);
  print_tally("filter: error_log", logs);
  print_tally("filter: file", files);
  fmt::print("filter: {} excluded (event not laid out)\n", excluded);
  EXPECT_GE(verdicts.percent(), kLeastPercent);
  EXPECT_GE(logs.percent(), kLeastPercent);
  EXPECT_GE(files.percent(), kLeastPercent);
}

}  // namespace
}  // namespace kevt::golden

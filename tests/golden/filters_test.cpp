// The problem: what filters mean and how they fail must not change unseen.
//
// The idea: filters.golden holds filters, each with what it is bound to or with a caret under the column of
// error_log, the errno and the kernel's identifier:
//
//   filter kprobes/fk
//       u32 = 1
//            ^ EINVAL INVALID_OP
//   filter kprobes/fk
//       u8 == 256
//       = (field1 == u8 0)
//
// KEVT_UPDATE_GOLDEN=1 rewrites the expectations; the diff is to be reviewed. The kernel's own answers to
// more filters are replayed by corpus_filters_test.cpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "compiler/sema/filter.h"
#include "tests/golden/filter_fixtures.h"

namespace kevt::golden {
namespace {

constexpr std::string_view kIndent = "    ";

struct Case {
  std::string event;
  std::string text;
  std::string expectation;
  int line = 0;
};

std::string golden_path() { return std::string(KEVT_GOLDEN_DIR) + "/filters.golden"; }

std::string without_indent(const std::string& line) { return line.size() < 4 ? "" : line.substr(4); }

std::vector<Case> read_cases() {
  std::ifstream file(golden_path());
  EXPECT_TRUE(file) << golden_path();
  std::vector<Case> cases;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (!line.starts_with("filter ")) continue;
    Case made{.event = line.substr(7), .text = {}, .expectation = {}, .line = number};
    if (std::getline(file, line)) made.text = without_indent(line);
    if (std::getline(file, line)) made.expectation = without_indent(line);
    number += 2;
    cases.push_back(made);
  }
  return cases;
}

std::string outcome(const Case& input) {
  const model::RecordLayout* layout = fixture_layout(input.event);
  EXPECT_NE(layout, nullptr) << input.event;
  if (layout == nullptr) return "no such event";
  diag::Sink sink;
  if (const auto filter =
          sema::compile_filter(input.text, *layout, sink, {.dialect = dialect::Dialect::of(dialect::Kernel::Linux6_1)}))
    return "= " + describe(*filter);
  const diag::Diagnostic& first = sink.diagnostics().front();
  return std::string(first.column.value_or(0), ' ') + "^ " + errno_name(first.errno_value) + " " +
         std::string(diag::kernel_id(first.kind));
}

void rewrite(const std::vector<Case>& cases, const std::vector<std::string>& outcomes) {
  std::ofstream file(golden_path());
  file << "# Filters, and what becomes of them: see filters_test.cpp. Events: filter_fixtures.cpp.\n";
  for (std::size_t i = 0; i < cases.size(); ++i) {
    file << "\nfilter " << cases[i].event << "\n" << kIndent << cases[i].text << "\n" << kIndent << outcomes[i] << "\n";
  }
}

TEST(GoldenFilters, AreBoundAndRefusedAsWritten) {
  const std::vector<Case> cases = read_cases();
  EXPECT_GE(cases.size(), 40U);
  std::vector<std::string> outcomes;
  for (const Case& input : cases) outcomes.push_back(outcome(input));
  if (std::getenv("KEVT_UPDATE_GOLDEN") != nullptr) return rewrite(cases, outcomes);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(outcomes[i], cases[i].expectation) << "filters.golden:" << cases[i].line << ": " << cases[i].text;
  }
}

}  // namespace
}  // namespace kevt::golden

// Commands with the answer they must get, in *.golden beside this file:
//
//   $ kevtrace check -e 'p:a openat %zz'
//   ! <event 1>:1:12: error: Invalid register name   [trace_kprobe: BAD_REG_NAME]     standard error
//   p:kprobes/a openat                                                                standard output
//   = 3                                                                               exit status
//
// Lines that start with `#` and blank ones between cases are kept. KEVT_UPDATE_GOLDEN=1 writes the files
// anew; read the difference before you commit it. Only what is the same on every machine belongs here.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cli/run_kevtrace.h"

namespace kevt::tests {
namespace {

struct Case {
  std::string before;  // comments and blank lines
  std::string command;
  std::string expected;
};

std::vector<Case> read_cases(const std::string& path) {
  std::ifstream file(path);
  std::vector<Case> cases;
  std::string before;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("$ ")) {
      cases.push_back({std::move(before), line.substr(2), ""});
      before.clear();
      inside = true;
    } else if (inside) {
      cases.back().expected += line + "\n";
      inside = !line.starts_with("= ");
    } else {
      before += line + "\n";
    }
  }
  return cases;
}

std::string prefixed(const std::string& text, const std::string& prefix) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) out += prefix + line + "\n";
  return out;
}

std::string answer(const std::string& command) {
  const Ran ran = shell(command);
  return prefixed(ran.err, "! ") + prefixed(ran.out, "") + "= " + std::to_string(ran.status) + "\n";
}

void replay(const std::string& name) {
  const std::string path = std::string(KEVT_CLI_GOLDEN_DIR) + "/" + name;
  const std::vector<Case> cases = read_cases(path);
  ASSERT_FALSE(cases.empty()) << path;
  const bool update = std::getenv("KEVT_UPDATE_GOLDEN") != nullptr;
  std::string written;
  for (const Case& one : cases) {
    const std::string got = answer(one.command);
    if (!update) {
      EXPECT_EQ(got, one.expected) << "$ " << one.command;
    }
    written += one.before + "$ " + one.command + "\n" + got;
  }
  if (update) std::ofstream(path) << written;
}

// What is wrong with an option, and the layout of help, are in the library's own words.
void replay_words_of_cli11(const std::string& name) {
  constexpr std::string_view kVersion = KEVT_CLI11_VERSION;
  if (!kVersion.starts_with("2.1.")) GTEST_SKIP() << "the golden words are CLI11 2.1's, and this is " << kVersion;
  replay(name);
}

TEST(CliGolden, Definitions) { replay("definitions.golden"); }
TEST(CliGolden, Filters) { replay("filters.golden"); }
TEST(CliGolden, CommandLine) { replay_words_of_cli11("command_line.golden"); }
TEST(CliGolden, Help) { replay_words_of_cli11("help.golden"); }
TEST(CliGolden, Words) { replay("words.golden"); }
TEST(CliGolden, Completion) { replay("completion.golden"); }
TEST(CliGolden, Explain) { replay("explain.golden"); }
TEST(CliGolden, Scripts) { replay("scripts.golden"); }
TEST(CliGolden, Dialects) { replay("dialects.golden"); }

}  // namespace
}  // namespace kevt::tests

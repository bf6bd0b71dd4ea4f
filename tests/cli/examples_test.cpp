// Every script of examples/: those for programs run, those for the kernel are checked as 6.1 would; all are laid out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cli/run_kevtrace.h"

namespace kevt::tests {
namespace {

std::vector<std::string> examples() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(KEVT_EXAMPLES_DIR))
    if (entry.path().extension() == ".kev") names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class Example : public testing::TestWithParam<std::string> {
 public:
  std::string path() const { return std::string(KEVT_EXAMPLES_DIR) + "/" + GetParam() + ".kev"; }
};

TEST(Examples, AreTwelveAtLeast) { EXPECT_GE(examples().size(), 12u); }

TEST_P(Example, IsLaidOut) { EXPECT_EQ(shell("kevtrace fmt --check " + path()).status, 0); }

TEST_P(Example, Answers) {
  const bool kernel = text_of(path()).contains("\ntarget kernel\n");
  const Ran ran = shell(kernel ? "kevtrace check --kernel 6.1 " + path() : "kevtrace run -o /dev/null -p " + path());
  EXPECT_EQ(ran.status, 0) << ran.err;
  if (kernel) return;
  int events = 0;
  std::istringstream lines(ran.err);
  for (std::string line; std::getline(lines, line);) {
    if (!line.contains(": hits ")) continue;
    ++events;
    EXPECT_FALSE(line.contains("recorded 0 ")) << line;
    EXPECT_THAT(line, testing::HasSubstr("lost 0 + missed 0"));
  }
  EXPECT_GT(events, 0) << ran.err;
}

TEST(Script, CommandLineWins) {
  const std::string script = std::string(KEVT_EXAMPLES_DIR) + "/malloc-sizes.kev";
  const Ran ran = shell("kevtrace run -c 1 --filter 'malloc: size > 1' -p " + script + " -- /bin/echo mine");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, testing::HasSubstr("mine\n"));
}

TEST(Script, FileMustBeMapped) {
  const char* script = "printf 'target file /bin/bash\\np:a libc:malloc\\n' | kevtrace run -p - -- ";
  const Ran not_it = shell(std::string(script) + "/bin/true");
  EXPECT_EQ(not_it.status, 1);
  EXPECT_THAT(not_it.err, testing::HasSubstr("has not mapped `/bin/bash`"));
  EXPECT_EQ(shell(std::string(script) + "/bin/bash -c true >/dev/null").status, 0);
}

TEST(Script, WhatIsOffIsLeftOut) {
  const Ran ran =
      shell("printf 'p:a libc:malloc\\n enable 0\\np:b libc:free\\n' | kevtrace run -o /dev/null -p - -- /bin/ls /");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.err, testing::HasSubstr("\nb: hits"));
  EXPECT_THAT(ran.err, testing::Not(testing::HasSubstr("\na: hits")));
}

INSTANTIATE_TEST_SUITE_P(All, Example, testing::ValuesIn(examples()), [](const auto& one) {
  std::string name = one.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace kevt::tests

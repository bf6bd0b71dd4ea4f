// Texts that nobody writes by hand: they get an answer, at once.
//
// The time limits guard against hangs and against work that grows with the square of the text; they are far above what
// is needed (some 10 ms) so that a busy or sanitized machine does not fail them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/run_kevtrace.h"

namespace kevt::tests {
namespace {

constexpr std::chrono::seconds kGenerous(10);

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// Checks `text` as a file and as standard input, in the forms that must not depend on its bytes.
void expect_refused(const std::string& text, const char* what) {
  const std::string path = testing::TempDir() + "kevt_odd_text_" + std::to_string(::getpid());
  std::ofstream(path, std::ios::binary) << text;
  for (const std::string form : {"", "--diagnostics=kernel ", "--kernel 6.1 "}) {
    const auto begin = std::chrono::steady_clock::now();
    const Ran ran = shell("kevtrace check " + form + path);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, kGenerous) << what;
    EXPECT_EQ(ran.status, 3) << what << ran.err.substr(0, 500);
    EXPECT_FALSE(ran.err.empty()) << what;
  }
  for (const std::string form : {"json", "sarif"}) {
    const Ran ran = shell("kevtrace check --diagnostics=" + form + " - <" + path);
    EXPECT_EQ(ran.status, 3) << what;
    EXPECT_TRUE(nlohmann::json::accept(ran.out)) << what << ran.out.substr(0, 500);
  }
  std::remove(path.c_str());
}

TEST(OddTexts, AreRefusedAtOnce) {
  expect_refused("p:a f " + std::string(1 << 20, 'x') + "\n", "1 MB line");
  expect_refused(std::string(1 << 20, 'x'), "1 MB word");
  expect_refused("p:a f x=" + repeated("+0(", 10000) + "%di" + std::string(10000, ')') + "\n", "10,000 dereferences");
  expect_refused("p:a f x=" + repeated("+0(", 1300) + "\n", "as many as a line holds");
  expect_refused("p:a f x=" + repeated("(S)", 80) + "y\n", "typecasts");
  expect_refused("p:a f x=" + repeated("this_cpu_read(", 17) + "y\n", "per-CPU accesses");
  expect_refused("e:a s.e if " + std::string(3900, '(') + "\n" + "p:a f %zz\n", "parentheses in a filter");
  expect_refused(std::string("p:a f\0x %di\n", 12), "NUL byte");
  expect_refused(std::string("\0", 1), "a NUL byte alone");
  expect_refused("p:a f \x80\xfe=%di x=\xc3\n", "no UTF-8");
  expect_refused("\xff\xfe\xff", "no UTF-8 alone");
}

TEST(OddTexts, AreRefusedAtOnceInFiltersTriggersAndSettings) {
  const std::string odd[] = {std::string(1 << 20, 'x'), std::string(10000, '(') + "a == 1" + std::string(10000, ')'),
                             std::string("\0a\0", 3),   "\xff\xfe\xc3(",
                             std::string(10000, '!'),   repeated("a == 1 && ", 100000) + "a == 1"};
  for (const char* begin : {"filter e ", "filter ", "trigger e ", "trigger e hist:keys=", "trigger e hist:keys=a:x=",
                            "trigger e traceon if ", "buffer ", ""}) {
    for (const std::string& text : odd) {
      const std::string path = testing::TempDir() + "kevt_odd_part_" + std::to_string(::getpid());
      std::ofstream(path, std::ios::binary) << "p:e libc:open a=%di:u8\n" << begin << text << "\n";
      const Ran ran = shell("kevtrace check " + path);
      EXPECT_EQ(ran.status, 3) << begin << ran.err.substr(0, 500);
      EXPECT_FALSE(ran.err.empty()) << begin;
      std::remove(path.c_str());
    }
  }
}

TEST(OddTexts, ManyLinesKeepTheirNumbers) {
  std::string text;
  for (int i = 1; i <= 3000; ++i) text += i % 1000 == 0 ? "p:x f %zz\n" : (i % 2 == 0 ? "\n" : "# c\n");
  const std::string path = testing::TempDir() + "kevt_many_lines_" + std::to_string(::getpid());
  std::ofstream(path) << text;
  const Ran ran = shell("kevtrace check --diagnostics=json - <" + path);
  const auto report = nlohmann::json::parse(ran.out);
  ASSERT_EQ(report.at("diagnostics").size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(report.at("diagnostics").at(i).at("line"), (i + 1) * 1000);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace kevt::tests

// list, explain and doctor on this machine's own programs: shape and consistency, not exact figures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <sstream>
#include <vector>

#include "tests/cli/run_kevtrace.h"

namespace kevt::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

constexpr const char* kLibc = "/usr/lib/x86_64-linux-gnu/libc.so.6";

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(List, FunctionsAreSortedLines) {
  const Ran ran = shell(std::string("kevtrace list 'open*' ") + kLibc);
  EXPECT_EQ(ran.status, 0);
  const auto lines = lines_of(ran.out);
  ASSERT_GT(lines.size(), 5u);
  for (const std::string& line : lines) EXPECT_THAT(line, MatchesRegex("open[^ ]*  0x[0-9a-f]+  [0-9]+"));
  EXPECT_TRUE(std::ranges::is_sorted(lines, {}, [](const std::string& l) { return l.substr(0, l.find(' ')); }));
}

TEST(List, AllOfLibc) {
  const Ran ran = shell(std::string("kevtrace list ") + kLibc);
  EXPECT_GT(lines_of(ran.out).size(), 2000u);
}

TEST(List, VerboseSaysHowEachWouldBeArmed) {
  const Ran ran = shell(std::string("kevtrace list -v 'mem*' ") + kLibc);
  EXPECT_EQ(ran.status, 0);
  auto lines = lines_of(ran.out);
  ASSERT_GT(lines.size(), 5u);
  EXPECT_THAT(lines.back(), MatchesRegex(".*: [0-9]+ functions, by a jump [0-9]+ .*, by int3 [0-9]+, refused [0-9]+"));
  lines.pop_back();
  const std::regex shape("\\S+  0x[0-9a-f]+  [0-9]+  (jump|int3: .+|refused: .+)(  \\(chooses.*)?");
  for (const std::string& line : lines) EXPECT_TRUE(std::regex_match(line, shape)) << line;
}

TEST(List, UnreadableFileIsOneLineAndTheOthersAreListed) {
  const Ran ran = shell(std::string("kevtrace list /nonexistent openat ") + kLibc);
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(lines_of(ran.err).size(), 1u);
  EXPECT_THAT(ran.out, HasSubstr("\nopenat  0x"));
}

TEST(List, EveryExampleOfATypeIsRight) {
  const Ran ran = shell("kevtrace list --types");
  auto lines = lines_of(ran.out);
  ASSERT_GT(lines.size(), 15u);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::size_t at = std::min(lines[i].find(" p:"), lines[i].find(" r:"));
    ASSERT_NE(at, std::string::npos) << lines[i];
    EXPECT_EQ(shell("kevtrace check -q -e '" + lines[i].substr(at + 1) + "'").status, 0) << lines[i];
  }
}

TEST(List, FullDiskIsAnError) {
  EXPECT_EQ(shell(std::string("kevtrace list ") + kLibc + " >/dev/full").status, 1);
  EXPECT_EQ(shell("kevtrace check -q -e 'p:a openat' >/dev/full").status, 1);
  EXPECT_EQ(shell("kevtrace explain -e 'p:a openat' >/dev/full").status, 1);
}

TEST(Explain, ShowsEveryPart) {
  const Ran ran = shell("kevtrace explain -e 'p:open libc:openat path=+0(%si):string' --only=all -- /bin/ls");
  EXPECT_EQ(ran.status, 0) << ran.err;
  for (const char* part :
       {"== listing ==", "== format ==", "== fetch IR ==", "== machine code (", "== arming ==", "== LLVM IR ==", "retq",
        "original bytes: ", "field:__data_loc char[] path;", "define ", "by a jump of 5 bytes"})
    EXPECT_THAT(ran.out, HasSubstr(part));
  EXPECT_THAT(ran.out, Not(HasSubstr("(bad)")));
}

TEST(Explain, BeginsWithASummary) {
  const Ran ran = shell("kevtrace explain -e 'p:open libc:openat path=+0(%si):string' -- /bin/ls");
  EXPECT_EQ(ran.status, 0) << ran.err;
  for (const char* part : {"== listing ==", "== format ==", "== arming ==", "by a jump of 5 bytes",
                           "(--only=ir): ", "(--only=llvm): ", "(--only=asm): "})
    EXPECT_THAT(ran.out, HasSubstr(part));
  EXPECT_THAT(ran.out, Not(HasSubstr("retq")));
  EXPECT_LT(std::ranges::count(ran.out, '\n'), 50);
}

TEST(Explain, OnlyWhatIsAsked) {
  const Ran ran = shell("kevtrace explain -e 'p:open libc:openat' --only=arm,listing -- /bin/ls");
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.out, StartsWith("== listing ==\n"));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("== arming =="), Not(HasSubstr("== format ==")), Not(HasSubstr("LLVM"))));
}

TEST(Explain, ProgramDoesNotRun) {
  const Ran ran = shell("kevtrace explain -e 'p:open libc:openat' --only=listing -- /bin/echo it-ran");
  EXPECT_EQ(ran.out, "== listing ==\n  p:kprobes/open libc:openat\n");
}

TEST(Explain, SaysWhyNotByAJump) {
  const Ran list = shell(std::string("kevtrace list -v ") + kLibc + " | grep ' int3: ' | grep -v '@' | head -n 1");
  if (list.out.empty()) GTEST_SKIP() << "every function of libc can be jumped from";
  const std::string name = list.out.substr(0, list.out.find(' '));
  const Ran ran = shell("kevtrace explain -e 'p:a libc:" + name + "' --only=arm -- /bin/ls");
  EXPECT_THAT(ran.out, HasSubstr("by int3, not by a jump: "));
}

TEST(Explain, StatusesOfTheProgram) {
  EXPECT_EQ(shell("kevtrace explain -e 'p:a openat' -- /nonexistent").status, 127);
  EXPECT_EQ(shell("kevtrace explain -e 'p:a openat' -- /etc/passwd").status, 126);
}

TEST(Doctor, EveryLineHasAState) {
  const Ran ran = shell("kevtrace doctor");
  EXPECT_TRUE(ran.status == 0 || ran.status == 4) << ran.err;
  for (const std::string& line : lines_of(ran.out))
    EXPECT_THAT(line, testing::AnyOf(StartsWith("ok "), StartsWith("missing "), MatchesRegex(" +fix: .*")));
  for (const char* what : {"cpu ", "ptrace ", "code memory ", "membarrier ", "compiler ", "inproc ", "bpf ", "kmod "})
    EXPECT_THAT(ran.out, HasSubstr(what));
  EXPECT_EQ(ran.status == 0, std::regex_search(ran.out, std::regex("(^|\n)ok +inproc ")));
}

// "107 instr 12.4 ns" or "105-115 instr 11.9-12.6 ns": the instructions' lower end; 0: another text.
int least_instructions(const std::string& cell) {
  static const std::regex shape(R"(([0-9]+)(-[0-9]+)? instr [0-9.]+(-[0-9.]+)? ns)");
  std::smatch found;
  return std::regex_match(cell, found, shape) ? std::stoi(found[1]) : 0;
}

TEST(Cost, IsCountedPerEvent) {
  const Ran ran = shell(
      "kevtrace cost -e 'p:open libc:openat path=+0(%si):string fl=%dx:x32' -e 'r:got libc:openat fd=$retval:s32' "
      "--filter 'open: fl == 3' -- /bin/ls");
  ASSERT_EQ(ran.status, 0) << ran.err;
  const auto lines = lines_of(ran.out);
  ASSERT_EQ(lines.size(), 3u) << ran.out;
  const auto cell = [&](std::size_t line, std::size_t begin, std::size_t end) {
    std::string text = lines[line].substr(begin, end - begin);
    return text.substr(0, text.find_last_not_of(' ') + 1);
  };
  const std::size_t accepted = lines[0].find("accepted"), rejected = lines[0].find("rejected");
  ASSERT_TRUE(accepted != std::string::npos && rejected != std::string::npos) << lines[0];
  EXPECT_THAT(lines[1], MatchesRegex("kprobes/open +(jump|int3) .*"));
  const int open = least_instructions(cell(1, accepted, rejected)), shut = least_instructions(cell(1, rejected, 999));
  EXPECT_GT(shut, 20) << lines[1];
  EXPECT_GT(open, shut + 30) << lines[1];
  EXPECT_LT(open, 250) << lines[1];
  EXPECT_GT(least_instructions(cell(2, accepted, rejected)), 60) << lines[2];
  EXPECT_EQ(cell(2, rejected, 999), "-") << "no filter rejects";
  EXPECT_THAT(ran.err, HasSubstr("ns an instruction"));
}

TEST(Cost, OfAMistakeIsTheMistake) {
  const Ran ran = shell("kevtrace cost -e 'p:open libc:openat path=+0(%zz):string'");
  EXPECT_EQ(ran.status, 3);
  EXPECT_THAT(ran.err, HasSubstr("BAD_REG_NAME"));
  EXPECT_EQ(ran.out, "");
}

}  // namespace
}  // namespace kevt::tests

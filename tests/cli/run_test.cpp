// kevtrace run on real programs: exit statuses, streams, limits, trouble with the output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>

#include "tests/cli/run_kevtrace.h"

namespace kevt::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

// A program that calls malloc a few hundred times, and one definition for it.
constexpr const char* kMalloc = "-e 'p:a libc:malloc size=%di:u64' ";

std::size_t lines_with(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) count += line.contains(part);
  return count;
}

// The accounting line of `event`, or zeros.
struct Account {
  unsigned long hits = 0, recorded = 0, filtered = 0, lost = 0, missed = 0;
};
Account account(const std::string& err, const std::string& event) {
  static const std::string kLine = R"(: hits (\d+) = recorded (\d+) \+ filtered (\d+) \+ lost (\d+) \+ missed (\d+))";
  std::smatch m;
  if (!std::regex_search(err, m, std::regex(event + kLine))) return {};
  const auto number = [&](int i) { return std::stoul(m[static_cast<std::size_t>(i)]); };
  return {number(1), number(2), number(3), number(4), number(5)};
}

class TemporaryFile {
 public:
  TemporaryFile() {
    char name[] = "/tmp/kevtrace-test-XXXXXX";
    close(mkstemp(name));
    path_ = name;
  }
  ~TemporaryFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }
  std::string text() const {
    std::ifstream file(path_);
    std::ostringstream all;
    all << file.rdbuf();
    return all.str();
  }
  void write(const std::string& text) const { std::ofstream(path_) << text; }

 private:
  std::string path_;
};

// ---- exit statuses --------------------------------------------------------------------------

TEST(RunStatus, IsCommandsOwn) {
  EXPECT_EQ(shell("kevtrace run -e 'p:a openat' -- /bin/true").status, 0);
  EXPECT_EQ(shell("kevtrace run -e 'p:a openat' -- /bin/sh -c 'exit 7'").status, 7);
  EXPECT_EQ(shell("kevtrace run -e 'p:a openat' -- /bin/sh -c 'exit 255'").status, 255);
}

TEST(RunStatus, SignalIsAddedTo128) {
  EXPECT_EQ(shell("kevtrace run -e 'p:a openat' -- /bin/sh -c 'kill -9 $$'").status, 137);
  EXPECT_EQ(shell("kevtrace run -e 'p:a openat' -- /bin/sh -c 'kill -SEGV $$'").status, 139);
  EXPECT_EQ(shell("kevtrace run -e 'p:a openat' -- /bin/sh -c 'kill -TERM $$'").status, 143);
}

TEST(RunStatus, CommandMissingOrNotExecutable) {
  const Ran missing = shell("kevtrace run -e 'p:a openat' -- /nonexistent");
  EXPECT_EQ(missing.status, 127);
  EXPECT_EQ(missing.err, "kevtrace: error: /nonexistent: No such file or directory\n");
  EXPECT_EQ(shell("kevtrace run -e 'p:a openat' -- no-such-command").status, 127);
  EXPECT_EQ(shell("kevtrace run -e 'p:a openat' -- /etc/passwd").status, 126);
  EXPECT_EQ(shell("kevtrace run -e 'p:a openat' -- /etc").status, 126);
}

TEST(RunStatus, WhatDoesNotCompileIsThreeAndCommandDoesNotRun) {
  for (const char* bad :
       {"p:a openat %zz", "p:a libc:nosuch", "p:a nolib:openat", "p:a openat x=@nosuchdata", "e:a sched.sched_switch",
        "f:a vfs_read", "-:a", "p:a /etc/passwd:0x10", "p:a /nonexistent:0x10", "p:a libc:openat+1"}) {
    const Ran ran = shell(std::string("kevtrace run -e '") + bad + "' -- /bin/echo it-ran");
    EXPECT_EQ(ran.status, 3) << bad << "\n" << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("error:")) << bad;
    EXPECT_EQ(ran.out, "") << bad;
  }
}

TEST(RunStatus, WrongFilterIsThree) {
  for (const char* bad : {"a: nosuch == 1", "a: size ~ \"x\"", "a: size == ", "nosuch: size == 1"}) {
    const Ran ran = shell(std::string("kevtrace run ") + kMalloc + "--filter '" + bad + "' -- /bin/echo it-ran");
    EXPECT_EQ(ran.status, 3) << bad;
    EXPECT_EQ(ran.out, "") << bad;
  }
}

TEST(RunStatus, UnbuiltRuntimeIsFour) {
  EXPECT_EQ(shell("kevtrace run --runtime=kmod -e 'p:a openat' -- /bin/true").status, 4);
}

TEST(RunStatus, LostRecordsAreFiveWhenAsked) {
  const Ran fine = shell(std::string("kevtrace run --fail-on lost,missed ") + kMalloc + "-- /bin/ls /");
  EXPECT_EQ(fine.status, 0) << fine.err;
  // The program stops kevtrace, fills the small ring and lets kevtrace go on.
  const std::string fill =
      "-- /usr/bin/python3 -S -c 'import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\n"
      "for i in range(20000): bytearray(5000)\nos.kill(os.getppid(), signal.SIGCONT)'";
  const std::string full = "kevtrace run --buffer 64 -o /dev/null ";
  const Ran lost = shell(full + "--fail-on lost -e 'p:a libc:calloc' -e 'p:b libc:malloc' " + fill);
  EXPECT_EQ(lost.status, 5) << lost.err;
  for (const char* event : {"a", "b"}) {
    const Account one = account(lost.err, event);
    EXPECT_EQ(one.hits, one.recorded + one.filtered + one.lost + one.missed);
  }
  EXPECT_GT(account(lost.err, "a").lost + account(lost.err, "b").lost, 0u);
  EXPECT_EQ(shell(full + "--fail-on missed -e 'p:b libc:malloc' " + fill).status, 0);
}

// ---- help for wrong names -------------------------------------------------------------------

TEST(RunHelps, NearMissOfASymbol) {
  const Ran ran = shell("kevtrace run -e 'p:a libc:opendi' -- /bin/true");
  EXPECT_EQ(ran.status, 3);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("no function `opendi`"), HasSubstr("libc.so.6:opendir")));
}

TEST(RunHelps, AmbiguousSymbolListsCandidates) {
  const Ran ran = shell("kevtrace run -e 'p:a finite' -- /usr/bin/python3 -c pass");
  EXPECT_EQ(ran.status, 3) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("libc.so.6:finite"), HasSubstr("libm.so.6:finite")));
}

TEST(RunHelps, ReturnProbeOnAFunctionThatReturnsTwice) {
  const Ran ran = shell("kevtrace run -e 'r:a libc:_setjmp' -- /bin/echo it-ran");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.err, HasSubstr("no return probe on `_setjmp`"));
  EXPECT_EQ(ran.out, "");
}

// ---- definition files -----------------------------------------------------------------------

TEST(RunFiles, CommentsAndBlankLinesAreKeptOut) {
  TemporaryFile file;
  file.write("# what is allocated\n\np:a libc:malloc size=%di:u64   # bytes\n\nr:b libc:malloc at=$retval:x64\n");
  const Ran ran = shell("kevtrace run -p " + file.path() + " -- /bin/ls /etc/passwd");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_GT(account(ran.err, "a").recorded, 10u);
  EXPECT_EQ(account(ran.err, "a").recorded, account(ran.err, "b").recorded);
}

TEST(RunFiles, MistakeHasFileLineAndColumn) {
  TemporaryFile file;
  file.write("# one\np:a libc:malloc\np:b libc:malloc %zz\n");
  const Ran ran = shell("kevtrace run -p " + file.path() + " -- /bin/true");
  EXPECT_EQ(ran.status, 3);
  EXPECT_THAT(ran.err, HasSubstr(file.path() + ":3:17: error: Invalid register name"));
}

// ---- output ---------------------------------------------------------------------------------

TEST(RunOutput, TraceLinesAreTheKernels) {
  const Ran ran = shell(
      "kevtrace run -e 'p:open libc:open64 path=+0(%di):string flags=%si:x32' --filter 'open: path == "
      "\"/etc/passwd\"' -- /usr/bin/python3 -S -c 'open(\"/etc/passwd\")'");
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.out,
              MatchesRegex(" *python3-[0-9]+ +\\[[0-9]+\\] ..... +[0-9]+\\.[0-9]{6}: open: "
                           "\\(open(64|)\\+0x0/0x[0-9a-f]+ \\[libc.so.6\\]\\) path=\"/etc/passwd\" flags=0x80000\n"));
  const Account open = account(ran.err, "open");
  EXPECT_EQ(open.recorded, 1u);
  EXPECT_GT(open.filtered, 0u);
  EXPECT_EQ(open.hits, open.recorded + open.filtered + open.lost + open.missed);
}

TEST(RunOutput, GoesToAFile) {
  TemporaryFile file;
  const Ran ran = shell(std::string("kevtrace run ") + kMalloc + "-o " + file.path() + " -- /bin/echo hello");
  EXPECT_EQ(ran.out, "hello\n");
  EXPECT_EQ(lines_with(file.text(), " a: ("), account(ran.err, "a").recorded);
}

TEST(RunOutput, FullDiskIsAnErrorAndCommandEndsWell) {
  TemporaryFile done;
  const Ran ran =
      shell(std::string("kevtrace run ") + kMalloc + "-o /dev/full -- /bin/sh -c 'echo ran >" + done.path() + "'");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.err, HasSubstr("kevtrace: error: writing /dev/full: No space left on device\n"));
  EXPECT_EQ(done.text(), "ran\n");
}

TEST(RunOutput, MissingFolderIsAnErrorBeforeAnythingRuns) {
  const Ran ran = shell(std::string("kevtrace run ") + kMalloc + "-o /nonexistent/trace -- /bin/echo it-ran");
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.err, "kevtrace: error: /nonexistent/trace: No such file or directory\n");
  EXPECT_EQ(ran.out, "");
}

TEST(RunOutput, KilledTargetKeepsWhatWasRecorded) {
  const Ran ran =
      shell(std::string("kevtrace run ") + kMalloc + "-- /usr/bin/python3 -S -c 'import os; os.kill(os.getpid(), 9)'");
  EXPECT_EQ(ran.status, 137);
  const Account a = account(ran.err, "a");
  EXPECT_GT(a.recorded, 100u);
  EXPECT_EQ(lines_with(ran.out, " a: ("), a.recorded);
  EXPECT_EQ(a.hits, a.recorded + a.filtered + a.lost + a.missed);
}

TEST(RunOutput, ReaderThatLeavesIsNoError) {
  const Ran ran = shell(std::string("kevtrace run ") + kMalloc +
                        "-- /usr/bin/python3 -S -c 'for i in range(300000): str(i)' | head -n 1");
  EXPECT_EQ(lines_with(ran.out, " a: ("), 1u);
  EXPECT_THAT(ran.err, Not(HasSubstr("error")));
}

TEST(RunOutput, QuietSaysNothingWhenNothingIsLost) {
  const Ran ran = shell(std::string("kevtrace run -q ") + kMalloc + "-o /dev/null -- /bin/true");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.err, "");
}

// ---- limits ---------------------------------------------------------------------------------

TEST(RunLimits, CountStopsPrintingAndCommandGoesOn) {
  const Ran ran = shell(std::string("kevtrace run -c 3 ") + kMalloc + "-- /bin/sh -c 'ls / >/dev/null; echo end'");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(lines_with(ran.out, " a: ("), 3u);
  EXPECT_THAT(ran.out, HasSubstr("end\n"));
}

TEST(RunLimits, DurationStopsTracingAndCommandGoesOn) {
  const Ran ran = shell(
      "kevtrace run -d 0.2 -e 'p:nap libc:clock_nanosleep' -- /usr/bin/python3 -S -c '"
      "import time\nfor i in range(100): time.sleep(0.05)\nprint(\"end\")'");
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.out, HasSubstr("end\n"));
  const Account nap = account(ran.err, "nap");
  EXPECT_GE(nap.recorded, 1u);
  EXPECT_LT(nap.recorded, 95u);
}

TEST(RunLimits, InterruptStopsAndStillPrintsTheProfile) {
  const Ran ran = shell(std::string("kevtrace run ") + kMalloc +
                        "-o /dev/null -- /bin/sh -c 'kill -INT $PPID; ls / >/dev/null; exit 5'");
  EXPECT_EQ(ran.status, 5);
  EXPECT_THAT(ran.err, HasSubstr("a: hits "));
}

}  // namespace
}  // namespace kevt::tests

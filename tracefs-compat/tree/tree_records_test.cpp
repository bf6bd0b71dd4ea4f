// The tree as its users see it: trace, trace_pipe, raw pages, markers, snapshots.
#include "tracefs-compat/tree/tree_testing.h"

#include <cerrno>
#include <sstream>

#include "compiler/layout/layout.h"

namespace kevt::tree {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// What was hit before a reader of `trace` pauses the recording was recorded, however late it is fetched.
TEST_F(TreeTest, PauseOnTraceKeepsWhatWasHitBefore) {
  ASSERT_EQ(append("p:op open64 fd=%di:u32\n", "kprobe_events"), 0);
  ASSERT_EQ(echo("1", "options/pause-on-trace"), 0);
  ASSERT_EQ(echo("1", "events/kprobes/enable"), 0);
  hit("op", 3);
  EXPECT_THAT(cat("trace"), HasSubstr("fd=3"));
  {
    auto reader = tree_.open("trace", {});
    ASSERT_TRUE(reader);
    hit("op", 4);
  }
  hit("op", 5);
  EXPECT_THAT(cat("trace"), testing::AllOf(Not(HasSubstr("fd=4")), HasSubstr("fd=5")));
}

TEST_F(TreeTest, TriggersOfThePrintEventActOnMarkers) {
  ASSERT_EQ(append("snapshot:1", "events/ftrace/print/trigger"), 0);
  EXPECT_THAT(cat("events/ftrace/print/trigger"), StartsWith("snapshot:count=1"));
  ASSERT_EQ(append("one", "trace_marker"), 0);
  ASSERT_EQ(append("two", "trace_marker"), 0);
  EXPECT_THAT(cat("snapshot"), testing::AllOf(HasSubstr("one"), Not(HasSubstr("two"))));
  EXPECT_THAT(cat("trace"), testing::AllOf(Not(HasSubstr("one")), HasSubstr("two")));
}

// A hit is fetched when somebody looks at what it did, not only when its record is read.
TEST_F(TreeTest, FilesShowWhatTriggersHaveDoneSoFar) {
  ASSERT_EQ(append("p:op open64 fd=%di:u32\n", "kprobe_events"), 0);
  ASSERT_EQ(append("p:cl close fd=%di:u32\n", "kprobe_events"), 0);
  ASSERT_EQ(append("traceoff:3", "events/kprobes/op/trigger"), 0);
  ASSERT_EQ(append("enable_event:kprobes:cl", "events/kprobes/op/trigger"), 0);
  EXPECT_EQ(cat("events/kprobes/cl/enable"), "0*\n");
  hit("op", 3);
  EXPECT_EQ(cat("tracing_on"), "0\n");
  ASSERT_EQ(echo("1", "tracing_on"), 0);
  hit("op", 3);
  EXPECT_EQ(cat("events/kprobes/cl/enable"), "1*\n");
  ASSERT_EQ(echo("1", "tracing_on"), 0);
  hit("op", 3);
  EXPECT_THAT(cat("events/kprobes/op/trigger"), HasSubstr("traceoff:count=0"));
}

// Every piece that is read makes two more records, as when reading itself is traced.
TEST_F(TreeTest, AReaderOfTraceComesToAnEnd) {
  ASSERT_EQ(append("p:op open64 fd=%di:u32\n", "kprobe_events"), 0);
  ASSERT_EQ(echo("1", "events/kprobes/enable"), 0);
  for (std::uint32_t i = 0; i < 10; ++i) hit("op", i);
  auto reader = tree_.open("trace", {});
  ASSERT_TRUE(reader);
  std::string text, piece(64, '\0');
  std::size_t reads = 0;
  for (; reads < 10'000; ++reads) {
    auto count = (*reader)->read(text.size(), piece, Waiting::Refused);
    ASSERT_TRUE(count);
    if (*count == 0) break;
    text.append(piece, 0, *count);
    hit("op", 100);
    hit("op", 100);
  }
  ASSERT_LT(reads, 10'000u);
  EXPECT_THAT(text, testing::AllOf(HasSubstr("fd=9"), Not(HasSubstr("fd=100"))));
  auto more = (*reader)->read(text.size(), piece, Waiting::Refused);
  ASSERT_TRUE(more);
  EXPECT_GT(*more, 0u);
}

TEST_F(TreeTest, ShowsLiveRecordsAsTheKernelDoes) {
  ASSERT_EQ(append("p:op open64 fd=%di:u32\n", "kprobe_events"), 0);
  EXPECT_EQ(cat("kprobe_events"), "p:kprobes/op open64 fd=%di:u32\n");
  EXPECT_EQ(cat("events/kprobes/enable"), "0\n");
  ASSERT_EQ(echo("1\n", "events/kprobes/enable"), 0);
  EXPECT_EQ(cat("events/kprobes/op/enable"), "1\n");
  hit("op", 3);
  EXPECT_EQ(cat("trace"),
            "# tracer: nop\n#\n"
            "# entries-in-buffer/entries-written: 1/1   #P:2\n#\n"
            "#                                _-----=> irqs-off/BH-disabled\n"
            "#                               / _----=> need-resched\n"
            "#                              | / _---=> hardirq/softirq\n"
            "#                              || / _--=> preempt-depth\n"
            "#                              ||| / _-=> migrate-disable\n"
            "#                              |||| /     delay\n"
            "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
            "#              | |         |   |||||     |         |\n"
            "              me-7       [000] .....     1.000001: op: (open64+0x0/0x100 [libc.so.6]) fd=3\n");
  EXPECT_EQ(*dir_->read_ready("trace_pipe", 4096),
            "              me-7       [000] .....     1.000001: op: (open64+0x0/0x100 [libc.so.6]) fd=3\n");
  EXPECT_EQ(*dir_->read_ready("trace_pipe", 4096), "");
  EXPECT_EQ(cat("kprobe_profile"), "  op                                                         1               0\n");
  EXPECT_THAT(cat("debug/kprobes/list"), HasSubstr("0000000000001000  k  open64+0x0  libc.so.6 [OPTIMIZED]\n"));
  EXPECT_EQ(echo("\n", "kprobe_events"), EBUSY);
  EXPECT_EQ(echo("0\n", "events/enable"), 0);
  EXPECT_EQ(echo("\n", "kprobe_events"), 0);
  EXPECT_EQ(cat("kprobe_events"), "");
}

TEST_F(TreeTest, ReadsInPiecesAreTheWhole) {
  append("p:op open64 fd=%di:u32\n", "kprobe_events");
  echo("1", "events/kprobes/op/enable");
  for (std::uint32_t i = 0; i < 3000; ++i) hit("op", i, i % 2);
  const std::string whole = cat("trace");
  EXPECT_EQ(std::ranges::count(whole, '\n'), 3012);
  auto handle = tree_.open("trace", {});
  for (const std::size_t piece : {1u << 16, 777u}) {
    std::string text, bytes(piece, '\0');
    while (const std::size_t count = *(*handle)->read(text.size(), bytes, Waiting::Refused))
      text.append(bytes, 0, count);
    EXPECT_EQ(text, whole);
  }
  std::string middle(100, '\0');
  ASSERT_EQ(*(*handle)->read(5000, middle, Waiting::Refused), 100u);
  EXPECT_EQ(middle, whole.substr(5000, 100));
}

TEST_F(TreeTest, APipeHasOneReader) {
  auto first = tree_.open("trace_pipe", {});
  ASSERT_TRUE(first);
  EXPECT_EQ(tree_.open("trace_pipe", {}).error().errno_value(), EBUSY);
  EXPECT_EQ(tree_.open("per_cpu/cpu0/trace_pipe", {}).error().errno_value(), EBUSY);
  first->reset();
  EXPECT_TRUE(tree_.open("per_cpu/cpu0/trace_pipe", {}));
}

TEST_F(TreeTest, APipeEndsWhenTracingIsOff) {
  append("p:op open64 fd=%di:u32\n", "kprobe_events");
  echo("1", "events/kprobes/op/enable");
  auto pipe = tree_.open("trace_pipe", {});
  std::string text(4096, '\0');
  EXPECT_EQ((*pipe)->read(0, text, Waiting::Allowed).error().errno_value(), EAGAIN);
  EXPECT_FALSE((*pipe)->is_ready());
  hit("op", 1);
  EXPECT_GT(*(*pipe)->read(0, text, Waiting::Allowed), 0u);
  echo("0", "tracing_on");
  EXPECT_TRUE((*pipe)->is_ready());
  EXPECT_EQ(*(*pipe)->read(0, text, Waiting::Allowed), 0u);
  EXPECT_EQ((*pipe)->read(0, text, Waiting::Refused).error().errno_value(), EAGAIN);
}

// Readers have what is there, then the end, whether they may wait or not.
TEST_F(TreeTest, StreamsEndWhenNothingMoreComes) {
  append("p:op open64 fd=%di:u32\n", "kprobe_events");
  echo("1", "events/kprobes/op/enable");
  auto pipe = tree_.open("trace_pipe", {});
  auto late = tree_.open("per_cpu/cpu0/trace_pipe_raw", {});
  hit("op", 1);
  tracing_.records().finish();
  std::string text(4096, '\0');
  EXPECT_TRUE((*pipe)->is_ready());
  EXPECT_TRUE((*pipe)->awaits_end());
  EXPECT_GT(*(*pipe)->read(0, text, Waiting::Allowed), 0u);
  EXPECT_TRUE((*pipe)->awaits_end());
  EXPECT_EQ(*(*pipe)->read(0, text, Waiting::Refused), 0u);
  EXPECT_FALSE((*pipe)->awaits_end());
  EXPECT_TRUE((*late)->is_ready());
  EXPECT_EQ(*(*late)->read(0, text, Waiting::Allowed), 0u);
  EXPECT_FALSE((*late)->awaits_end());
  EXPECT_FALSE((*tree_.open("trace", {}))->awaits_end());
}

TEST_F(TreeTest, RawPagesHoldTheRecords) {
  append("p:op open64 fd=%di:u32\n", "kprobe_events");
  echo("1", "events/kprobes/op/enable");
  for (std::uint32_t i = 0; i < 1000; ++i) hit("op", i);
  auto raw = tree_.open("per_cpu/cpu0/trace_pipe_raw", {});
  std::string bytes(1 << 16, '\0');
  std::uint32_t next = 0;
  while (const auto count = (*raw)->read(0, bytes, Waiting::Refused)) {
    ASSERT_EQ(*count % 4096, 0u);
    for (std::size_t at = 0; at < *count; at += 4096) {
      auto page = layout::RingPageReader::open({reinterpret_cast<std::uint8_t*>(bytes.data()) + at, 4096});
      while (const auto event = page->next()) {
        std::uint32_t fd;
        std::memcpy(&fd, event->record.data() + 16, sizeof fd);
        EXPECT_EQ(fd, next++);
      }
    }
  }
  EXPECT_EQ(next, 1000u);
  EXPECT_THAT(cat("per_cpu/cpu0/stats"), HasSubstr("entries: 0\n"));
  EXPECT_THAT(cat("per_cpu/cpu0/stats"), HasSubstr("read events: 1000\n"));
}

TEST_F(TreeTest, OptionsChangeTheText) {
  append("p:op open64 fd=%di:u32\n", "kprobe_events");
  echo("1", "events/kprobes/op/enable");
  hit("op", 1);
  EXPECT_EQ(append("nocontext-info", "trace_options"), 0);
  EXPECT_EQ(cat("trace"), "# tracer: nop\n#\nop: (open64+0x0/0x100 [libc.so.6]) fd=1\n");
  EXPECT_EQ(echo("1", "options/sym-addr"), 0);
  EXPECT_THAT(cat("trace"), HasSubstr("op: (open64+0x0/0x100 [libc.so.6] <0000000000001000>) fd=1\n"));
  EXPECT_EQ(append("context-info", "trace_options"), 0);
  EXPECT_EQ(append("noirq-info", "trace_options"), 0);
  EXPECT_THAT(cat("trace"), HasSubstr("              me-7       [000]      1.000001: op: "));
  EXPECT_EQ(echo("1", "options/raw"), 0);
  EXPECT_THAT(cat("trace"), HasSubstr("\n7 0 1000001000 type: 20000\n"));
  EXPECT_EQ(echo("1", "options/stacktrace"), EINVAL);
}

TEST_F(TreeTest, MarkersAndSnapshots) {
  EXPECT_EQ(append("hello", "trace_marker"), 0);
  EXPECT_THAT(cat("trace"), HasSubstr("tracing_mark_write: hello\n"));
  EXPECT_THAT(cat("snapshot"), HasSubstr("# * Snapshot is freed *"));
  EXPECT_EQ(echo("1", "snapshot"), 0);
  EXPECT_THAT(cat("snapshot"), HasSubstr("tracing_mark_write: hello\n"));
  EXPECT_THAT(cat("trace"), Not(HasSubstr("hello")));
  EXPECT_EQ(echo("2", "snapshot"), 0);
  EXPECT_THAT(cat("snapshot"), HasSubstr("# * Snapshot is allocated *"));
  EXPECT_EQ(append(std::string("\x01\x00\x00\x00zz", 6), "trace_marker_raw"), 0);
  EXPECT_THAT(cat("trace"), HasSubstr("# 1 buf: 7a 7a"));
}

TEST_F(TreeTest, TheCounterClockCounts) {
  append("p:op open64 fd=%di:u32\n", "kprobe_events");
  echo("1", "events/kprobes/op/enable");
  hit("op", 1);
  EXPECT_EQ(echo("counter", "trace_clock"), 0);
  EXPECT_EQ(cat("trace_clock"), "local global [counter] mono boot\n");
  hit("op", 2);
  EXPECT_THAT(cat("trace"), HasSubstr("[000] .....            1: op: "));
}

}  // namespace
}  // namespace kevt::tree

// The tree as its users see it: echo, cat and ls over a fake target.
#include "tracefs-compat/tree/tree.h"
#include "compiler/layout/layout.h"
#include "runtime-user/engine/tracing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "runtime-user/runtime/fake/fake_runtime.h"
#include "tracefs-compat/tree/tracing_dir.h"

namespace kevt::tree {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class FakeTarget final : public engine::TracedTarget {
 public:
  FakeTarget() {
    env_.add_function({.name = "open64", .module = "libc.so.6", .address = 0x1000, .size = 0x100});
    env_.add_function({.name = "close", .module = "libc.so.6", .address = 0x2000, .size = 0x100});
  }
  std::string name() const override { return "a fake"; }
  runtime::FakeRuntime& runtime() override { return runtime_; }
  const target::TargetEnv& env() override { return env_; }
  const target::TargetEnv& known_env() const override { return env_; }
  bool is_alive() override { return true; }

 private:
  target::FixedTargetEnv env_;
  runtime::FakeRuntime runtime_;
};

class TreeTest : public testing::Test {
 protected:
  std::string cat(std::string_view path) {
    auto text = dir_->read(path);
    return text ? *text : "errno " + std::to_string(text.error().errno_value());
  }
  int errno_of(const Result<void>& done) { return done ? 0 : done.error().errno_value(); }
  int echo(std::string_view text, std::string_view path) {
    return errno_of(dir_->write(path, text, WriteMode::Replace));
  }
  int append(std::string_view text, std::string_view path) { return errno_of(dir_->write(path, text, WriteMode::Add)); }
  void hit(std::string_view name, std::uint32_t fd, std::uint32_t cpu = 0) {
    const auto* event = tracing_.events().find("kprobes", name);
    std::vector<std::uint8_t> bytes(12);
    bytes[1] = 0x10;
    std::memcpy(bytes.data() + 8, &fd, sizeof fd);
    now_ += 1000;
    target_.runtime().hit(event->id, {.bytes = bytes, .timestamp_ns = now_, .cpu = cpu, .pid = 7, .comm = "me"});
  }

  FakeTarget target_;
  engine::Tracing tracing_{{&target_}, {.cpus = 2}};
  Tree tree_{tracing_};
  std::unique_ptr<TracingDir> dir_ = tracing_dir(tree_);
  std::uint64_t now_ = 1'000'000'000;
};

// Everything there is can be listed, and every file opened and read, without any doing harm.
TEST_F(TreeTest, EveryFileCanBeRead) {
  append("p:op open64 fd=%di:u32\n", "kprobe_events");
  ASSERT_TRUE(dir_->make_directory("instances/one"));
  std::vector<std::string> waiting = {""};
  std::size_t files = 0;
  while (!waiting.empty()) {
    const std::string path = waiting.back();
    waiting.pop_back();
    auto entries = dir_->list(path);
    ASSERT_TRUE(entries) << path;
    for (const DirectoryEntry& entry : *entries) {
      const std::string child = path.empty() ? entry.name : path + "/" + entry.name;
      const auto attributes = tree_.attributes(child);
      ASSERT_TRUE(attributes) << child;
      EXPECT_EQ(attributes->is_directory, entry.is_directory) << child;
      if (entry.is_directory) {
        waiting.push_back(child);
        continue;
      }
      ++files;
      if ((attributes->mode & 0400) == 0) continue;
      auto text = dir_->read(child);
      EXPECT_TRUE(text || text.error().errno_value() == EAGAIN) << child;
      EXPECT_EQ(attributes->mode & 07, 0u) << child;
    }
  }
  EXPECT_GT(files, 150u);
}

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

TEST_F(TreeTest, KindsOfProbesThatNobodyRunsAreRefusedAndTheLogSaysSo) {
  for (const char* definition : {"f:fa open64\n", "t:tb sched_switch\n", "w:wc rw@0x1000:8\n"}) {
    ASSERT_EQ(echo("", "error_log"), 0);
    EXPECT_EQ(append(definition, "dynamic_events"), EOPNOTSUPP) << definition;
    EXPECT_THAT(cat("error_log"),
                HasSubstr("kevtrace: error: this form is not supported: `f`, `t` and `w` probes run in the kernel"))
        << definition;
  }
  EXPECT_EQ(cat("dynamic_events"), "");
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

// Whose hits are whose a real kernel tells (tests/guest/hooks).
TEST_F(TreeTest, ProfilesHaveALineForEachProbe) {
  append("p:a open64 fd=%di:u32\np:b close fd=%di:u32\np:a close fd=%di:u32\n", "kprobe_events");
  std::istringstream lines(cat("kprobe_profile"));
  std::vector<std::string> names;
  std::uint64_t hits = 0, misses = 0;
  for (std::string name; lines >> name >> hits >> misses;) names.push_back(name);
  EXPECT_THAT(names, testing::ElementsAre("a", "b", "a"));
}

TEST_F(TreeTest, ASyntheticEventStaysWhileAnEprobeStandsOnIt) {
  ASSERT_EQ(append("sz u64 lat\nsy u64 lat\n", "synthetic_events"), 0);
  ASSERT_EQ(append("e:ep/x synthetic.sy lat=$lat\n", "dynamic_events"), 0);
  EXPECT_EQ(append("!sy\n", "synthetic_events"), EBUSY);
  EXPECT_EQ(append("-:synthetic/sy\n", "dynamic_events"), EBUSY);
  EXPECT_EQ(echo("", "synthetic_events"), EBUSY);
  EXPECT_EQ(cat("synthetic_events"), "sy\tu64 lat\n") << "those before it are gone";
  EXPECT_EQ(append("-:ep/x\n-:sy\n", "dynamic_events"), 0);
  EXPECT_EQ(cat("dynamic_events"), "");
}

TEST_F(TreeTest, LongNamesAreTooLong) {
  const std::string folder = "instances/";
  EXPECT_TRUE(tree_.make_directory(folder + std::string(255, 'y')));
  const std::string name = folder + std::string(256, 'y');
  EXPECT_EQ(tree_.make_directory(name).error().errno_value(), ENAMETOOLONG);
  EXPECT_EQ(tree_.remove_directory(name).error().errno_value(), ENAMETOOLONG);
  EXPECT_EQ(tree_.attributes(name).error().errno_value(), ENAMETOOLONG);
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

TEST_F(TreeTest, MistakesHaveTheKernelsErrno) {
  EXPECT_EQ(append("p:bad^name open64\n", "kprobe_events"), EINVAL);
  EXPECT_THAT(cat("error_log"),
              HasSubstr("trace_kprobe: error: Event name must follow the same rules as C identifiers"));
  EXPECT_EQ(echo("\n", "error_log"), 0);
  EXPECT_EQ(cat("error_log"), "");
  EXPECT_EQ(append("-:nobody\n", "kprobe_events"), ENOENT);
  EXPECT_EQ(append("p:op open64\n", "kprobe_events"), 0);
  EXPECT_EQ(echo("2", "events/kprobes/op/enable"), EINVAL);
  EXPECT_EQ(echo("x", "tracing_on"), EINVAL);
  EXPECT_EQ(echo("0", "buffer_size_kb"), EINVAL);
  EXPECT_EQ(echo("sundial", "trace_clock"), EINVAL);
  EXPECT_EQ(append("no:such", "set_event"), EINVAL);
  EXPECT_EQ(append("function", "current_tracer"), EINVAL);
  EXPECT_EQ(append("nosuch", "trace_options"), EINVAL);
  EXPECT_EQ(echo("1", "available_events"), EINVAL);
  EXPECT_EQ(cat("nosuch"), "errno 2");
  EXPECT_EQ(cat("events/kprobes"), "errno 21");
  EXPECT_EQ(dir_->make_directory("events/mine").error().errno_value(), EPERM);
}

TEST_F(TreeTest, FiltersAndTriggersReadBack) {
  append("p:op open64 fd=%di:u32\n", "kprobe_events");
  const std::string op = "events/kprobes/op/";
  EXPECT_EQ(cat(op + "filter"), "none\n");
  EXPECT_EQ(echo("fd > 3", op + "filter"), 0);
  EXPECT_EQ(cat(op + "filter"), "fd > 3\n");
  EXPECT_EQ(echo("fd >", op + "filter"), EINVAL);
  EXPECT_THAT(cat(op + "filter"), StartsWith("fd >\n"));
  EXPECT_THAT(cat(op + "filter"), HasSubstr("parse_error: "));
  EXPECT_EQ(echo("0", op + "filter"), 0);
  EXPECT_EQ(cat(op + "filter"), "none\n");
  EXPECT_EQ(append("traceoff:3 if fd == 4", op + "trigger"), 0);
  EXPECT_EQ(cat(op + "trigger"), "traceoff:count=3 if fd == 4\n");
  EXPECT_EQ(cat(op + "enable"), "0*\n");
  EXPECT_EQ(append("traceon", op + "trigger"), EEXIST);
  EXPECT_EQ(echo("1", op + "enable"), 0);
  EXPECT_EQ(cat(op + "enable"), "1*\n");
  EXPECT_EQ(append("!traceoff", op + "trigger"), 0);
  EXPECT_EQ(cat(op + "enable"), "1\n");
  EXPECT_EQ(append("hist:keys=fd", op + "trigger"), 0);
  EXPECT_THAT(cat(op + "hist"), StartsWith("# event histogram\n#\n# trigger info: hist:keys=fd:vals=hitcount"));
  EXPECT_THAT(cat("events/ftrace/print/hist"), "");
}

TEST_F(TreeTest, SetEventTakesOneWordAWrite) {
  append("p:a open64\np:b close\n", "kprobe_events");
  auto handle = tree_.open("set_event", {.reads = false, .writes = true, .truncates = false, .caller = {}});
  EXPECT_EQ(*(*handle)->write("kprobes:a kprobes:b\n", {}), 10u);
  EXPECT_EQ(*(*handle)->write(" a \n", {}), 3u) << "the blank behind the word is read, no other";
  EXPECT_EQ(*(*handle)->write(" \n", {}), 2u);
  for (const char* nothing : {"!", "! ", "!\n", "! a"})
    EXPECT_EQ((*handle)->write(nothing, {}).error().errno_value(), EINVAL) << nothing;
  EXPECT_EQ(cat("set_event"), "kprobes:a\n");
  EXPECT_EQ(append("*:b !a\n", "set_event"), 0);
  EXPECT_EQ(cat("set_event"), "kprobes:b\n");
  EXPECT_EQ(cat("events/kprobes/enable"), "X\n");
  EXPECT_EQ(echo("\n", "set_event"), 0);
  EXPECT_EQ(cat("set_event"), "");
  EXPECT_EQ(cat("available_events"), "kprobes:b\nkprobes:a\n");
}

TEST_F(TreeTest, InstancesAreFolders) {
  append("p:op open64 fd=%di:u32\n", "kprobe_events");
  ASSERT_TRUE(dir_->make_directory("instances/one"));
  EXPECT_EQ(echo("1", "instances/one/events/kprobes/op/enable"), 0);
  hit("op", 5);
  EXPECT_THAT(cat("instances/one/trace"), HasSubstr("fd=5"));
  EXPECT_THAT(cat("trace"), Not(HasSubstr("fd=5")));
  EXPECT_FALSE(tree_.attributes("instances/one/kprobe_events"));
  EXPECT_FALSE(tree_.attributes("instances/one/available_events"));
  EXPECT_EQ(echo("7", "instances/one/tracing_max_latency"), 0);
  EXPECT_EQ(cat("instances/one/tracing_max_latency"), "7\n");
  EXPECT_EQ(cat("tracing_max_latency"), "0\n");
  EXPECT_FALSE(tree_.attributes("instances/one/instances"));
  {
    auto open = tree_.open("instances/one/trace", {});
    EXPECT_EQ(dir_->remove_directory("instances/one").error().errno_value(), EBUSY);
  }
  EXPECT_TRUE(dir_->remove_directory("instances/one"));
  EXPECT_FALSE(tree_.attributes("instances/one"));
}

TEST_F(TreeTest, NamesThatLastAreTold) {
  ASSERT_EQ(append("p:op libc:open64\n", "kprobe_events"), 0);
  ASSERT_TRUE(tree_.make_directory("instances/one"));
  for (const std::string place : {"", "instances/one/"}) {
    EXPECT_TRUE(tree_.attributes(place + "options/sym-addr")->lasts);
    EXPECT_TRUE(tree_.attributes(place + "events/ftrace/print")->keeps_names);
    EXPECT_TRUE(tree_.attributes(place + "per_cpu/cpu1")->keeps_names);
    EXPECT_FALSE(tree_.attributes(place + "events")->keeps_names);  // groups come
    EXPECT_TRUE(tree_.attributes(place + "events")->lasts);
    EXPECT_FALSE(tree_.attributes(place + "events/kprobes")->lasts);
    EXPECT_FALSE(tree_.attributes(place + "events/kprobes/op/id")->lasts);
  }
  EXPECT_TRUE(tree_.attributes("instances/one")->lasts);
  EXPECT_FALSE(tree_.attributes("instances")->keeps_names);
}

// A listing says of each name what asking for it would.
TEST_F(TreeTest, ListingsAndAttributesAgree) {
  ASSERT_EQ(append("p:op libc:open64\n", "kprobe_events"), 0);
  ASSERT_TRUE(tree_.make_directory("instances/one"));
  std::vector<std::string> folders = {""};
  std::size_t files = 0;
  while (!folders.empty()) {
    const std::string folder = folders.back();
    folders.pop_back();
    const auto list = tree_.list(folder);
    ASSERT_TRUE(list) << folder;
    for (const DirectoryEntry& entry : *list) {
      const std::string path = folder.empty() ? entry.name : folder + "/" + entry.name;
      const auto attributes = tree_.attributes(path);
      ASSERT_TRUE(attributes) << path;
      EXPECT_EQ(attributes->is_directory, entry.is_directory) << path;
      EXPECT_EQ(attributes->mode, entry.mode) << path;
      EXPECT_EQ(attributes->lasts, entry.lasts) << path;
      ++files;
      if (entry.is_directory) folders.push_back(path);
    }
  }
  EXPECT_GT(files, 200u);
}

TEST_F(TreeTest, PidsAndCpusGate) {
  append("p:op open64 fd=%di:u32\n", "kprobe_events");
  echo("1", "events/kprobes/op/enable");
  EXPECT_EQ(echo("8 9\n", "set_event_pid"), 0);
  EXPECT_EQ(cat("set_event_pid"), "8\n9\n");
  hit("op", 1);
  EXPECT_EQ(append("7", "set_event_pid"), 0);
  hit("op", 2);
  EXPECT_EQ(cat("tracing_cpumask"), "3\n");
  EXPECT_EQ(echo("1", "tracing_cpumask"), 0);
  hit("op", 3, 1);
  const std::string text = cat("trace");
  EXPECT_THAT(text, Not(HasSubstr("fd=1\n")));
  EXPECT_THAT(text, HasSubstr("fd=2\n"));
  EXPECT_THAT(text, Not(HasSubstr("fd=3\n")));
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

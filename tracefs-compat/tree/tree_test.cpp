// The tree as its users see it: files of events, definitions, filters, instances.
#include "tracefs-compat/tree/tree_testing.h"

#include <cerrno>
#include <sstream>

#include "compiler/layout/layout.h"

namespace kevt::tree {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

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

// Programs learn from README which forms they may write.
TEST(ReadmeTest, NamesTheFormsOfItsDialect) {
  const auto readme_of = [](const dialect::Dialect& forms) {
    FakeTarget target;
    engine::TracingOptions options;
    options.check.dialect = forms;
    engine::Tracing tracing({&target}, options);
    Tree tree(tracing);
    return tracing_dir(tree)->read("README").value();
  };
  const std::string old = readme_of(dialect::Dialect::extended(dialect::Kernel::Linux6_1));
  for (const char* const newer : {"common_stacktrace", "unsigned long[]", "nohitcount", "char, "})
    EXPECT_THAT(old, Not(HasSubstr(newer)));
  EXPECT_THAT(old, HasSubstr("fields: of the event, stacktrace,"));
  const std::string all = readme_of(dialect::Dialect::superset());
  for (const char* const text : {"can be any field, or the special string 'common_stacktrace'\n",
                                 "unsigned long[] stack", "\t               [:nohitcount]\n",
                                 "x8/16/32/64, char, string, symbol,\n", "symstr, <type>\\[<array-size>\\]\n"})
    EXPECT_THAT(all, HasSubstr(text));
}

}  // namespace
}  // namespace kevt::tree

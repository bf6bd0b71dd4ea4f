#include "compiler/target/process/perf_map.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace kevt::target {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> parsed(std::string_view text) {
  std::vector<std::string> texts;
  for (const PerfMapEntry& entry : parse_perf_map(text))
    texts.push_back(fmt::format("{:x}+{:x} {}", entry.start.value, entry.size, entry.name));
  return texts;
}

TEST(PerfMap, EntriesAreSortedAndLaterLinesCount) {
  EXPECT_THAT(parsed("2000 10 b\n0x1000 0x20 a with blanks\n"), ElementsAre("1000+20 a with blanks", "2000+10 b"));
  EXPECT_THAT(parsed("1000 20 old\n1000 20 new\n"), ElementsAre("1000+20 new"));
  EXPECT_THAT(parsed("1000 10 a\n1010 10 b\n1020 10 c\n1008 10 over both\n"),
              ElementsAre("1008+10 over both", "1020+10 c"));
  EXPECT_THAT(parsed("1000 100 large\n1010 10 inside\n"), ElementsAre("1010+10 inside"));
}

TEST(PerfMap, WhatIsNoEntryIsLeftOut) {
  EXPECT_THAT(parsed(""), IsEmpty());
  EXPECT_THAT(parsed("1000 10 still being writt"), IsEmpty());
  EXPECT_THAT(parsed("1000 0 empty\n1000 10 \n1000 10\n-1 10 a\nzz 10 a\n1000 zz a\n\n 1000 10 a\n"), IsEmpty());
  EXPECT_THAT(parsed("ffffffffffffffff 10 a\n1000 ffffffffffffffff a\n7ffffffff000 2000 a\n11112222333344445 1 a\n"),
              IsEmpty());
  EXPECT_THAT(parsed(std::string("1000 10 a\0b\n", 12)), IsEmpty());
  EXPECT_THAT(parsed("1000 10 " + std::string(5000, 'x') + "\n2000 10 b\n"), ElementsAre("2000+10 b"));
}

TEST(PerfMap, NamesThatADefinitionMayHave) {
  for (const auto& [line, name] : std::vector<std::pair<std::string, std::string>>{
           {"fib", "fib"},
           {"LazyCompile:*fib /app/a.js:1:13", "fib"},
           {"LazyCompile:~fib /app/a.js:1:13", "fib"},
           {"JS:^get a.js:1:2", "get"},
           {"Function:~Reader.next /app/b.js:9:9", "Reader.next"},
           {"py::fib:/app/a.py", "fib"},
           {"py::Tree.walk:/app/a.py", "Tree.walk"},
           {"int Main.fib(int)", "Main.fib"},
           {"java.lang.String java.lang.String.concat(java.lang.String)", "java.lang.String.concat"},
           {"LMain;::fib", "Main::fib"},
           {"Lorg/app/Main;::fib", "org.app.Main::fib"},
           {"Foo::bar", "Foo::bar"},
           {":", ":"},
           {"a:", "a:"},
           {"py::", ""}})
    EXPECT_EQ(jit_function_name(line), name) << line;
  EXPECT_EQ(jit_identity("LazyCompile:*fib /app/a.js:1:13"), jit_identity("LazyCompile:~fib /app/a.js:1:13"));
  EXPECT_NE(jit_identity("LazyCompile:*fib /app/a.js:1:13"), jit_identity("LazyCompile:*fib /app/b.js:1:13"));
}

TEST(JitShownName, IsAPlaceWhereThereIsNoName) {
  EXPECT_EQ(jit_shown_name("LazyCompile:*fib /app/a.js:1:13"), "fib");
  EXPECT_EQ(jit_shown_name("LazyCompile:~ /app/a.js:6:23"), "a.js:6:23");
  EXPECT_EQ(jit_shown_name("JS:^ node:internal/timers:504:25"), "timers:504:25");
  EXPECT_EQ(jit_shown_name("py::"), "py::");
}

class OwnMap : public testing::Test {
 protected:
  ~OwnMap() override { std::filesystem::remove(path_); }
  void write(const std::string& text) { std::ofstream(path_) << text; }

  std::string path_ = fmt::format("/tmp/perf-{}.map", ::getpid());
};

TEST_F(OwnMap, IsReadAndItsVersionChangesWithIt) {
  EXPECT_EQ(perf_map_version(::getpid()), std::nullopt);
  const auto none = read_perf_map(::getpid());
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  write("1000 10 a\n");
  const auto map = read_perf_map(::getpid());
  ASSERT_TRUE(map && *map);
  EXPECT_EQ((*map)->text, "1000 10 a\n");
  EXPECT_EQ(perf_map_version(::getpid()), (*map)->version);
  write("1000 10 a\n2000 10 b\n");
  EXPECT_NE(perf_map_version(::getpid()), (*map)->version);
}

TEST_F(OwnMap, OfAnotherUserIsNotBelieved) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a file of another user";
  write("1000 10 a\n");
  ASSERT_EQ(::chown(path_.c_str(), 65534, 65534), 0);
  const auto map = read_perf_map(::getpid());
  ASSERT_FALSE(map);
  EXPECT_THAT(map.error().message(), HasSubstr("it belongs to user 65534, the process to user 0"));
}

TEST_F(OwnMap, WhatIsNoFileIsRefused) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_FALSE(read_perf_map(::getpid()));  // and nothing waits for a writer
  EXPECT_EQ(perf_map_version(::getpid()), std::nullopt);
}

}  // namespace
}  // namespace kevt::target

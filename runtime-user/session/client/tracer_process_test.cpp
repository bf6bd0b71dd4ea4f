// A shell script stands for kevtrace: what it says decides, and how it ends.
#include "runtime-user/session/client/tracer_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace kevt::session {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

class TracerProcessTest : public testing::Test {
 protected:
  TracerProcessTest() : folder_(testing::TempDir() + "/tracer-" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~TracerProcessTest() override { std::filesystem::remove_all(folder_); }

  // In the script, $2 is the directory.
  std::unique_ptr<TracerProcess> start(const std::string& script, const TracerRequest& request = {.command = {"x"}}) {
    const std::string path = folder_ + "/kevtrace";
    std::ofstream(path) << "#!/bin/sh\n" << script;
    ::chmod(path.c_str(), 0755);
    auto started = TracerProcess::start(path, request);
    EXPECT_TRUE(started) << started.error().message();
    return started ? std::move(*started) : nullptr;
  }
  // All that is told until `enough`, or for ten seconds.
  template <class Enough>
  TracerProcess::News look(TracerProcess& tracer, Enough enough) {
    TracerProcess::News all;
    for (int i = 0; i < 2000; ++i) {
      TracerProcess::News news = tracer.look();
      all.lines.insert(all.lines.end(), news.lines.begin(), news.lines.end());
      all.is_mounted |= news.is_mounted;
      all.programs_ended |= news.programs_ended;
      if (news.ended) all.ended = news.ended;
      if (enough(all)) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return all;
  }
  static bool has_ended(const TracerProcess::News& news) { return news.ended.has_value(); }

  std::string folder_;
};

TEST_F(TracerProcessTest, ItsWordsAreTheRequest) {
  const auto words = [&](const TracerRequest& request) {
    auto tracer = start("shift 2; for i; do echo \"$i\"; done", request);
    return look(*tracer, has_ended).lines;
  };
  EXPECT_THAT(words({.command = {"prog", "a b", "--pid"}}), ElementsAre("--keep", "--", "prog", "a b", "--pid"));
  EXPECT_THAT(words({.pids = {7, 8}, .follows = true}), ElementsAre("--pid", "7,8", "--follow-forks"));
  EXPECT_THAT(words({.runtime = "bpf", .follows = true}), ElementsAre("--runtime", "bpf"));
  EXPECT_THAT(words({.pids = {7}, .with_kernel = "kmod"}), ElementsAre("--pid", "7", "--with-kernel=kmod"));
  EXPECT_THAT(words({.runtime = "bpf", .with_kernel = "bpf"}), ElementsAre("--runtime", "bpf"));
  EXPECT_THAT(words({.pids = {7}, .script = "s.kevo", .is_unsafe = true}),
              ElementsAre("--pid", "7", "-p", "s.kevo", "--unsafe"));
}

TEST_F(TracerProcessTest, MountedOnceAndEndedWhenTheLastProgramIs) {
  auto tracer = start(
      "say() { echo \"kevtrace: $1\"; }\n"
      "say \"mounted on $2: process 41 (a)\"; say \"mounted on $2: process 42 (b)\"\n"
      "say \"process 41 (a) has ended; $2 stays until Ctrl-C or umount\"\n"
      "until [ -e \"$0.go\" ]; do sleep 0.01; done\n"
      "say \"process 42 (b) has ended; $2 stays until Ctrl-C or umount\"\n"
      "say \"all that is traced has ended; $2 stays until Ctrl-C or umount\"\nprintf 'no line end'; exit 3",
      {.pids = {41, 42}});
  const auto first = look(*tracer, [](const auto& news) { return news.lines.size() >= 3; });
  EXPECT_TRUE(first.is_mounted);
  EXPECT_FALSE(first.programs_ended);
  EXPECT_EQ(tracer->traced_pid(), 41);
  std::ofstream(folder_ + "/kevtrace.go") << "";
  const auto last = look(*tracer, has_ended);
  EXPECT_FALSE(last.is_mounted);
  EXPECT_TRUE(last.programs_ended);
  EXPECT_EQ(last.lines.back(), "no line end");
  EXPECT_EQ(last.ended, "kevtrace mount has ended with status 3");
  EXPECT_FALSE(tracer->is_running());
}

TEST_F(TracerProcessTest, WhatAProgramSaysIsNotTheTracersWord) {
  auto tracer = start(
      "echo 'kevtrace: mounted on /tmp/other/tracing: process 1 (init)'\n"
      "echo 'process 1 (init) has ended; /tmp stays until Ctrl-C or umount'\necho it has ended");
  const auto news = look(*tracer, has_ended);
  EXPECT_FALSE(news.is_mounted || news.programs_ended);
  EXPECT_THAT(news.lines, Contains("it has ended"));
  EXPECT_EQ(tracer->traced_pid(), 0);
}

TEST_F(TracerProcessTest, TheKernelHasNoProcess) {
  auto tracer = start("echo \"kevtrace: mounted on $2: the kernel\"", {.runtime = "bpf"});
  const auto news = look(*tracer, has_ended);
  EXPECT_TRUE(news.is_mounted);
  EXPECT_EQ(tracer->traced_pid(), 0);
}

TEST_F(TracerProcessTest, WhoDoesNotEndIsKilled) {
  auto tracer = start("trap '' TERM; echo ready; while :; do sleep 0.01; done");
  look(*tracer, [](const auto& news) { return !news.lines.empty(); });
  tracer->finish(std::chrono::milliseconds(50));
  EXPECT_FALSE(tracer->is_running());
  EXPECT_FALSE(tracer->look().ended);
}

TEST_F(TracerProcessTest, NothingIsLeft) {
  std::string directory;
  {
    auto tracer = start("sleep 60");
    directory = tracer->directory();
    std::filesystem::create_directory(directory);
    EXPECT_TRUE(std::filesystem::exists(directory + "/../output"));
  }
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(directory).parent_path()));
  const auto none = TracerProcess::start(folder_ + "/nothing", {.command = {"x"}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().errno_value(), ENOENT);
}

TEST_F(TracerProcessTest, FoldersOfKilledAskersAreRemovedWhenTheyAreOld) {
  const auto make = [&](const std::string& name, time_t age) {
    const std::string path = folder_ + "/" + name;
    std::filesystem::create_directories(path + "/tracing");
    std::ofstream(path + "/output") << "";
    const timespec then{.tv_sec = time(nullptr) - age, .tv_nsec = 0};
    const timespec times[] = {then, then};
    ::utimensat(AT_FDCWD, path.c_str(), times, 0);
    return path;
  };
  const std::string old = make("kevtrace-client-aaaaaa", 3600), fresh = make("kevtrace-client-bbbbbb", 5),
                    theirs = make("other-client-cccccc", 3600), more = folder_ + "/kevtrace-client-dddddd";
  std::filesystem::create_directories(more);
  std::ofstream(more + "/kept") << "";
  make("kevtrace-client-dddddd", 3600);
  TracerProcess::remove_abandoned(folder_);
  EXPECT_FALSE(std::filesystem::exists(old));
  EXPECT_TRUE(std::filesystem::exists(fresh + "/output"));
  EXPECT_TRUE(std::filesystem::exists(theirs + "/output"));
  EXPECT_TRUE(std::filesystem::exists(more + "/kept"));  // not what such a folder has
}

}  // namespace
}  // namespace kevt::session

#include "compiler/target/elf/linked_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace kevt::target {
namespace {

using testing::Contains;
using testing::EndsWith;
using testing::IsEmpty;

class LinkedFiles : public testing::Test {
 protected:
  LinkedFiles() {
    char name[] = "/tmp/kevt-linked-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~LinkedFiles() override { std::filesystem::remove_all(folder_); }
  std::string script(const std::string& name, const std::string& text) const {
    const std::string path = folder_ + '/' + name;
    std::ofstream(path) << text;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  std::string folder_;
};

TEST_F(LinkedFiles, OfAProgramItselfFirst) {
  const std::string self = std::filesystem::canonical("/proc/self/exe");
  const auto files = linked_files(self);
  ASSERT_FALSE(files.empty());
  EXPECT_EQ(files.front(), self);
  EXPECT_THAT(files, Contains(EndsWith("libc.so.6")));
  EXPECT_THAT(files, Contains(EndsWith("libstdc++.so.6")));
  EXPECT_EQ(std::ranges::count_if(files, [](const std::string& one) { return one.ends_with("/libc.so.6"); }), 1)
      << "every library needs it";
}

TEST_F(LinkedFiles, OfAScriptThoseOfItsInterpreter) {
  const auto sh = linked_files("/bin/sh");
  EXPECT_EQ(linked_files(script("one", "#!/bin/sh\nexit\n")), sh);
  EXPECT_EQ(linked_files(script("two", "#! /usr/bin/env sh\n")), sh);
  EXPECT_EQ(linked_files(script("five", "#!/usr/bin/env -S sh -e\n")), sh);
  EXPECT_EQ(linked_files(script("three", "#!" + script("four", "#!/bin/sh -e"))), sh);
}

TEST_F(LinkedFiles, OfAnythingElseNone) {
  EXPECT_THAT(linked_files("/nosuch"), IsEmpty());
  EXPECT_THAT(linked_files("/tmp"), IsEmpty());
  EXPECT_THAT(linked_files(""), IsEmpty());
  EXPECT_THAT(linked_files(script("text", "hello")), IsEmpty());
  EXPECT_THAT(linked_files(script("odd", "#!")), IsEmpty());
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(linked_files(pipe), IsEmpty());
  const std::string itself = folder_ + "/itself";
  EXPECT_THAT(linked_files(script("itself", "#!" + itself + "\n")), IsEmpty());
}

TEST_F(LinkedFiles, AProgramIsFoundAsAShellFindsIt) {
  const std::string before = ::getenv("PATH");
  script("kevt-odd-name", "#!/bin/sh");
  ::setenv("PATH", (":/nosuch:" + folder_ + ":/bin").c_str(), 1);
  EXPECT_EQ(program_path("kevt-odd-name"), folder_ + "/kevt-odd-name");
  EXPECT_EQ(program_path("./here"), "./here");
  EXPECT_EQ(program_path("kevt-none"), "");
  EXPECT_EQ(program_path(""), "");
  ::setenv("PATH", before.c_str(), 1);
}

}  // namespace
}  // namespace kevt::target

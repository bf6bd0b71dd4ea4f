// One file is read once; what was written to since is another file.
#include "runtime-user/runtime/inproc/code/probed_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace kevt::inproc {
namespace {

class ProbedFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "probed-files-" + std::to_string(getpid());
    std::filesystem::copy_file("/proc/self/exe", path_, std::filesystem::copy_options::overwrite_existing);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::string path_;
  ProbedFiles files_;
};

TEST_F(ProbedFilesTest, AFileIsReadOnce) {
  const auto first = files_.open(path_), second = files_.open(path_);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
  const auto linked = files_.open("/proc/self/root" + path_);
  ASSERT_TRUE(linked);
  EXPECT_EQ(*first, *linked) << "by another name";
}

TEST_F(ProbedFilesTest, WhatWasWrittenSinceIsAnotherFile) {
  const auto first = files_.open(path_);
  ASSERT_TRUE(first);
  std::ofstream(path_, std::ios::app) << "more";
  const auto second = files_.open(path_);
  ASSERT_TRUE(second);
  EXPECT_NE(*first, *second);
}

TEST_F(ProbedFilesTest, WhatIsNoProgramIsAnErrorEachTime) {
  std::ofstream(path_, std::ios::trunc) << "text";
  EXPECT_FALSE(files_.open(path_));
  EXPECT_FALSE(files_.open(path_));
  EXPECT_FALSE(files_.open(path_ + "-nowhere"));
}

// Sessions keep what they use; the others may go.
TEST_F(ProbedFilesTest, ManyFilesAreNotAllKept) {
  const auto first = files_.open(path_);
  ASSERT_TRUE(first);
  const std::weak_ptr<ProbedFile> kept = *first;
  for (int i = 0; i < 70; ++i) {
    const std::string other = path_ + "-" + std::to_string(i);
    std::filesystem::copy_file(path_, other, std::filesystem::copy_options::overwrite_existing);
    EXPECT_TRUE(files_.open(other));
    std::filesystem::remove(other);
  }
  EXPECT_EQ(kept.use_count(), 1);
}

}  // namespace
}  // namespace kevt::inproc

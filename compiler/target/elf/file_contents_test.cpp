#include "compiler/target/elf/file_contents.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "compiler/target/elf/checked_bytes.h"

namespace kevt::target {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kBlock = 1 << 14;
constexpr std::uint64_t kTebibyte = std::uint64_t{1} << 40;

class Contents : public testing::Test {
 protected:
  Contents() {
    char name[] = "/tmp/kevt-contents-XXXXXX";
    folder_ = mkdtemp(name);
    path_ = folder_ + "/file";
  }
  ~Contents() override { std::filesystem::remove_all(folder_); }

  void write(std::uint64_t offset, const std::string& text) const {
    const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_EQ(::pwrite(file, text.data(), text.size(), static_cast<off_t>(offset)), static_cast<ssize_t>(text.size()));
    ::close(file);
  }
  // Another time of change than it had, whatever the clock's tick is.
  void touch() const {
    const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, {.tv_sec = 1000, .tv_nsec = 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path_.c_str(), times, 0), 0);
  }
  bool make_long(std::uint64_t bytes) const { return ::truncate(path_.c_str(), static_cast<off_t>(bytes)) == 0; }
  std::string text(const FileContents& contents, std::uint64_t offset, std::uint64_t length) const {
    const auto bytes = contents.bytes().subspan(offset, length);
    return {bytes.begin(), bytes.end()};
  }

  std::string folder_, path_;
};

TEST_F(Contents, AreReadWhereTheyAreAskedFor) {
  write(0, std::string(kBlock, 'a') + std::string(kBlock, 'b') + "end");
  const auto contents = FileContents::open(path_);
  ASSERT_TRUE(contents) << contents.error().message();
  EXPECT_EQ((*contents)->bytes().size(), 2 * kBlock + 3);
  EXPECT_TRUE((*contents)->want(kBlock - 1, 1));
  EXPECT_EQ(text(**contents, 0, 2), "aa");
  EXPECT_EQ(text(**contents, kBlock, 1), std::string(1, '\0'));  // nobody asked
  EXPECT_TRUE((*contents)->want(kBlock - 1, kBlock + 4));
  EXPECT_EQ(text(**contents, 2 * kBlock - 1, 4), "bend");
  EXPECT_FALSE((*contents)->want(2 * kBlock, 4));
  EXPECT_FALSE((*contents)->want(~std::uint64_t{0}, 2));
  EXPECT_FALSE((*contents)->problem());
}

TEST_F(Contents, MayBeEmpty) {
  write(0, "");
  const auto contents = FileContents::open(path_);
  ASSERT_TRUE(contents);
  EXPECT_TRUE((*contents)->bytes().empty());
  EXPECT_FALSE((*contents)->want(0, 1));
}

TEST_F(Contents, StayWhenTheFileShrinks) {
  write(0, std::string(4 * kBlock, 'a'));
  const auto contents = FileContents::open(path_);
  ASSERT_TRUE((*contents)->want(0, 1));
  ASSERT_TRUE(make_long(10));
  EXPECT_EQ(text(**contents, kBlock - 1, 1), "a");
  EXPECT_FALSE((*contents)->want(3 * kBlock, 1));
  ASSERT_TRUE((*contents)->problem());
  EXPECT_THAT((*contents)->problem()->message(), HasSubstr("file` changed while it was read"));
  EXPECT_FALSE((*contents)->want(kBlock, 1));
  EXPECT_FALSE(CheckedBytes(**contents).read<std::uint64_t>(kBlock));
}

TEST_F(Contents, OfTwoVersionsAreNotMixed) {
  write(0, std::string(4 * kBlock, 'a'));
  const auto contents = FileContents::open(path_);
  ASSERT_TRUE((*contents)->want(0, 1));
  write(0, std::string(4 * kBlock, 'b'));
  touch();
  EXPECT_FALSE((*contents)->want(kBlock, 1));
  EXPECT_THAT((*contents)->problem()->message(), HasSubstr("changed"));
}

TEST_F(Contents, OfASparseFileCostWhatIsThere) {
  write(0, "head");
  write(kTebibyte, "middle");
  if (!make_long(4 * kTebibyte)) GTEST_SKIP() << "no sparse files here";
  const auto contents = FileContents::open(path_);
  ASSERT_TRUE(contents) << contents.error().message();
  const FileContents& all = **contents;
  EXPECT_LT(all.data_bytes(), 4 * kBlock);
  EXPECT_EQ(all.data_from(kBlock), kTebibyte / 4096 * 4096);
  EXPECT_LT(all.hole_from(0), kBlock);
  EXPECT_EQ(all.data_from(2 * kTebibyte), 4 * kTebibyte);
  EXPECT_EQ(all.data_bytes(kTebibyte / 2, kTebibyte / 4), 0u);
  EXPECT_GE(all.data_bytes(0, kTebibyte), 4u);
  rusage before = {}, after = {};
  getrusage(RUSAGE_SELF, &before);
  EXPECT_TRUE(all.want(0, kTebibyte / 64));
  EXPECT_TRUE(all.want(kTebibyte - 10, 20));
  EXPECT_TRUE(all.want(4 * kTebibyte - 1, 1));
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 4 << 10);  // KiB
  EXPECT_EQ(text(all, kTebibyte, 6), "middle");
  const CheckedBytes bytes(all);
  EXPECT_LT(bytes.unbroken().size(), kBlock);
  EXPECT_EQ(bytes.part(2 * kTebibyte, 100)->unbroken().size(), 0u);
  EXPECT_EQ(bytes.text(kTebibyte), "middle");
}

TEST_F(Contents, OfOneFileHaveALimit) {
  write(0, std::string(4 * kBlock, 'a'));
  const auto contents = FileContents::open(path_, {.read_bytes = 2 * kBlock, .open_files = 256});
  ASSERT_TRUE(contents);
  EXPECT_TRUE((*contents)->want(0, 2 * kBlock));
  EXPECT_FALSE((*contents)->want(2 * kBlock, 1));
  EXPECT_THAT((*contents)->problem()->message(), HasSubstr("too large"));
}

// Descriptors are few, and a target may map thousands of files.
TEST_F(Contents, AreReadAtOnceWhereTooManyFilesAreOpen) {
  write(0, std::string(4 * kBlock, 'a'));
  const auto contents = FileContents::open(path_, {.read_bytes = 8 * kBlock, .open_files = 0});
  ASSERT_TRUE(contents);
  ASSERT_TRUE(make_long(0));
  EXPECT_TRUE((*contents)->want(0, 4 * kBlock));
  EXPECT_EQ(text(**contents, 4 * kBlock - 1, 1), "a");
  EXPECT_FALSE(FileContents::open(folder_));
}

TEST_F(Contents, AreSharedWhileTheFileIsTheSame) {
  write(0, "text");
  const auto one = FileContents::open_shared(path_);
  ASSERT_TRUE(one);
  EXPECT_EQ(*FileContents::open_shared(path_), *one);
  touch();
  const auto changed = FileContents::open_shared(path_);
  ASSERT_TRUE(changed);
  EXPECT_NE(*changed, *one);
}

}  // namespace
}  // namespace kevt::target

// As root, files of another user can be made; without, those tests are skipped.
#include "common/output_place.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace kevt {
namespace {

constexpr uid_t kOther = 65534;

class OutputPlaceTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/kevt-output-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void make_shared() const { ASSERT_EQ(chmod(folder_.c_str(), 01777), 0); }
  static void put(const std::string& name, const std::string& text, mode_t mode = 0644) {
    std::ofstream(name) << text;
    ASSERT_EQ(chmod(name.c_str(), mode), 0);
  }
  static std::string text_of(const std::string& name) {
    std::ifstream file(name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static mode_t mode_of(const std::string& name) {
    struct stat status = {};
    EXPECT_EQ(lstat(name.c_str(), &status), 0) << name;
    return status.st_mode & 07777;
  }
  static void expect_writes(const std::string& name) {
    const auto place = open_output(name);
    ASSERT_TRUE(place) << place.error().message();
    EXPECT_EQ(write(place->file.get(), "new", 3), 3);
  }
  static void expect_refuses(const std::string& name, const std::string& why) {
    const auto place = open_output(name);
    ASSERT_FALSE(place) << name;
    EXPECT_NE(place.error().message().find(why), std::string::npos) << place.error().message();
  }
  static bool is_root() { return geteuid() == 0; }

  std::string folder_;
};

TEST_F(OutputPlaceTest, ANewFileIsForTheUserAlone) {
  umask(0);
  expect_writes(path("new"));
  umask(022);
  EXPECT_EQ(mode_of(path("new")), 0600u);
  EXPECT_EQ(text_of(path("new")), "new");
}

TEST_F(OutputPlaceTest, AnOldFileIsEmptiedAndForTheUserAlone) {
  put(path("old"), "what was there");
  expect_writes(path("old"));
  EXPECT_EQ(text_of(path("old")), "new");
  EXPECT_EQ(mode_of(path("old")), 0600u);
}

TEST_F(OutputPlaceTest, LinksOfTheUserAreFollowed) {
  make_shared();
  put(path("target"), "what was there");
  std::filesystem::create_symlink("target", path("one"));
  std::filesystem::create_symlink(path("one"), path("two"));
  std::filesystem::create_symlink("made", path("dangling"));
  expect_writes(path("two"));
  EXPECT_EQ(text_of(path("target")), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(path("two")));
  expect_writes(path("dangling"));
  EXPECT_EQ(text_of(path("made")), "new");
}

TEST_F(OutputPlaceTest, LinksThatLeadNowhereEnd) {
  std::filesystem::create_symlink("b", path("a"));
  std::filesystem::create_symlink("a", path("b"));
  expect_refuses(path("a"), "Too many levels of symbolic links");
}

TEST_F(OutputPlaceTest, WhatIsNoFileIsUsedAsItIs) {
  int pipe[2];
  ASSERT_EQ(pipe2(pipe, O_CLOEXEC), 0);
  const UniqueFd reader(pipe[0]), writer(pipe[1]);
  std::filesystem::create_symlink("/proc/self/fd/" + std::to_string(writer.get()), path("stdout"));
  for (const std::string& name : {std::string("/dev/null"), path("stdout")}) expect_writes(name);
  char bytes[8];
  EXPECT_EQ(read(reader.get(), bytes, sizeof bytes), 3);
  expect_refuses(folder_, "Is a directory");
  expect_refuses(folder_ + "/", "Is a directory");
  expect_refuses(path("none") + "/file", "No such file or directory");
  expect_refuses(path("none") + "/", "No such file or directory");
}

TEST_F(OutputPlaceTest, OnlyTheWritingEndOfAFifoIsOpened) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  const UniqueFd reader(open(path("fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  expect_writes(path("fifo"));
  char bytes[8];
  EXPECT_EQ(read(reader.get(), bytes, sizeof bytes), 3);
  EXPECT_EQ(read(reader.get(), bytes, sizeof bytes), 0) << "nobody writes any more";
}

TEST_F(OutputPlaceTest, WhatAnotherUserPlantedIsRefused) {
  if (!is_root()) GTEST_SKIP() << "makes files of another user";
  make_shared();
  put(path("secret"), "what was there");
  std::filesystem::create_symlink(path("secret"), path("link"));
  ASSERT_EQ(lchown(path("link").c_str(), kOther, kOther), 0);
  expect_refuses(path("link"), "a link of another user (uid 65534)");
  put(path("file"), "", 0666);
  ASSERT_EQ(chown(path("file").c_str(), kOther, kOther), 0);
  expect_refuses(path("file"), "a file of another user (uid 65534)");
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0666), 0);
  ASSERT_EQ(chown(path("fifo").c_str(), kOther, kOther), 0);
  expect_refuses(path("fifo"), "a file of another user (uid 65534)");
  EXPECT_EQ(text_of(path("secret")), "what was there");
  EXPECT_EQ(mode_of(path("secret")), 0644u);
}

TEST_F(OutputPlaceTest, ASecondNameOfAFileIsRefusedWhereOthersMayWrite) {
  put(path("own"), "what was there");
  std::filesystem::create_hard_link(path("own"), path("name"));
  expect_writes(path("name"));
  make_shared();
  expect_refuses(path("name"), "the file has other names");
}

TEST_F(OutputPlaceTest, InAFolderOfItsOwnerAllIsUsed) {
  if (!is_root()) GTEST_SKIP() << "makes files of another user";
  put(path("target"), "what was there");
  std::filesystem::create_symlink("target", path("link"));
  ASSERT_EQ(lchown(path("link").c_str(), kOther, kOther), 0);
  expect_writes(path("link"));
  EXPECT_EQ(text_of(path("target")), "new");
}

TEST_F(OutputPlaceTest, FoldersAreForTheUserAlone) {
  umask(0);
  auto folder = open_output_folder(path("folder/"));
  umask(022);
  ASSERT_TRUE(folder) << folder.error().message();
  EXPECT_EQ(mode_of(path("folder")), 0700u);
  ASSERT_TRUE(open_output_in(*folder, "file"));
  EXPECT_EQ(mode_of(path("folder/file")), 0600u);
  EXPECT_TRUE(open_output_folder(path("folder")));
  EXPECT_FALSE(open_output_folder(path("folder/file")));
  if (!is_root()) return;
  make_shared();
  ASSERT_EQ(chown(path("folder").c_str(), kOther, kOther), 0);
  EXPECT_FALSE(open_output_folder(path("folder")));
}

TEST_F(OutputPlaceTest, TemporaryNamesAreNew) {
  std::filesystem::create_symlink("elsewhere", path("out.flight"));
  const auto one = create_temporary(path("out"), ".flight"), two = create_temporary(path("out"), ".flight");
  ASSERT_TRUE(one && two);
  EXPECT_NE(one->name, two->name);
  EXPECT_TRUE(one->name.starts_with("out.") && one->name.ends_with(".flight")) << one->name;
  EXPECT_EQ(mode_of(path(one->name)), 0600u);
  EXPECT_FALSE(std::filesystem::exists(path("elsewhere")));
  const auto beside = create_temporary_beside(*one);
  ASSERT_TRUE(beside);
  EXPECT_TRUE(std::filesystem::exists(path(beside->name)));
}

}  // namespace
}  // namespace kevt

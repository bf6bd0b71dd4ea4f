#include "common/user_cache.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace kevt {
namespace {

namespace fs = std::filesystem;

class UserCacheTest : public testing::Test {
 protected:
  UserCacheTest() {
    std::string made = (fs::temp_directory_path() / "kevt_user_cache.XXXXXX").string();
    base_ = ::mkdtemp(made.data());
    folder_ = (base_ / "cache" / "kevtrace").string();
  }
  ~UserCacheTest() override { fs::remove_all(base_); }

  fs::path kept(const std::string& name) const { return fs::path(folder_) / (name + ".kept"); }

  fs::path base_;
  std::string folder_;
};

TEST_F(UserCacheTest, WhatWasKeptIsReadAgain) {
  EXPECT_EQ(read_cached(folder_, "one"), std::nullopt);
  const std::string bytes("a\0b", 3);
  write_cached(folder_, "one", bytes);
  EXPECT_EQ(read_cached(folder_, "one"), bytes);
  write_cached(folder_, "one", "");
  EXPECT_EQ(read_cached(folder_, "one"), "");
  struct stat status {};
  ASSERT_EQ(::stat(kept("one").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(UserCacheTest, DamagedOnesAreAsGoodAsNone) {
  write_cached(folder_, "one", "some bytes");
  const auto whole = fs::file_size(kept("one"));
  for (std::uintmax_t at = 0; at < whole; ++at) {
    write_cached(folder_, "one", "some bytes");
    std::fstream file(kept("one"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 1));
    file.close();
    EXPECT_EQ(read_cached(folder_, "one"), std::nullopt) << "byte " << at;
  }
  write_cached(folder_, "one", "some bytes");
  fs::resize_file(kept("one"), whole - 1);
  EXPECT_EQ(read_cached(folder_, "one"), std::nullopt);
  fs::resize_file(kept("one"), 3);
  EXPECT_EQ(read_cached(folder_, "one"), std::nullopt);
}

TEST_F(UserCacheTest, WhatOthersMayHaveWrittenIsNotRead) {
  write_cached(folder_, "one", "some bytes");
  ASSERT_EQ(::chmod(kept("one").c_str(), 0620), 0);
  EXPECT_EQ(read_cached(folder_, "one"), std::nullopt);
  ASSERT_EQ(::chmod(kept("one").c_str(), 0600), 0);
  EXPECT_EQ(read_cached(folder_, "one"), "some bytes");
  fs::rename(kept("one"), base_ / "elsewhere");
  fs::create_symlink(base_ / "elsewhere", kept("one"));
  EXPECT_EQ(read_cached(folder_, "one"), std::nullopt);
  fs::remove(kept("one"));
  ASSERT_EQ(::mkfifo(kept("one").c_str(), 0600), 0);
  EXPECT_EQ(read_cached(folder_, "one"), std::nullopt);  // and nothing waits for a writer
}

TEST_F(UserCacheTest, TheOldestGo) {
  for (int i = 0; i < 6; ++i) {
    write_cached(folder_, std::to_string(i), "bytes", 4);
    // Files written in one tick of the clock would have one time.
    if (fs::exists(kept(std::to_string(i))))
      fs::last_write_time(kept(std::to_string(i)), fs::file_time_type::clock::now() - std::chrono::hours(10 - i));
  }
  write_cached(folder_, "last", "bytes", 4);
  EXPECT_EQ(read_cached(folder_, "2"), std::nullopt);
  for (const char* name : {"3", "4", "5", "last"}) EXPECT_EQ(read_cached(folder_, name), "bytes") << name;
}

TEST_F(UserCacheTest, WhereNothingCanBeWrittenNothingIsKept) {
  std::ofstream(base_ / "cache") << "a file";
  write_cached(folder_, "one", "some bytes");
  EXPECT_EQ(read_cached(folder_, "one"), std::nullopt);
}

}  // namespace
}  // namespace kevt

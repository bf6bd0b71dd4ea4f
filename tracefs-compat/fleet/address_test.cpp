#include "tracefs-compat/fleet/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace kevt::fleet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(AddressTest, NamesServersDatabaseHostsAndRecording) {
  const auto full = parse_address("ch://a.example:9000,b.example/kev/web*/3f2a");
  ASSERT_TRUE(full);
  EXPECT_THAT(full->servers, ElementsAre("https://a.example:9000", "https://b.example:8443"));
  EXPECT_EQ(full->database, "kev");
  EXPECT_EQ(full->hosts, "web*");
  EXPECT_EQ(full->session, "3f2a");
  EXPECT_THAT(parse_address("ch+http://127.0.0.1/kev/")->servers, ElementsAre("http://127.0.0.1:8123"));
  EXPECT_THAT(parse_address("ch+http://[::1]:81/kev")->servers, ElementsAre("http://[::1]:81"));
  EXPECT_THAT(parse_address("ch://[fe80::1]/kev")->servers, ElementsAre("https://[fe80::1]:8443"));
}

TEST(AddressTest, SaysWhatIsWrong) {
  const auto why = [](const char* text) {
    const auto made = parse_address(text);
    return made ? std::string("it was taken") : made.error().message();
  };
  EXPECT_THAT(why("trace.dat"), HasSubstr("no address of a fleet"));
  EXPECT_THAT(why("ch://host"), HasSubstr("no database"));
  EXPECT_THAT(why("ch://host/"), HasSubstr("no database"));
  EXPECT_THAT(why("ch:///kev"), HasSubstr("names no server"));
  EXPECT_THAT(why("ch://host:0/kev"), HasSubstr("names no server"));
  EXPECT_THAT(why("ch://host:99999/kev"), HasSubstr("names no server"));
  EXPECT_THAT(why("ch://a:s3cret@b/kev"), HasSubstr("names no user"));
  EXPECT_THAT(why("ch://a:s3cret@b/kev"), testing::Not(HasSubstr("s3cret")));
  EXPECT_THAT(why("ch+http://127.0.0.1.5/kev"), HasSubstr("without TLS")) << "it is a name";
  EXPECT_THAT(why("ch://host/kev;DROP"), HasSubstr("letters, digits"));
  EXPECT_THAT(why("ch+http://example.org/kev"), HasSubstr("without TLS"));
  EXPECT_THAT(why("ch+http://127.0.0.1.example.org/kev"), HasSubstr("without TLS"));
}

class KeysTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("kevt_keys_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    setenv("KEVTRACE_FLEET", file("fleet.conf").c_str(), 1);
  }
  void TearDown() override {
    unsetenv("KEVTRACE_FLEET");
    std::filesystem::remove_all(folder_);
  }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    std::ofstream(file(name)) << text;
    chmod(file(name).c_str(), mode);
  }

  std::filesystem::path folder_;
};

TEST_F(KeysTest, AreReadFromTheFile) {
  write("password", "s3cret\n");
  write("fleet.conf",
        "# ours\nca /etc/ca.pem\ncert  /etc/a b.pem\nuser web1\n\npassword-file " + file("password") + "\n");
  const auto keys = read_keys();
  ASSERT_TRUE(keys) << keys.error().message();
  EXPECT_EQ(keys->ca, "/etc/ca.pem");
  EXPECT_EQ(keys->cert, "/etc/a b.pem");
  EXPECT_EQ(keys->user, "web1");
  EXPECT_EQ(keys->password, "s3cret");
}

TEST_F(KeysTest, RefusesWhatOthersCanReadAndWhatItDoesNotKnow) {
  EXPECT_THAT(read_keys().error().message(), HasSubstr("fleet.conf")) << "a file that is named must be there";
  write("password", "s3cret\n", 0644);
  write("fleet.conf", "password-file " + file("password") + "\n");
  EXPECT_THAT(read_keys().error().message(), HasSubstr("chmod 600"));
  write("fleet.conf", "password s3cret\n");
  EXPECT_THAT(read_keys().error().message(), HasSubstr("line 1"));
  EXPECT_EQ(read_keys().error().message().find("s3cret"), std::string::npos)
      << "it is no file, but it may be one's password";
}

TEST(ShardTest, IsTheSameForAllPrograms) {
  EXPECT_EQ(shard_of("web1", 1), 0u);
  EXPECT_EQ(shard_of("web1", 64), shard_of("web1", 64));
  EXPECT_EQ(shard_of("a", 1000), 0xaf63dc4c8601ec8cull % 1000) << "FNV-1a of `a`";
}

}  // namespace
}  // namespace kevt::fleet

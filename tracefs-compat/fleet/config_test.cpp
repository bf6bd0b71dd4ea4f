#include "tracefs-compat/fleet/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace kevt::fleet {
namespace {

using testing::HasSubstr;

class ConfigTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("kevt_config_" + std::to_string(getpid()));
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

TEST_F(ConfigTest, AreReadFromTheFile) {
  write("password", "s3cret\n");
  write("fleet.conf",
        "# ours\nca /etc/ca.pem\ncert  /etc/a b.pem\nuser web1\n\npassword-file " + file("password") + "\n");
  const auto config = read_config();
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->keys.ca, "/etc/ca.pem");
  EXPECT_EQ(config->keys.cert, "/etc/a b.pem");
  EXPECT_EQ(config->keys.user, "web1");
  EXPECT_EQ(config->keys.password, "s3cret");
}

TEST_F(ConfigTest, RefusesWhatOthersCanReadAndWhatItDoesNotKnow) {
  EXPECT_THAT(read_config().error().message(), HasSubstr("fleet.conf")) << "a file that is named must be there";
  write("password", "s3cret\n", 0644);
  write("fleet.conf", "password-file " + file("password") + "\n");
  EXPECT_THAT(read_config().error().message(), HasSubstr("chmod 600"));
  write("fleet.conf", "password s3cret\n");
  EXPECT_THAT(read_config().error().message(), HasSubstr("line 1"));
  EXPECT_EQ(read_config().error().message().find("s3cret"), std::string::npos)
      << "it is no file, but it may be one's password";
}

TEST_F(ConfigTest, HasLabelsAndKeysOfOrders) {
  write("orders.pub", "public");
  write("orders.key", "private");
  write("fleet.conf",
        "label role=web\nlabel zone=eu1\ntrust " + file("orders.pub") + "\nsign-key " + file("orders.key"));
  const auto config = read_config();
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(text_of(config->labels), "role=web,zone=eu1");
  EXPECT_EQ(read_trusted_keys(*config).value(), "public\n");
  EXPECT_EQ(read_sign_key(*config).value(), "private");
  EXPECT_THAT(read_trusted_keys(Config{}).error().message(), HasSubstr("nobody is obeyed"));
  EXPECT_THAT(read_sign_key(Config{}).error().message(), HasSubstr("no key to sign with"));
  write("fleet.conf", "label web\n");
  EXPECT_THAT(read_config().error().message(), HasSubstr("`web` is no label"));
}

TEST_F(ConfigTest, BelievesOnlyFilesThatOthersCannotWrite) {
  const std::string trust = "trust " + file("orders.pub") + "\nsign-key " + file("orders.key") + "\n";
  write("orders.pub", "public", 0664);
  write("orders.key", "private", 0640);
  write("fleet.conf", trust);
  const auto config = read_config();
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_THAT(read_trusted_keys(*config).error().message(), HasSubstr("orders.pub says whose orders are obeyed"));
  EXPECT_THAT(read_sign_key(*config).error().message(), HasSubstr("chmod 600"));
  write("orders.pub", "public", 0644);
  write("fleet.conf", trust, 0666);
  EXPECT_EQ(read_trusted_keys(*config).value_or(""), "public\n") << "what was read was written by nobody else";
  const auto open_to_all = read_config();
  ASSERT_TRUE(open_to_all);
  EXPECT_THAT(read_trusted_keys(*open_to_all).error().message(), HasSubstr("fleet.conf says whose orders are obeyed"));
}

}  // namespace
}  // namespace kevt::fleet

#include "common/regular_file.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace kevt {
namespace {

using testing::HasSubstr;

class RegularFile : public testing::Test {
 protected:
  RegularFile() {
    char name[] = "/tmp/kevt-regular-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~RegularFile() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

TEST_F(RegularFile, OpensFilesAndLinksToThem) {
  std::ofstream(path("file")) << "text";
  std::filesystem::create_symlink("file", path("link"));
  for (const char* name : {"file", "link"}) {
    const auto file = open_regular(path(name));
    ASSERT_TRUE(file) << file.error().message();
    char text[8] = {};
    EXPECT_EQ(::read(file->get(), text, sizeof text), 4);
    EXPECT_STREQ(text, "text");
  }
  EXPECT_EQ(open_regular(path("none")).error().errno_value(), ENOENT);
}

// A FIFO without a writer would never open.
TEST_F(RegularFile, RefusesEverythingElseAndNamesIt) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  std::strcpy(address.sun_path, path("socket").c_str());
  ASSERT_EQ(bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_THAT(open_regular(path("fifo")).error().message(), HasSubstr("is not a regular file: it is a FIFO"));
  EXPECT_THAT(open_regular(path("socket")).error().message(), HasSubstr("it is a socket"));
  EXPECT_THAT(open_regular(folder_).error().message(), HasSubstr("it is a directory"));
  EXPECT_THAT(open_regular("/dev/null").error().message(), HasSubstr("it is a device"));
  ::close(socket);
}

TEST_F(RegularFile, IsReadToItsEnd) {
  const std::string text(100'000, 'x');
  std::ofstream(path("long")) << text;
  const auto file = open_regular(path("long"));
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(read_to_end(file->get(), "long", text.size()).value(), text);
  EXPECT_EQ(read_to_end(file->get(), "long", 1).value(), "") << "it has been read";
  const auto again = open_regular(path("long"));
  EXPECT_EQ(read_to_end(again->get(), "long", text.size() - 1).error().errno_value(), EFBIG);
  EXPECT_EQ(read_to_end(-1, "long", 1).error().errno_value(), EBADF);
}

}  // namespace
}  // namespace kevt

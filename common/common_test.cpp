#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "common/addresses.h"
#include "common/error.h"
#include "common/unique_fd.h"

namespace kevt {
namespace {

TEST(Error, JoinsCausesInOrder) {
  errno = ENOENT;
  Error error = Error::from_errno("open /x").while_doing("reading symbols").while_doing("arming `p`");
  EXPECT_EQ(error.errno_value(), ENOENT);
  EXPECT_EQ(error.message(), "open /x: No such file or directory, while reading symbols, while arming `p`");
}

TEST(UniqueFd, ClosesOnce) {
  const int raw = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(raw, 0);
  {
    UniqueFd owner(raw);
    UniqueFd other = std::move(owner);
    EXPECT_FALSE(owner);  // NOLINT(bugprone-use-after-move): that is what is tested
    EXPECT_EQ(other.get(), raw);
  }
  EXPECT_EQ(::fcntl(raw, F_GETFD), -1);
  EXPECT_EQ(errno, EBADF);
}

TEST(Addresses, DifferenceIsSigned) {
  EXPECT_EQ(RemoteAddr{16} - RemoteAddr{32}, -16);
  EXPECT_LT(RemoteAddr{16}, RemoteAddr{16} + 1);
}

}  // namespace
}  // namespace kevt

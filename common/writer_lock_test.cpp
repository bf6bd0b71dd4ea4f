#include "common/writer_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/unique_fd.h"

namespace kevt {
namespace {

TEST(WriterLock, IsHeldUntilTheLastWriterEndsHoweverItEnds) {
  char name[] = "/tmp/kevt-writer-XXXXXX";
  UniqueFd file(mkstemp(name));
  const UniqueFd reader(open(name, O_RDONLY | O_CLOEXEC));
  const UniqueFd other(open(name, O_WRONLY | O_CLOEXEC));
  unlink(name);
  EXPECT_FALSE(has_writer_lock(reader.get()));
  ASSERT_TRUE(take_writer_lock(file.get()));
  EXPECT_TRUE(has_writer_lock(reader.get()));
  EXPECT_FALSE(take_writer_lock(other.get()));
  int ends[2] = {};
  ASSERT_EQ(pipe(ends), 0);
  const pid_t copy = fork();
  if (copy == 0) {
    char byte = 0;
    close(ends[1]);
    (void)!read(ends[0], &byte, 1);  // until the test says so
    kill(getpid(), SIGKILL);
  }
  file.reset();
  EXPECT_TRUE(has_writer_lock(reader.get()));
  close(ends[0]);
  close(ends[1]);
  int status = 0;
  ASSERT_EQ(waitpid(copy, &status, 0), copy);
  EXPECT_FALSE(has_writer_lock(reader.get()));
  EXPECT_TRUE(take_writer_lock(other.get()));
}

}  // namespace
}  // namespace kevt

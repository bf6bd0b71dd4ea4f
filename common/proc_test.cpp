#include "common/proc.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <stop_token>
#include <thread>

namespace kevt {
namespace {

TEST(Proc, NamesAreReadWhole) {
  char before[16];
  ASSERT_EQ(prctl(PR_GET_NAME, before), 0);
  ASSERT_EQ(prctl(PR_SET_NAME, "two\nlines\n"), 0);
  EXPECT_EQ(proc::comm(gettid()), "two\nlines\n");
  ASSERT_EQ(prctl(PR_SET_NAME, before), 0);
}

// Between the opening of a file in /proc and its reading the process may end: the read fails with ESRCH.
TEST(Proc, WhoeverEndsWhileItIsReadHasNoName) {
  constexpr int kChildren = 2000;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);  // a sanitizer makes forking slow
  std::atomic<pid_t> newest{getpid()};
  std::jthread reader([&newest](const std::stop_token& over) {
    while (!over.stop_requested()) {
      const pid_t asked = newest;
      (void)proc::comm(asked);
      (void)proc::status(asked, "Tgid");
      (void)proc::start_time(asked);
    }
  });
  for (int i = 0; i < kChildren && std::chrono::steady_clock::now() < deadline; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    ASSERT_GT(child, 0);
    newest = child;
    waitpid(child, nullptr, 0);
  }
  EXPECT_EQ(proc::comm(newest), "");
  EXPECT_EQ(proc::start_time(newest), 0u);
}

}  // namespace
}  // namespace kevt

#include "runtime-user/runtime/bpf/parked_events.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

namespace kevt::bpf {
namespace {

struct Pipe {
  Pipe() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    read = UniqueFd(ends[0]);
    write = UniqueFd(ends[1]);
  }
  // Nobody has its other end open.
  bool has_ended(int patience_ms) const {
    pollfd one = {.fd = read.get(), .events = POLLIN, .revents = 0};
    return poll(&one, 1, patience_ms) == 1 && (one.revents & POLLHUP) != 0;
  }
  ParkedEvents::Parked event(bool with_stacks = false) {
    ParkedEvents::Parked parked{.fds = {}, .with_stacks = with_stacks};
    parked.fds.push_back(std::move(write));
    return parked;
  }
  UniqueFd read, write;
};

constexpr int kDeadlineMs = 60'000;
constexpr std::chrono::hours kForever{24};

TEST(ParkedEvents, WhatIsTakenBackIsStillOpen) {
  Pipe pipe;
  ParkedEvents parked(kForever);
  parked.park(7, pipe.event(true));
  EXPECT_EQ(parked.size(), 1u);
  EXPECT_FALSE(pipe.has_ended(0));
  EXPECT_FALSE(parked.take(8));
  const auto taken = parked.take(7);
  ASSERT_TRUE(taken);
  EXPECT_TRUE(taken->with_stacks);
  EXPECT_EQ(taken->fds.size(), 1u);
  EXPECT_FALSE(pipe.has_ended(0));
  EXPECT_FALSE(parked.take(7));
  EXPECT_EQ(parked.size(), 0u);
}

TEST(ParkedEvents, WhatLiesLongEnoughIsClosed) {
  Pipe pipe;
  ParkedEvents parked(std::chrono::milliseconds(1));
  parked.park(7, pipe.event());
  EXPECT_TRUE(pipe.has_ended(kDeadlineMs));
  EXPECT_FALSE(parked.take(7));
}

TEST(ParkedEvents, TheEndClosesWhatIsLeft) {
  Pipe first, second;
  {
    ParkedEvents parked(kForever);
    parked.park(1, first.event());
    parked.park(2, second.event());
  }
  EXPECT_TRUE(first.has_ended(0));
  EXPECT_TRUE(second.has_ended(0));
}

}  // namespace
}  // namespace kevt::bpf

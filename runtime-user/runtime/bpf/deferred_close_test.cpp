#include "runtime-user/runtime/bpf/deferred_close.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
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
  OpenEvent event(bool with_stacks = false, std::shared_ptr<EventGroup> group = nullptr) {
    OpenEvent made{.group = std::move(group), .fds = {}, .with_stacks = with_stacks};
    made.fds.push_back(std::move(write));
    return made;
  }
  UniqueFd read, write;
};

constexpr int kDeadlineMs = 60'000;
constexpr std::chrono::hours kForever{24};

TEST(DeferredClose, WhatIsTakenBackIsStillOpen) {
  Pipe pipe;
  DeferredClose parked(kForever);
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

TEST(DeferredClose, WhatLiesLongEnoughIsClosed) {
  Pipe pipe;
  DeferredClose parked(std::chrono::milliseconds(1));
  parked.park(7, pipe.event());
  EXPECT_TRUE(pipe.has_ended(kDeadlineMs));
  EXPECT_FALSE(parked.take(7));
}

TEST(DeferredClose, TheEndClosesWhatIsLeft) {
  Pipe first, second;
  {
    DeferredClose parked(kForever);
    parked.park(1, first.event());
    parked.park(2, second.event());
  }
  EXPECT_TRUE(first.has_ended(0));
  EXPECT_TRUE(second.has_ended(0));
}

TEST(DeferredClose, ACopyOfTheProcessLetsGo) {
  Pipe event, copy_ends, copy_has_let_go;
  DeferredClose parked(kForever);
  parked.park(1, event.event());
  const pid_t copy = fork();
  if (copy == 0) {
    event.read = {};
    copy_ends.write = {};
    parked.let_go_in_copy();
    copy_has_let_go.write = {};
    char nothing;
    _exit(read(copy_ends.read.get(), &nothing, 1) == 0 ? 0 : 1);  // when the test ends it
  }
  copy_has_let_go.write = {};
  EXPECT_TRUE(copy_has_let_go.has_ended(kDeadlineMs));
  EXPECT_FALSE(event.has_ended(0)) << "it is parked here";
  EXPECT_TRUE(parked.take(1));
  EXPECT_TRUE(event.has_ended(0)) << "although the copy lives";
  copy_ends.write = {};
  int status = -1;
  EXPECT_EQ(waitpid(copy, &status, 0), copy);
  EXPECT_EQ(status, 0);
}

std::shared_ptr<EventGroup> group_of(Pipe& pipe) {
  std::vector<UniqueFd> leaders;
  leaders.push_back(std::move(pipe.write));
  return std::make_shared<EventGroup>(std::move(leaders));
}

TEST(DeferredClose, ALeaderIsClosedWithTheLastOfItsEvents) {
  Pipe leader, first, second;
  DeferredClose parked(kForever);
  auto group = group_of(leader);
  parked.park(1, first.event(false, group));
  parked.park(2, second.event(false, std::move(group)));
  EXPECT_TRUE(parked.take(1));  // and gone
  EXPECT_TRUE(first.has_ended(0));
  EXPECT_FALSE(leader.has_ended(0));
  EXPECT_TRUE(parked.take(2));
  EXPECT_TRUE(leader.has_ended(0));
}

TEST(DeferredClose, TheRestOfAGroupIsDisarmed) {
  Pipe leader, first, second, third;
  DeferredClose parked(kForever);
  const auto group = group_of(leader);
  parked.park(1, first.event(false, group));
  parked.park(2, second.event(false, group));
  parked.park(3, third.event());
  auto taken = parked.take(1);
  parked.disarm(*group);
  EXPECT_TRUE(taken->is_armed);
  EXPECT_FALSE(parked.take(2)->is_armed);
  EXPECT_TRUE(parked.take(3)->is_armed);
}

TEST(DeferredClose, NamesWhatItHolds) {
  Pipe first, second;
  DeferredClose parked(kForever);
  const std::vector<int> held = {first.write.get(), second.write.get()};
  parked.park(1, first.event());
  parked.park(2, second.event());
  std::vector<int> named;
  parked.add_descriptors(named);
  EXPECT_EQ(named, held);
}

}  // namespace
}  // namespace kevt::bpf

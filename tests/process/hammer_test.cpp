// Probes that come and go under 8 threads on 2 CPUs, none of which may notice.
//
// One test leaves all probes on and counts to the call; the other enables, disables, retires and
// installs again at random for KEVT_HAMMER_SECONDS (10). KEVT_SEED repeats its choices. In both each record
// is checked for its thread and values, and the accounting must be exact once the program has ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>

#include "tests/differential/test_seed.h"
#include "tests/process/traced_hammer.h"

namespace kevt::tests {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::uint64_t kTurnsWhileArmed = 20'000;
constexpr std::size_t kMostInstalled = 400;

std::vector<runtime::ProbeHandle> handles_of(const std::vector<HammerEvent>& events) {
  std::vector<runtime::ProbeHandle> handles;
  for (const HammerEvent& event : events) handles.push_back(event.probe);
  return handles;
}

void expect_exact(TracedHammer& hammer) {
  for (std::size_t i = 0; i < hammer.events().size(); ++i) {
    const HammerEvent& event = hammer.events()[i];
    const runtime::EventCounts c = hammer.runtime().counts(event.probe);
    EXPECT_EQ(c.attempts, c.recorded + c.filtered + c.lost + c.missed) << "event " << i;
    EXPECT_EQ(c.recorded, event.drained) << "event " << i;
    EXPECT_EQ(event.bad, 0u) << "event " << i << ": records of the wrong thread or with wrong values";
    EXPECT_EQ(c.faults, 0u) << "event " << i;
  }
}

void expect_program_right(TracedHammer& hammer, int wait_status) {
  EXPECT_TRUE(WIFEXITED(wait_status)) << "ended by signal " << WTERMSIG(wait_status);
  EXPECT_EQ(WEXITSTATUS(wait_status), 7);
  for (int i = 0; i < HAMMER_THREADS; ++i) EXPECT_EQ(hammer.page().wrong[i], 0u) << "thread " << i;
}

TEST(Hammer, EveryCallIsAHitWhileArmed) {
  auto hammer = TracedHammer::launch(kTurnsWhileArmed);
  ASSERT_TRUE(hammer);
  hammer->install_four();
  auto armed = hammer->runtime().arm(handles_of(hammer->events()));
  ASSERT_TRUE(armed.has_value()) << armed.error().message();
  EXPECT_EQ(hammer->runtime().arm_status(hammer->events()[0].probe).state, runtime::ArmState::Jump);
  EXPECT_EQ(hammer->runtime().arm_status(hammer->events()[2].probe).state, runtime::ArmState::Breakpoint);
  hammer->runtime().go();
  expect_program_right(*hammer, hammer->wait_for_end());
  EXPECT_EQ(hammer->calls(), kTurnsWhileArmed * HAMMER_THREADS);
  for (const HammerEvent& event : hammer->events()) {
    const runtime::EventCounts c = hammer->runtime().counts(event.probe);
    EXPECT_EQ(c.attempts, hammer->calls());
    EXPECT_EQ(c.missed, 0u);
  }
  expect_exact(*hammer);
}

// Does one thing at random to the probes of a running hammer.
class Meddler {
 public:
  Meddler(TracedHammer& hammer, std::uint64_t seed) : hammer_(hammer), random_(seed) {}

  void step() {
    const unsigned dice = pick(100);
    if (dice < 40) change(Change::Arm, false);
    if (dice >= 40 && dice < 78) change(Change::Disarm, false);
    if (dice >= 78 && dice < 86) change(Change::Retire, false);
    if (dice >= 86 && dice < 94 && live() < 16 && hammer_.events().size() < kMostInstalled) hammer_.install_four();
    if (dice >= 94) all_off();
    ++steps_;
  }
  void retire_all() { change(Change::Retire, true); }

  std::uint64_t steps() const { return steps_; }
  std::uint64_t changes() const { return changes_; }

 private:
  enum class Change : std::uint8_t { Arm, Disarm, Retire };

  unsigned pick(unsigned below) { return std::uniform_int_distribution<unsigned>(0, below - 1)(random_); }
  std::size_t live() const {
    return static_cast<std::size_t>(std::ranges::count(hammer_.events(), false, &HammerEvent::retired));
  }

  bool may(const HammerEvent& event, Change what) const {
    return !event.retired && (what == Change::Retire || event.armed == (what == Change::Disarm));
  }

  void change(Change what, bool everything) {
    std::vector<runtime::ProbeHandle> chosen;
    for (HammerEvent& event : hammer_.events()) {
      if (!may(event, what) || (!everything && pick(2))) continue;
      chosen.push_back(event.probe);
      event.armed = what == Change::Arm;
      event.retired = what == Change::Retire;
    }
    inproc::InprocRuntime& runtime = hammer_.runtime();
    auto done = what == Change::Arm ? runtime.arm(chosen) : runtime.disarm(chosen);
    ASSERT_TRUE(done.has_value()) << done.error().message();
    if (what == Change::Retire) runtime.retire(chosen);  // its counts stay
    changes_ += chosen.size();
  }

  void all_off() {
    change(Change::Disarm, true);
    EXPECT_THAT(hammer_.changed_text(), Not(Contains(HasSubstr("hammer"))));
  }

  TracedHammer& hammer_;
  std::mt19937_64 random_;
  std::uint64_t steps_ = 0, changes_ = 0;
};

void wait_for_calls(TracedHammer& hammer, std::uint64_t more) {
  const std::uint64_t before = hammer.calls();
  while (hammer.calls() < before + more && !hammer.runtime().poll_exit()) sched_yield();
}

TEST(Hammer, ProbesComeAndGoAtRandom) {
  using Clock = std::chrono::steady_clock;
  const auto seconds = std::chrono::seconds(test::number_from_environment("KEVT_HAMMER_SECONDS", 10));
  auto hammer = TracedHammer::launch(0);
  ASSERT_TRUE(hammer);
  Meddler meddler(*hammer, test::test_seed());
  hammer->install_four();
  EXPECT_THAT(hammer->changed_text(), Not(Contains(HasSubstr("hammer"))));
  hammer->runtime().go();
  wait_for_calls(*hammer, 1000);
  const auto until = Clock::now() + seconds;
  while (Clock::now() < until && !HasFailure()) {
    meddler.step();
    hammer->drain();
    ASSERT_FALSE(hammer->runtime().poll_exit()) << "it died after " << meddler.steps() << " steps";
  }
  meddler.retire_all();
  EXPECT_THAT(hammer->changed_text(), Not(Contains(HasSubstr("hammer"))));
  auto detached = hammer->runtime().detach();
  ASSERT_TRUE(detached.has_value()) << detached.error().message();
  EXPECT_THAT(hammer->changed_text(), IsEmpty());
  wait_for_calls(*hammer, 100'000);  // and it goes on, unprobed
  hammer->stop();
  expect_program_right(*hammer, hammer->wait_for_end());
  expect_exact(*hammer);
  std::uint64_t hits = 0, lost = 0;
  for (const HammerEvent& event : hammer->events()) {
    hits += hammer->runtime().counts(event.probe).attempts;
    lost += hammer->runtime().counts(event.probe).lost;
  }
  std::printf("%zu events, %llu steps, %llu switches; %llu turns, %llu hits, %llu of them lost\n",
              hammer->events().size(), static_cast<unsigned long long>(meddler.steps()),
              static_cast<unsigned long long>(meddler.changes()), static_cast<unsigned long long>(hammer->calls()),
              static_cast<unsigned long long>(hits), static_cast<unsigned long long>(lost));
  EXPECT_GT(hits, 0u);
}

}  // namespace
}  // namespace kevt::tests

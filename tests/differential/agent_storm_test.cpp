// Hits that are interrupted: signal handlers that hit the same event, that jump out of it for good, and threads that
// share rings which are too small. Each storm ends after a second at the latest.
#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/differential/probed_text.h"

namespace kevt::test {
namespace {

using Clock = std::chrono::steady_clock;

// di at 16, si at 24, a long string at 32: something to be interrupted in.
constexpr const char* kLongHit =
    "program entry fixed 36\nv0 = reg di\nv1 = reg si\nv2 = reg dx\nv3 = string v2+0\nstore int8 v0 @16\n"
    "store int8 v1 @24\nstore string v3 @32\nsink 0\nsink 1\n";
constexpr std::size_t kStringBytes = 1500;

std::uint64_t mixed(std::uint64_t x) { return (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull; }

// twice(x, mixed(x), a string whose letters x decides)
struct ProbedCall {
  std::uint64_t (*function)(std::uint64_t, std::uint64_t, const char*);
  void operator()(std::uint64_t x, const char* text) const { function(x, mixed(x), text); }
};

bool is_whole(const std::vector<std::uint8_t>& record, std::size_t text_bytes) {
  if (record.size() != 36 + text_bytes) return false;
  if (number_at(record, 24, 8) != mixed(number_at(record, 16, 8))) return false;
  const std::uint64_t letter = 'a' + number_at(record, 16, 8) % 26;
  for (std::size_t i = 36; i + 1 < record.size(); ++i)
    if (record[i] != letter) return false;
  return record.back() == 0;
}

std::vector<std::string> alphabet() {
  std::vector<std::string> texts;
  for (char c = 'a'; c <= 'z'; ++c) texts.emplace_back(kStringBytes, c);
  return texts;
}

// ax at 24: twice what was given
constexpr const char* kReturn = "program return fixed 32\nv0 = reg ax\nstore int8 v0 @24\nsink 0\n";

class Storm : public testing::TestWithParam<Arming> {
 protected:
  void SetUp() override {
    auto text = ProbedText::create({.ring_bytes = 65536, .rows = 64});
    ASSERT_TRUE(text) << text.error().message();
    text_ = std::move(*text);
    auto events = text_->install({kLongHit, kReturn});
    ASSERT_TRUE(events) << events.error().message();
    event_ = std::move((*events)[0]);
    return_ = std::move((*events)[1]);
    const auto armed =
        arm_site(text_->session(), text_->twice(), GetParam(), {{event_.local.code}, {return_.local.code}});
    ASSERT_TRUE(armed) << armed.error().message();
    call_.function = reinterpret_cast<decltype(call_.function)>(text_->twice().value);
  }
  kevt_counts counts(std::uint32_t sink) { return text_->session().counts(event_.local, sink); }
  void drain_and_check() {
    for (const auto& record : drain_all(text_->session())) {
      const bool is_return = number_at(record, 0, 2) == 2;
      ++(is_return ? drained_returns_ : drained_);
      if (is_return ? record.size() != 32 : !is_whole(record, kStringBytes + 1)) ++torn_;
    }
  }
  void expect_identity() {
    for (const kevt_counts& c : {counts(0), counts(1), return_counts()})
      EXPECT_TRUE(adds_up(c)) << "hits " << c.hits << " recorded " << c.recorded << " filtered " << c.filtered
                              << " lost " << c.lost << " missed " << c.missed;
  }
  kevt_counts return_counts() { return text_->session().counts(return_.local, 0); }
  std::uint64_t recorded() { return counts(0).recorded + counts(1).recorded; }

  std::unique_ptr<ProbedText> text_;
  NativeEvent event_, return_;
  ProbedCall call_{};
  const std::vector<std::string> texts_ = alphabet();
  std::uint64_t drained_ = 0, drained_returns_ = 0, torn_ = 0;
};

// What the handler does; plain globals, as handlers have no arguments.
const ProbedCall* handler_call = nullptr;
const char* handler_text = nullptr;
volatile sig_atomic_t may_jump = 0;
std::atomic<std::uint64_t> alarms = 0;  // handlers nest
sigjmp_buf out_of_hit;

// A hit may take longer than the time to the next alarm, so nesting needs an end.
void hit_again(int) {
  static std::atomic<int> nested = 0;
  if (++nested < 8) {
    ++alarms;
    (*handler_call)(25, handler_text);
  }
  --nested;
}
void jump_away(int) {
  ++alarms;
  if (may_jump) siglongjmp(out_of_hit, 1);
}

// An alarm every interval_us; 0: one alarm each time set_alarm() asks for it.
class AlarmStorm {
 public:
  AlarmStorm(void (*handler)(int), suseconds_t interval_us) {
    alarms = 0;
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_NODEFER | SA_RESTART;
    sigaction(SIGALRM, &action, &before_);
    set_alarm(interval_us, interval_us);
  }
  AlarmStorm(const AlarmStorm&) = delete;
  AlarmStorm& operator=(const AlarmStorm&) = delete;
  ~AlarmStorm() {
    set_alarm(0);
    sigaction(SIGALRM, &before_, nullptr);
  }
  static void set_alarm(suseconds_t after_us, suseconds_t interval_us = 0) {
    const itimerval timer = {{0, interval_us}, {0, after_us}};
    setitimer(ITIMER_REAL, &timer, nullptr);
  }

 private:
  struct sigaction before_ = {};
};

TEST_P(Storm, HitsFromAHandlerInsideAHitAreMissed) {
  handler_call = &call_;
  handler_text = texts_[25].c_str();
  std::uint64_t x = 0;
  {
    const AlarmStorm storm(hit_again, GetParam() == Arming::Jump ? 50 : 300);
    const auto end = Clock::now() + std::chrono::seconds(1);
    for (; Clock::now() < end && counts(0).missed < 2000; ++x) {
      call_(x, texts_[x % 26].c_str());
      if (x % 8 == 0) drain_and_check();
    }
  }
  drain_and_check();
  EXPECT_GT(counts(0).missed, 0u);
  for (const kevt_counts& c : {counts(0), counts(1), return_counts()}) EXPECT_EQ(c.hits, x + alarms);
  EXPECT_EQ(torn_, 0u);
  EXPECT_EQ(drained_, recorded());
  EXPECT_EQ(drained_returns_, return_counts().recorded);
  expect_identity();
}

// A hit that was jumped out of is lost, or was already recorded; its reservation does not block the ring. Where an
// alarm costs more than the time to the next one, a program gets nowhere: each is asked for when the one before has
// come, at all distances from the calls.
TEST_P(Storm, HitsThatAHandlerJumpsOutOfAreSettled) {
  static std::uint64_t x, seen;  // locals would not survive the jump
  {
    const AlarmStorm storm(jump_away, 0);
    AlarmStorm::set_alarm(1);
    seen = 0;
    const auto end = Clock::now() + std::chrono::seconds(1);
    while (Clock::now() < end) {
      if (alarms != seen) {
        seen = alarms;
        AlarmStorm::set_alarm(static_cast<suseconds_t>(1 + seen % 60));
      }
      if (sigsetjmp(out_of_hit, 0) == 0) {
        may_jump = 1;
        for (int i = 0; i < 8; ++i, ++x) call_(x, texts_[x % 26].c_str());
      }
      may_jump = 0;
      drain_and_check();
    }
  }
  call_(x, texts_[x % 26].c_str());  // settles the last one
  drain_and_check();
  RecordProperty("alarms", static_cast<int>(alarms));
  const std::uint64_t lost = counts(0).lost + counts(1).lost;
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(torn_, 0u);
  EXPECT_GE(drained_, recorded());
  EXPECT_LE(drained_, recorded() + lost);
  EXPECT_GE(drained_returns_, return_counts().recorded);
  EXPECT_LE(drained_returns_, return_counts().recorded + return_counts().lost);
  EXPECT_GT(return_counts().recorded, 0u);
  EXPECT_LT(return_counts().missed, return_counts().recorded / 10) << "abandoned return instances fill the thread's";
  EXPECT_FALSE(text_->session().rings().has_records()) << "the reader is stuck at a reservation nobody will commit";
  expect_identity();
}

TEST_P(Storm, ThreadsThatShareSmallRings) {
  constexpr int kThreads = 8;
  constexpr std::uint64_t kHits = 20000;
  std::atomic<int> running = kThreads;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < kHits; ++i) {
        const std::uint64_t x = static_cast<std::uint64_t>(t) * kHits + i;
        call_(x, texts_[x % 26].c_str());
      }
      --running;
    });
  while (running > 0) drain_and_check();
  for (std::thread& thread : threads) thread.join();
  drain_and_check();
  EXPECT_EQ(torn_, 0u);
  EXPECT_EQ(drained_, recorded());
  EXPECT_EQ(drained_returns_, return_counts().recorded);
  EXPECT_GT(counts(0).lost, 0u);
  for (const kevt_counts& c : {counts(0), counts(1), return_counts()}) EXPECT_EQ(c.hits, kThreads * kHits);
  expect_identity();
}

INSTANTIATE_TEST_SUITE_P(Armed, Storm, testing::Values(Arming::Jump, Arming::Breakpoint),
                         [](const auto& armed) { return armed.param == Arming::Jump ? "Jump" : "Breakpoint"; });

}  // namespace
}  // namespace kevt::test

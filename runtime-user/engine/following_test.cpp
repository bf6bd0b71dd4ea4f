// Targets that come and go under a Tracing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "common/clock.h"
#include "runtime-user/engine/text/trace_text.h"
#include "runtime-user/engine/tracing.h"
#include "runtime-user/engine/tracing_testing.h"

namespace kevt::engine {
namespace {

using testing::IsEmpty;
using testing::MatchesRegex;

class FollowingTest : public testing::Test {
 protected:
  int define(std::string_view text) {
    auto done = tracing_.definitions().write(grammar::EventsFile::Kprobe, text);
    return done ? 0 : done.error().errno_value();
  }
  const TracedEvent& event(std::string_view name) { return *tracing_.events().find("kprobes", name); }
  int enable(std::string_view name, bool on = true) {
    const TracedEvent* const all[] = {&event(name)};
    auto done = tracing_.switcher().set_enabled(tracing_.top(), all, on);
    return done ? 0 : done.error().errno_value();
  }
  // How many probes of the event it hits there.
  std::size_t hit(FakeTarget& target, std::string_view name, std::int32_t tid) {
    return target.runtime().hit(event(name).id,
                                {.bytes = payload(3), .timestamp_ns = ++now_ * 1000, .pid = tid, .comm = "me"});
  }
  std::string lines(TraceText& text) {
    std::string out;
    TraceBuffer::Cursor cursor;
    while (const auto entry = tracing_.top().buffer.next(cursor, std::nullopt))
      text.append(tracing_.top(), *entry, out);
    return out;
  }

  FakeTarget first_, second_;
  Tracing tracing_{{&first_}, {.cpus = 2, .follows = true}};
  std::uint64_t now_ = 1000;
};

TEST_F(FollowingTest, ATargetThatComesHasWhatIsArmed) {
  ASSERT_EQ(define("p:op open64 fd=%di:u32\np:cl close fd=%di:u32"), 0);
  ASSERT_EQ(enable("op"), 0);
  EXPECT_THAT(tracing_.targets().add(second_), IsEmpty());
  EXPECT_EQ(hit(second_, "op", 8), 1u);
  EXPECT_EQ(hit(second_, "cl", 8), 0u);
  ASSERT_EQ(enable("cl"), 0);
  EXPECT_EQ(hit(second_, "cl", 8), 1u);
  ASSERT_EQ(enable("op", false), 0);
  EXPECT_EQ(hit(second_, "op", 8), 0u);
}

TEST_F(FollowingTest, CountsOfATargetThatGoesStay) {
  ASSERT_EQ(define("p:op open64 fd=%di:u32"), 0);
  ASSERT_EQ(enable("op"), 0);
  tracing_.targets().add(second_);
  hit(first_, "op", 7);
  hit(second_, "op", 8);
  hit(second_, "op", 8);
  EXPECT_TRUE(tracing_.targets().remove(second_));
  tracing_.targets().forget(second_);
  const auto counts = tracing_.records().counts(tracing_.top(), event("op"));
  EXPECT_EQ(counts.attempts, 3u);
  EXPECT_EQ(counts.recorded, 3u);
  EXPECT_EQ(tracing_.code().counts(event("op").id, event("op").probes.front().serial).attempts, 3u);
  EXPECT_EQ(enable("op", false), 0);
  EXPECT_EQ(enable("op"), 0);
  hit(first_, "op", 7);
  tracing_.drain();
  EXPECT_EQ(tracing_.records().counts(tracing_.top(), event("op")).attempts, 4u);
}

TEST_F(FollowingTest, AProbeComesBackWithItsLibrary) {
  first_.load();
  ASSERT_EQ(define("p:cg comes_and_goes fd=%di:u32"), 0);
  ASSERT_EQ(enable("cg"), 0);
  const std::uint32_t id = event("cg").id;
  const std::uint64_t serial = event("cg").probes.front().serial;
  const InstalledCode code = tracing_.code();
  for (std::uint64_t times = 1; times <= 5; ++times) {
    EXPECT_EQ(hit(first_, "cg", 7), 1u);
    first_.runtime().unload(id);
    first_.unload();
    EXPECT_THAT(tracing_.targets().libraries_changed(first_), IsEmpty());
    EXPECT_EQ(hit(first_, "cg", 7), 0u);
    EXPECT_TRUE(code.is_deferred(id, first_));
    EXPECT_EQ(code.arm_status(id, serial, first_)->state, runtime::ArmState::Gone);
    EXPECT_TRUE(code.was_placed(id, serial, first_));
    EXPECT_THAT(code.waiting(event("cg")), IsEmpty());
    first_.runtime().reclaim();
    first_.load();
    EXPECT_THAT(tracing_.targets().libraries_changed(first_), IsEmpty());
    EXPECT_EQ(code.arm_status(id, serial, first_)->state, runtime::ArmState::Jump);
    EXPECT_EQ(code.counts(id).attempts, times);
    EXPECT_EQ(code.counts(id, serial).attempts, times);
    EXPECT_EQ(code.counts(id, first_).attempts, times);
  }
  EXPECT_EQ(first_.runtime().retired, 5u);
  EXPECT_EQ(first_.runtime().removed, 5u);  // what has final counts holds no handle
  EXPECT_TRUE(tracing_.targets().remove(first_));
  EXPECT_EQ(code.counts(id).attempts, 5u);
}

TEST_F(FollowingTest, ATargetWithRecordsUnderWayStays) {
  ASSERT_EQ(define("p:op open64 fd=%di:u32"), 0);
  ASSERT_EQ(enable("op"), 0);
  tracing_.targets().add(second_);
  now_ = now_ns() / 1000 + 3'600'000'000;  // a clock that is ahead
  hit(second_, "op", 8);
  EXPECT_FALSE(tracing_.targets().remove(second_));
  EXPECT_EQ(tracing_.records().counts(tracing_.top(), event("op")).attempts, 1u);
}

TEST_F(FollowingTest, AProbeHasToBeInOneTarget) {
  second_.add_function("extra", 0x5000);
  EXPECT_EQ(define("p:x extra"), EINVAL);
  tracing_.targets().add(second_);
  ASSERT_EQ(define("p:x extra\np:op open64"), 0);
  ASSERT_EQ(enable("x"), 0);
  EXPECT_EQ(hit(first_, "x", 7), 0u);
  EXPECT_EQ(hit(second_, "x", 8), 1u);
  EXPECT_EQ(enable("op"), 0);
  second_.alive = false;
  EXPECT_EQ(enable("x", false), 0);
  EXPECT_EQ(enable("op", false), 0);
  EXPECT_EQ(tracing_.filters().write(tracing_.top(), event("x"), "common_pid > 3").has_value(), true);
  EXPECT_NE(enable("x"), 0);
}

TEST_F(FollowingTest, WhatATargetHasIsNotMadeAgain) {
  ASSERT_EQ(define("p:op open64 fd=%di:u32"), 0);
  ASSERT_EQ(enable("op"), 0);
  ASSERT_EQ(enable("op", false), 0);
  tracing_.targets().add(second_);
  EXPECT_EQ(second_.runtime().installed(), 0u);
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(enable("op"), 0);
    hit(first_, "op", 7);
    hit(second_, "op", 8);
    ASSERT_EQ(enable("op", false), 0);
  }
  EXPECT_EQ(first_.runtime().installed(), 1u);
  EXPECT_EQ(second_.runtime().installed(), 1u);
  EXPECT_EQ(tracing_.records().counts(tracing_.top(), event("op")).attempts, 10u);
}

TEST_F(FollowingTest, WhatCannotBeThereIsToldAndLeftOut) {
  first_.add_function("extra", 0x5000);
  ASSERT_EQ(define("p:op open64\np:x extra"), 0);
  ASSERT_EQ(enable("op"), 0);
  ASSERT_EQ(enable("x"), 0);
  const auto refusals = tracing_.targets().add(second_);
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_EQ(refusals.front().command, "p:x extra");
  EXPECT_EQ(hit(second_, "op", 8), 1u);
}

// One thread, two programs: an address means what it meant then.
TEST_F(FollowingTest, NamesAreThoseOfTheTime) {
  ASSERT_EQ(define("p:op open64 fd=%di:u32"), 0);
  ASSERT_EQ(enable("op"), 0);
  hit(first_, "op", 7);
  FakeTarget other(0, {.open64 = 0x2000, .close = 0x1000});
  tracing_.targets().add(other);
  hit(other, "op", 7);
  tracing_.drain();
  TraceText text(tracing_);
  EXPECT_THAT(lines(text), MatchesRegex(".*op: \\(open64.*\n.*op: \\(close.*\n"));
  tracing_.targets().remove(first_);
  EXPECT_THAT(lines(text), MatchesRegex(".*op: \\(open64.*\n.*op: \\(close.*\n"));
  tracing_.targets().forget(first_);
  EXPECT_THAT(lines(text), MatchesRegex(".*op: \\(0x0*1000\\).*\n.*op: \\(close.*\n"));
}

}  // namespace
}  // namespace kevt::engine

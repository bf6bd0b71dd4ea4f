// Which histograms hits count by themselves, and what becomes of what they have counted.
#include "runtime-user/engine/code/hit_aggregation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "runtime-user/engine/tracing.h"
#include "runtime-user/engine/tracing_testing.h"

namespace kevt::engine {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

class HitAggregationTest : public testing::Test {
 protected:
  HitAggregationTest() {
    target_.runtime().hit_histograms = model::kMaxHitHistograms;
    auto done = tracing_.definitions().write(grammar::EventsFile::Dynamic,
                                             "p:op open64 fd=%di:s32 path=+0(%si):string\np:cl close fd=%di:s32\n");
    EXPECT_TRUE(done);
  }
  const TracedEvent& event(std::string_view name) { return *tracing_.events().find_written(name); }
  void trigger(std::string_view name, std::string_view text) {
    auto done = tracing_.triggers().write(tracing_.top(), event(name), text);
    EXPECT_TRUE(done) << text;
  }
  void enable(std::string_view name, bool on) {
    const TracedEvent* const all[] = {&event(name)};
    EXPECT_TRUE(tracing_.switcher().set_enabled(tracing_.top(), all, on));
  }
  std::size_t tables(std::string_view name) { return target_.runtime().hit_tables(event(name).id); }
  void count(std::string_view name, std::int64_t key, std::uint64_t hits, std::vector<std::uint64_t> sums = {}) {
    target_.runtime().count(event(name).id, {static_cast<std::uint64_t>(key)}, hits, std::move(sums));
  }
  // A hit that is recorded, since its key found no room.
  void spill(std::uint32_t fd) {
    target_.runtime().hit(event("cl").id, {.bytes = payload(fd), .timestamp_ns = 1000, .pid = 7, .comm = "me"});
    tracing_.drain();
  }
  std::string text(std::string_view name) { return tracing_.triggers().hist_text(tracing_.top(), event(name)); }
  runtime::EventCounts counts(std::string_view name) { return tracing_.records().counts(tracing_.top(), event(name)); }

  FakeTarget target_;
  Tracing tracing_{{&target_}, {.cpus = 2}};
};

TEST_F(HitAggregationTest, NumbersAreCountedAtTheHit) {
  trigger("cl", "hist:keys=fd");
  EXPECT_EQ(tables("cl"), 1u);
  count("cl", -3, 5);
  count("cl", 8, 2);
  EXPECT_THAT(text("cl"), HasSubstr("{ fd: 18446744073709551613 } hitcount:          5\n"));
  count("cl", 8, 2);
  EXPECT_THAT(text("cl"), HasSubstr("{ fd:          8 } hitcount:          4\n"));
  EXPECT_THAT(text("cl"), EndsWith("Totals:\n    Hits: 9\n    Entries: 2\n    Dropped: 0\n"));
  const runtime::EventCounts all = counts("cl");
  EXPECT_EQ(all.attempts, 9u);
  EXPECT_EQ(all.aggregated, 9u);
}

TEST_F(HitAggregationTest, WhatFindsNoRoomIsTheReaders) {
  trigger("cl", "hist:keys=fd:vals=fd");
  count("cl", 4, 10, {40});
  spill(4);
  spill(5);
  EXPECT_THAT(text("cl"), HasSubstr("{ fd:          4 } hitcount:         11  fd:         44\n"));
  EXPECT_THAT(text("cl"), HasSubstr("{ fd:          5 } hitcount:          1  fd:          5\n"));
  target_.runtime().count(event("cl").id, {}, 3, {});  // nor in the ring
  EXPECT_THAT(text("cl"), EndsWith("    Hits: 12\n    Entries: 2\n    Dropped: 3\n"));
  const runtime::EventCounts all = counts("cl");
  EXPECT_EQ(all.attempts, 15u);
  EXPECT_EQ(all.aggregated, 12u);
  EXPECT_EQ(all.lost, 3u);
  EXPECT_EQ(all.recorded + all.filtered, 0u);
}

// Hits of paused histograms go nowhere: no ring, no table.
TEST_F(HitAggregationTest, PausedHistogramsTakeNothing) {
  trigger("cl", "hist:keys=fd");
  count("cl", 8, 2);
  trigger("cl", "hist:keys=fd:pause");
  EXPECT_EQ(tables("cl"), 0u);
  spill(8);
  runtime::EventCounts all = counts("cl");
  EXPECT_EQ(all.attempts, 3u);
  EXPECT_EQ(all.filtered, 1u);
  EXPECT_TRUE(tracing_.switcher().request_for(event("cl")).filter) << "its code rejects hits";
  trigger("cl", "hist:keys=fd:cont");
  EXPECT_EQ(tables("cl"), 1u);
  EXPECT_FALSE(tracing_.switcher().request_for(event("cl")).filter);
  count("cl", 8, 2);
  EXPECT_THAT(text("cl"), EndsWith("    Hits: 4\n    Entries: 1\n    Dropped: 0\n"));
}

// A table keeps them of all hits, so a histogram that was cleared is the reader's.
TEST_F(HitAggregationTest, ExtremesAreKeptUntilTheyAreCleared) {
  const auto word = [](std::int64_t number, model::Kept kept) {
    return static_cast<std::uint64_t>(number) ^ model::encoded_for(kept);
  };
  const auto least = [&](std::int64_t number) { return word(number, model::Kept::SignedLeast); };
  const auto greatest = [&](std::int64_t number) { return word(number, model::Kept::SignedGreatest); };
  trigger("cl", "hist:keys=fd:vals=fd.min,fd.max,fd.avg");
  ASSERT_EQ(tables("cl"), 1u);
  count("cl", -3, 2, {least(-7), greatest(-1), static_cast<std::uint64_t>(-8)});
  EXPECT_THAT(text("cl"),
              HasSubstr("hitcount:          2  fd (min):         -7  fd (max):         -1  fd (avg):      -4.00\n"));
  count("cl", -3, 1, {least(-7), greatest(5), 5});
  EXPECT_THAT(text("cl"),
              HasSubstr("hitcount:          3  fd (min):         -7  fd (max):          5  fd (avg):      -1.00\n"));
  trigger("cl", "hist:keys=fd:vals=fd.min,fd.max,fd.avg:clear");
  EXPECT_EQ(tables("cl"), 0u);
  EXPECT_THAT(text("cl"), EndsWith("    Hits: 0\n    Entries: 0\n    Dropped: 0\n"));
  // Hits that were under way: the table tells the extremes of one, and of the other those from before.
  const std::vector<std::uint64_t> late = {least(-9), greatest(6), 6};
  target_.runtime().count_late(event("cl").id, {8}, late, 0b011);
  target_.runtime().count_late(event("cl").id, {8}, late, 0b001);
  EXPECT_THAT(text("cl"),
              HasSubstr("{ fd:          8 } hitcount:          1  fd (min):         -9  fd (max):          6"));
  EXPECT_THAT(text("cl"), EndsWith("    Hits: 1\n    Entries: 1\n    Dropped: 1\n"));
  EXPECT_TRUE(tracing_.triggers().truncate(tracing_.top(), event("cl")));
  trigger("cl", "hist:keys=fd:vals=fd.min");
  EXPECT_EQ(tables("cl"), 1u) << "another histogram";
  tracing_.triggers().take_histograms(tracing_.top(), std::array{&event("cl")}, TriggerFiles::HistForms::Texts);
  EXPECT_EQ(tables("cl"), 0u) << "intervals begin anew";
}

TEST_F(HitAggregationTest, WhatTheHitDoesNotHaveIsTheReaders) {
  for (const char* text :
       {"hist:keys=common_timestamp", "hist:keys=fd:ts=common_timestamp", "hist:keys=fd:m=fd:onmax($m).save(fd)"}) {
    trigger("op", text);
    EXPECT_EQ(tables("op"), 0u) << text;
    EXPECT_TRUE(tracing_.triggers().truncate(tracing_.top(), event("op")));
  }
  for (const char* text : {"hist:keys=fd.log2,common_cpu", "hist:keys=fd.buckets=5", "hist:keys=common_pid.execname",
                           "hist:keys=path", "hist:keys=fd,common_comm", "hist:keys=fd.hex:vals=fd if fd > 3",
                           "hist:keys=fd,__probe_ip.sym:vals=hitcount"}) {
    trigger("op", text);
    EXPECT_EQ(tables("op"), 1u) << text;
    EXPECT_TRUE(tracing_.triggers().truncate(tracing_.top(), event("op")));
  }
}

TEST_F(HitAggregationTest, AnEventThatIsRecordedTooIsTheReaders) {
  trigger("cl", "hist:keys=fd");
  count("cl", 1, 1);
  enable("cl", true);
  EXPECT_EQ(tables("cl"), 0u);
  spill(1);
  enable("cl", false);
  EXPECT_EQ(tables("cl"), 1u);
  count("cl", 1, 1);
  EXPECT_THAT(text("cl"), HasSubstr("{ fd:          1 } hitcount:          3\n"));
  const std::size_t installed = target_.runtime().installed();
  enable("cl", true);
  enable("cl", false);
  EXPECT_EQ(target_.runtime().installed(), installed);  // no table is used up
}

TEST_F(HitAggregationTest, OtherTriggersOfTheEventAreTheReaders) {
  trigger("cl", "hist:keys=fd");
  trigger("cl", "hist:keys=common_pid");
  EXPECT_EQ(tables("cl"), 2u);
  trigger("cl", "traceoff if fd == 3");
  EXPECT_EQ(tables("cl"), 0u);
  trigger("cl", "!traceoff if fd == 3");
  EXPECT_EQ(tables("cl"), 2u);
  trigger("op", "enable_event:kprobes:cl");
  EXPECT_EQ(tables("cl"), 0u);
  trigger("op", "!enable_event:kprobes:cl");
  EXPECT_EQ(tables("cl"), 2u);
  trigger("op", "disable_hist:kprobes:cl");
  EXPECT_EQ(tables("cl"), 0u);
}

TEST_F(HitAggregationTest, PausedAndCleared) {
  trigger("cl", "hist:keys=fd");
  count("cl", 1, 2);
  trigger("cl", "hist:keys=fd:pause");
  EXPECT_EQ(tables("cl"), 0u);
  EXPECT_THAT(text("cl"), HasSubstr("hitcount:          2\n"));
  trigger("cl", "hist:keys=fd:cont");
  EXPECT_EQ(tables("cl"), 1u);
  count("cl", 1, 1);
  trigger("cl", "hist:keys=fd:clear");
  EXPECT_THAT(text("cl"), HasSubstr("    Hits: 0\n"));
  count("cl", 1, 1);
  EXPECT_THAT(text("cl"), HasSubstr("hitcount:          1\n"));
}

TEST_F(HitAggregationTest, AListOfThreadsIsTheReaders) {
  trigger("cl", "hist:keys=fd");
  tracing_.top().pids = {7};
  EXPECT_TRUE(tracing_.switcher().follow_pids(tracing_.top()));
  EXPECT_EQ(tables("cl"), 0u);
  tracing_.top().pids.reset();
  EXPECT_TRUE(tracing_.switcher().follow_pids(tracing_.top()));
  EXPECT_EQ(tables("cl"), 1u);
}

TEST_F(HitAggregationTest, ASecondInstanceIsTheReaders) {
  trigger("cl", "hist:keys=fd");
  count("cl", 1, 2);
  auto made = tracing_.instances().make("second");
  ASSERT_TRUE(made);
  Instance& second = *tracing_.instances().find("second");
  const TracedEvent* const all[] = {&event("cl")};
  EXPECT_TRUE(tracing_.switcher().set_enabled(second, all, true));
  EXPECT_EQ(tables("cl"), 0u);
  spill(1);
  EXPECT_THAT(text("cl"), HasSubstr("{ fd:          1 } hitcount:          3\n"));
  EXPECT_EQ(tracing_.records().counts(second, event("cl")).recorded, 1u);
  EXPECT_TRUE(tracing_.switcher().set_enabled(second, all, false));
  EXPECT_EQ(tables("cl"), 1u);
}

TEST_F(HitAggregationTest, WithoutCodeForItTheReaderCounts) {
  target_.runtime().next_refusal = Error("no address space", ENOMEM);
  trigger("cl", "hist:keys=fd");
  EXPECT_EQ(tables("cl"), 0u);
  spill(6);
  EXPECT_THAT(text("cl"), HasSubstr("{ fd:          6 } hitcount:          1\n"));
}

// Also beside an event whose triggers hits carry out.
TEST_F(HitAggregationTest, WithoutATableTheReaderCounts) {
  trigger("op", "traceoff if fd == 3");
  enable("op", true);
  target_.runtime().tables_left = 0;
  trigger("cl", "hist:keys=fd");
  EXPECT_EQ(tables("cl"), 0u);
  spill(6);
  EXPECT_THAT(text("cl"), HasSubstr("{ fd:          6 } hitcount:          1\n"));
  EXPECT_TRUE(tracing_.top().tracing_on);
}

// A text is two words; a thread's name is told by its number.
TEST_F(HitAggregationTest, TextsOfKeys) {
  trigger("op", "hist:keys=path,fd");
  std::vector<std::uint64_t> key(3);
  std::memcpy(key.data(), "/etc/hosts", 10);
  key[2] = 77;
  target_.runtime().count(event("op").id, key, 4, {});
  EXPECT_THAT(text("op"), HasSubstr("{ path: /etc/hosts "));
  EXPECT_THAT(text("op"), HasSubstr(", fd:         77 } hitcount:          4\n"));
  trigger("cl", "hist:keys=common_comm");
  count("cl", 77, 4);
  EXPECT_THAT(text("cl"), HasSubstr("{ common_comm: fake "));
}

TEST_F(HitAggregationTest, StacksAreCountedByTheirNumber) {
  target_.has_stacks = true;
  target_.runtime().stacks = {{17, {0x1000, 0x2010}}, {18, {0x1000}}};
  trigger("cl", "hist:keys=stacktrace");
  ASSERT_EQ(tables("cl"), 1u);
  count("cl", 17, 3);
  count("cl", 18, 1);
  target_.runtime().hit(event("cl").id,
                        {.bytes = payload(1), .timestamp_ns = 1000, .pid = 7, .stack = {0x1000, 0x2010}});
  tracing_.drain();  // its stack had no number
  EXPECT_THAT(text("cl"), HasSubstr("{ common_stacktrace:\n         open64+0x0/0x100 [libc.so.6]\n         "
                                    "close+0x10/0x100 [libc.so.6]\n} hitcount:          4\n"));
  EXPECT_THAT(text("cl"), HasSubstr("         open64+0x0/0x100 [libc.so.6]\n} hitcount:          1\n"));
}

// As in the kernel: the name is a text of the key, and of a number none is known.
TEST_F(HitAggregationTest, WhereNumbersHaveNoNamesTheKeyHasIt) {
  target_.runtime().names_threads = false;
  trigger("cl", "hist:keys=common_comm,fd");
  std::vector<std::uint64_t> key(3);
  std::memcpy(key.data(), "worker", 6);
  key[2] = 77;
  target_.runtime().count(event("cl").id, key, 4, {});
  EXPECT_THAT(text("cl"), HasSubstr("{ common_comm: worker "));
  EXPECT_THAT(text("cl"), HasSubstr(", fd:         77 } hitcount:          4\n"));
  trigger("op", "hist:keys=common_pid.execname");
  EXPECT_EQ(tables("op"), 0u);
}

TEST_F(HitAggregationTest, MoreHistogramsThanTheRuntimeTakesAreTheReaders) {
  target_.runtime().hit_histograms = 1;
  trigger("cl", "hist:keys=fd");
  EXPECT_EQ(tables("cl"), 1u);
  trigger("cl", "hist:keys=fd.log2");
  EXPECT_EQ(tables("cl"), 0u);
}

// What its code holds goes with it, and not what the event had been hit until then.
TEST_F(HitAggregationTest, CodeOfAHistogramThatIsGoneIsGivenUp) {
  trigger("cl", "hist:keys=fd");
  count("cl", 8, 5);
  EXPECT_EQ(target_.runtime().retired, 0u);
  trigger("cl", "hist:keys=fd.log2");
  trigger("cl", "!hist:keys=fd");
  EXPECT_EQ(target_.runtime().retired, 1u);
  trigger("cl", "!hist:keys=fd.log2");
  EXPECT_EQ(target_.runtime().retired, 3u);
  EXPECT_EQ(counts("cl").aggregated, 5u);
  trigger("cl", "hist:keys=fd");
  EXPECT_EQ(tables("cl"), 1u);
}

TEST_F(HitAggregationTest, SharedNamesCountTogether) {
  trigger("cl", "hist:keys=fd:name=both");
  trigger("op", "hist:keys=fd:name=both");
  EXPECT_EQ(tables("cl") + tables("op"), 2u);
  count("cl", 2, 1);
  count("op", 2, 4);
  EXPECT_THAT(text("cl"), HasSubstr("{ fd:          2 } hitcount:          5\n"));
}

}  // namespace
}  // namespace kevt::engine

// What the files `trigger` and `hist` say of hits: texts as the kernel's (kernel/trace/trace_events_hist.c, 6.1).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <random>

#include "runtime-user/engine/records/accounting.h"
#include "runtime-user/engine/text/trace_text.h"
#include "runtime-user/engine/tracing.h"
#include "runtime-user/engine/tracing_testing.h"

namespace kevt::engine {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

// Of `p:op open64 fd=%di:s32 path=+0(%si):string`.
std::vector<std::uint8_t> named_payload(std::int32_t fd, const std::string& path) {
  auto bytes = payload(static_cast<std::uint32_t>(fd));
  const auto word = static_cast<std::uint32_t>(8 + bytes.size() + 4) | static_cast<std::uint32_t>(path.size() + 1)
                                                                           << 16;
  bytes.resize(bytes.size() + 4);
  std::memcpy(bytes.data() + bytes.size() - 4, &word, sizeof word);
  bytes.insert(bytes.end(), path.c_str(), path.c_str() + path.size() + 1);
  return bytes;
}

class HistogramTest : public testing::Test {
 protected:
  HistogramTest() { define("p:op open64 fd=%di:u32\np:cl close fd=%di:u32\n"); }
  int define(std::string_view text, grammar::EventsFile file = grammar::EventsFile::Dynamic) {
    auto done = tracing_.definitions().write(file, text);
    return done ? 0 : done.error().errno_value();
  }
  const TracedEvent& event(std::string_view name) { return *tracing_.events().find_written(name); }
  int trigger(std::string_view name, std::string_view text) {
    auto done = tracing_.triggers().write(tracing_.top(), event(name), text);
    return done ? 0 : done.error().errno_value();
  }
  void enable(std::string_view name) {
    const TracedEvent* const all[] = {&event(name)};
    ASSERT_TRUE(tracing_.switcher().set_enabled(tracing_.top(), all, true));
  }
  void hit(std::string_view name, std::vector<std::uint8_t> bytes, std::uint32_t cpu = 0) {
    target_.runtime().hit(
        event(name).id, {.bytes = std::move(bytes), .timestamp_ns = ++now_ * 1000, .cpu = cpu, .pid = 7, .comm = "me"});
    tracing_.drain();
  }
  void hit(std::string_view name, std::uint32_t fd) { hit(name, payload(fd)); }
  std::string text(std::string_view name) { return tracing_.triggers().hist_text(tracing_.top(), event(name)); }
  // What stands between the head and the totals.
  std::string entries(std::string_view name) {
    const std::string all = text(name);
    const std::size_t begin = all.find("\n#\n\n") + 4;
    return all.substr(begin, all.find("\nTotals:") - begin);
  }
  std::string lines() { return lines_of(tracing_); }

  FakeTarget target_;
  Tracing tracing_{{&target_}, {.cpus = 2}};
  std::uint64_t now_ = 1000;
};

TEST_F(HistogramTest, HitsAreCountedByKey) {
  ASSERT_EQ(trigger("op", "hist:keys=fd"), 0);
  for (const std::uint32_t fd : {3u, 5u, 3u}) hit("op", fd);
  EXPECT_EQ(text("op"),
            "# event histogram\n#\n# trigger info: hist:keys=fd:vals=hitcount:sort=hitcount:size=2048 [active]\n#\n\n"
            "{ fd:          5 } hitcount:          1\n"
            "{ fd:          3 } hitcount:          2\n"
            "\nTotals:\n    Hits: 3\n    Entries: 2\n    Dropped: 0\n");
  EXPECT_EQ(lines(), "") << "the event itself is off";
  EXPECT_EQ(accounting_line("op", tracing_.records().counts(tracing_.top(), event("op"))),
            "op: hits 3 = recorded 0 + aggregated 3 + filtered 0 + lost 0 + missed 0\n");
}

TEST_F(HistogramTest, AnEventThatIsOnIsRecordedToo) {
  ASSERT_EQ(trigger("op", "hist:keys=fd if fd > 3"), 0);
  enable("op");
  hit("op", 3);
  hit("op", 4);
  EXPECT_EQ(entries("op"), "{ fd:          4 } hitcount:          1\n");
  EXPECT_THAT(lines(), HasSubstr("fd=3\n"));
  EXPECT_EQ(tracing_.records().counts(tracing_.top(), event("op")).aggregated, 0u);
}

TEST_F(HistogramTest, ValuesAreSummedAndSorted) {
  ASSERT_EQ(trigger("op", "hist:keys=common_cpu,fd:vals=hitcount,fd:sort=fd.descending,hitcount"), 0);
  hit("op", payload(2), 0);
  hit("op", payload(2), 0);
  hit("op", payload(3), 1);
  EXPECT_EQ(entries("op"),
            "{ common_cpu:          0, fd:          2 } hitcount:          2  fd:          4\n"
            "{ common_cpu:          1, fd:          3 } hitcount:          1  fd:          3\n");
}

TEST_F(HistogramTest, ModifiersSayHowKeysAndValuesLook) {
  struct Row {
    const char* trigger;
    const char* entries;  // of hits with 4096 and 5
  };
  const Row rows[] = {
      {"hist:keys=fd.hex", "{ fd: 5 } hitcount:          1\n{ fd: 1000 } hitcount:          1\n"},
      {"hist:keys=fd.log2", "{ fd: ~ 2^3  } hitcount:          1\n{ fd: ~ 2^12 } hitcount:          1\n"},
      {"hist:keys=fd.buckets=100", "{ fd: ~ 0-99 } hitcount:          1\n{ fd: ~ 4000-4099 } hitcount:          1\n"},
      {"hist:keys=fd.loglinear", "{ fd: ~ 5-5 } hitcount:          1\n{ fd: ~ 4096-4159 } hitcount:          1\n"},
      {"hist:keys=fd.sym",
       "{ fd: [5] 0x5                                           } hitcount:          1\n"
       "{ fd: [1000] open64 [libc.so.6]                            } hitcount:          1\n"},
      {"hist:keys=fd.sym-offset",
       "{ fd: [5] 0x5                                                     } hitcount:          1\n"
       "{ fd: [1000] open64+0x0/0x100 [libc.so.6]                            } hitcount:          1\n"},
      {"hist:keys=fd.syscall",
       "{ fd: sys_newfstat                  [  5] } hitcount:          1\n"
       "{ fd: unknown_syscall               [4096] } hitcount:          1\n"},
      {"hist:keys=common_pid.execname:vals=fd.hex",
       "{ common_pid: me              [         7] } hitcount:          2  fd:       1005\n"},
      {"hist:keys=fd:vals=fd.percent,fd.graph",
       "{ fd:          5 } hitcount:          1  fd (%):   0.12  fd:                     \n"
       "{ fd:       4096 } hitcount:          1  fd (%):  99.87  fd: ####################\n"},
  };
  for (const Row& row : rows) {
    ASSERT_EQ(trigger("op", std::string(row.trigger) + ":sort=hitcount"), 0) << tracing_.top().errors.text();
    hit("op", 4096);
    hit("op", 5);
    EXPECT_EQ(entries("op"), row.entries) << row.trigger;
    ASSERT_EQ(trigger("op", "!" + std::string(row.trigger)), 0);
    EXPECT_EQ(text("op"), "");
  }
}

TEST_F(HistogramTest, TextsAreKeys) {
  define("p:named open64 fd=%di:s32 path=+0(%si):string");
  ASSERT_EQ(trigger("named", "hist:keys=path:vals=fd:sort=path"), 0);
  for (const char* path : {"b", "a", "b"}) hit("named", named_payload(-1, path));
  const std::string pad(49, ' ');
  EXPECT_EQ(entries("named"), "{ path: a" + pad + " } hitcount:          1  fd: 18446744073709551615\n" + "{ path: b" +
                                  pad + " } hitcount:          2  fd: 18446744073709551614\n");
  hit("named", named_payload(1, std::string(400, 'x')));
  EXPECT_THAT(text("named"), HasSubstr("{ path: " + std::string(255, 'x') + " }"));
}

TEST_F(HistogramTest, AHostileRecordIsCountedAsWhatItHolds) {
  define("p:named open64 fd=%di:s32 path=+0(%si):string");
  ASSERT_EQ(trigger("named", "hist:keys=path,fd"), 0);
  auto beyond = named_payload(1, "a");
  beyond[14] = 0xff;  // the length of the text
  for (const auto& bytes : {std::vector<std::uint8_t>(), std::vector<std::uint8_t>(9), beyond}) hit("named", bytes);
  const std::string nothing(50, ' ');
  EXPECT_EQ(entries("named"), "{ path: " + nothing + ", fd:          1 } hitcount:          1\n{ path: " + nothing +
                                  ", fd:          0 } hitcount:          2\n");
}

TEST_F(HistogramTest, OfThreadsThatAreNotMeantNothingIsCounted) {
  ASSERT_EQ(trigger("op", "hist:keys=fd"), 0);
  tracing_.top().pids = {1};
  hit("op", 1);
  EXPECT_THAT(text("op"), HasSubstr("Hits: 0\n"));
  EXPECT_EQ(tracing_.records().counts(tracing_.top(), event("op")).filtered, 1u);
  tracing_.top().pids = {7};
  hit("op", 1);
  EXPECT_THAT(text("op"), HasSubstr("Hits: 1\n"));
}

TEST_F(HistogramTest, WhatFindsNoRoomIsDroppedAndCounted) {
  model::Histogram histogram;
  histogram.keys.push_back({.name = "fd"});
  HistTable table(histogram, FullTable::Grows, 1000);
  std::uint64_t kept = 0;
  for (std::uint64_t key = 0; key < 100; ++key) {
    const std::string bytes(reinterpret_cast<const char*>(&key), sizeof key);
    kept += table.count(bytes, "me") != nullptr;
  }
  EXPECT_GT(kept, 0u);
  EXPECT_LT(kept, 100u);
  EXPECT_EQ(table.size(), kept);
  EXPECT_EQ(table.hits(), kept);
  EXPECT_EQ(table.dropped(), 100 - kept);
  EXPECT_NE(table.count(std::string(8, '\0'), "me"), nullptr) << "what is there goes on being counted";
  table.clear();
  EXPECT_EQ(table.dropped(), 0u);
  EXPECT_NE(table.count(std::string(8, 'x'), "me"), nullptr);
}

TEST_F(HistogramTest, WithDropAFullTableDropsNewKeys) {
  ASSERT_EQ(trigger("op", "hist:keys=fd:size=128:drop"), 0) << tracing_.top().errors.text();
  for (std::uint32_t round = 0; round < 2; ++round)
    for (std::uint32_t fd = 0; fd < 200; ++fd) hit("op", fd);
  EXPECT_THAT(text("op"), HasSubstr("size=128:drop [active]"));
  EXPECT_THAT(text("op"), HasSubstr("{ fd:        127 } hitcount:          2\n"));
  EXPECT_THAT(text("op"), HasSubstr("    Hits: 256\n    Entries: 128\n    Dropped: 144\n"));
  EXPECT_EQ(accounting_line("op", tracing_.records().counts(tracing_.top(), event("op"))),
            "op: hits 400 = recorded 0 + aggregated 256 + filtered 0 + lost 144 + missed 0\n");
}

TEST_F(HistogramTest, ByOptionAFullTableDropsAsAKernels) {
  Tracing kernel({&target_}, {.cpus = 2, .kernel_drops = true});
  ASSERT_TRUE(kernel.definitions().write(grammar::EventsFile::Dynamic, "p:op2 open64 fd=%di:u32\n"));
  const TracedEvent& op = *kernel.events().find_written("op2");
  ASSERT_TRUE(kernel.triggers().write(kernel.top(), op, "hist:keys=fd:size=128"));
  for (std::uint32_t fd = 0; fd < 200; ++fd)
    target_.runtime().hit(op.id, {.bytes = payload(fd), .timestamp_ns = ++now_ * 1000, .pid = 7, .comm = "me"});
  kernel.drain();
  const std::string text = kernel.triggers().hist_text(kernel.top(), op);
  EXPECT_THAT(text, HasSubstr("hist:keys=fd:vals=hitcount:sort=hitcount:size=128 [active]"));
  EXPECT_THAT(text, HasSubstr("    Hits: 128\n    Entries: 128\n    Dropped: 72\n"));
}

// 3 keys of many: one that has made room has its own hits, and those that it took over.
TEST_F(HistogramTest, TopKeysMakeRoomForOthers) {
  ASSERT_EQ(trigger("op", "hist:keys=fd:vals=fd,fd.avg:size=128:top=3"), 0) << tracing_.top().errors.text();
  for (int i = 0; i < 9; ++i) hit("op", 1000);
  for (int i = 0; i < 5; ++i) hit("op", 1001);
  EXPECT_THAT(text("op"), Not(HasSubstr("Top"))) << "all keys are shown";
  for (std::uint32_t fd = 0; fd < 126; ++fd) hit("op", fd);
  EXPECT_THAT(text("op"), HasSubstr("    Hits: 140\n    Entries: 3\n    Dropped: 0\n"
                                    "\nTop 3: hits of any other key: 1 or fewer\n"));
  for (int i = 0; i < 3; ++i) hit("op", 500);  // makes room where one hit was
  EXPECT_EQ(entries("op"),
            "{ fd:       1000 } hitcount:          9  fd:       9000  fd (avg):    1000.00\n"
            "{ fd:       1001 } hitcount:          5  fd:       5005  fd (avg):    1001.00\n"
            "{ fd:        500 } hitcount:          4 (at least 3)  fd:       1500  fd (avg):     500.00\n");
  tracing_.triggers().take_histograms(tracing_.top(), std::array{&event("op")}, TriggerFiles::HistForms::Texts);
  hit("op", 7);
  EXPECT_EQ(entries("op"), "{ fd:          7 } hitcount:          1  fd:          7  fd (avg):       7.00\n");
}

// What Space-Saving promises, of counts that come in pieces: no count is too low, nor too high by more than its error;
// who is not there has no more than the least count; all counts together are all hits.
TEST_F(HistogramTest, TopKeysAreWithinTheirErrors) {
  const auto seed = testing::UnitTest::GetInstance()->random_seed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(static_cast<std::uint64_t>(seed));
  for (int round = 0; round < 20; ++round) {
    model::Histogram histogram;
    histogram.keys.push_back({.name = "fd"});
    histogram.bits = 7;
    histogram.top = static_cast<std::uint32_t>(random() % 127 + 1);
    HistTable table(histogram);
    std::map<std::uint64_t, std::uint64_t> truth;
    std::geometric_distribution<std::uint64_t> keys(0.001 * static_cast<double>(1 + random() % 20));
    std::uint64_t total = 0;
    for (int i = 0; i < 20000; ++i) {
      const std::uint64_t key = keys(random), hits = random() % 5 + 1;
      ASSERT_NE(table.count(std::string(reinterpret_cast<const char*>(&key), sizeof key), "me", hits), nullptr);
      truth[key] += hits;
      total += hits;
    }
    const auto shown = table.sorted(histogram);
    ASSERT_EQ(shown.size(), std::min<std::size_t>(histogram.top, truth.size()));
    for (const HistEntry* entry : shown) {
      std::uint64_t key = 0;
      std::memcpy(&key, entry->key.data(), sizeof key);
      EXPECT_LE(truth[key], entry->hits);
      EXPECT_GE(truth[key], entry->own_hits());
      EXPECT_LE(entry->error, total >> histogram.bits);
      truth.erase(key);
    }
    for (const auto& [key, hits] : truth) EXPECT_LE(hits, table.others_at_most().value_or(0));
    EXPECT_EQ(table.hits(), total);
    EXPECT_EQ(table.dropped(), 0u);
  }
}

TEST_F(HistogramTest, PausedClearedAndGone) {
  ASSERT_EQ(trigger("op", "hist:keys=fd"), 0);
  EXPECT_EQ(trigger("op", "hist:keys=fd"), EEXIST);
  hit("op", 1);
  ASSERT_EQ(trigger("op", "hist:keys=fd:pause"), 0);
  hit("op", 1);
  EXPECT_THAT(text("op"), HasSubstr("[paused]\n"));
  EXPECT_THAT(text("op"), HasSubstr("Hits: 1\n"));
  ASSERT_EQ(trigger("op", "hist:keys=fd:cont"), 0);
  hit("op", 1);
  EXPECT_THAT(text("op"), HasSubstr("Hits: 2\n"));
  ASSERT_EQ(trigger("op", "hist:keys=fd:clear"), 0);
  EXPECT_THAT(text("op"), HasSubstr("Hits: 0\n    Entries: 0\n"));
  ASSERT_TRUE(tracing_.triggers().truncate(tracing_.top(), event("op")));
  EXPECT_EQ(text("op"), "");
  EXPECT_FALSE(tracing_.top().find_state(event("op").id)->registered);
}

TEST_F(HistogramTest, SeveralOfOneEvent) {
  ASSERT_EQ(trigger("op", "hist:keys=fd"), 0);
  ASSERT_EQ(trigger("op", "hist:keys=common_pid"), 0);
  hit("op", 1);
  EXPECT_THAT(text("op"), HasSubstr("    Dropped: 0\n\n\n# event histogram\n"));
}

TEST_F(HistogramTest, ANameIsSharedByEvents) {
  ASSERT_EQ(trigger("op", "hist:name=all:keys=fd"), 0);
  ASSERT_EQ(trigger("cl", "hist:name=all:keys=fd"), 0);
  hit("op", 1);
  hit("cl", 1);
  EXPECT_THAT(entries("cl"), "{ fd:          1 } hitcount:          2\n");
  ASSERT_EQ(trigger("op", "!hist:name=all:keys=fd"), 0);
  EXPECT_THAT(entries("cl"), "{ fd:          1 } hitcount:          2\n") << "the other one still counts into it";
}

TEST_F(HistogramTest, OtherEventsSwitchIt) {
  ASSERT_EQ(trigger("op", "hist:keys=fd:pause"), 0);
  ASSERT_EQ(trigger("cl", "enable_hist:kprobes:op:1 if fd == 9"), 0);
  hit("op", 1);
  hit("cl", 9);
  hit("op", 1);
  EXPECT_THAT(text("op"), HasSubstr("Hits: 1\n"));
  EXPECT_EQ(tracing_.triggers().text(tracing_.top(), event("cl")), "enable_hist:kprobes:op:count=0 if fd == 9\n");
  ASSERT_EQ(trigger("cl", "!enable_hist:kprobes:op"), 0);
  ASSERT_EQ(trigger("cl", "disable_hist:kprobes:op"), 0);
  hit("cl", 1);
  hit("op", 1);
  EXPECT_THAT(text("op"), HasSubstr("Hits: 1\n"));
}

TEST_F(HistogramTest, ALatencyBecomesASyntheticEvent) {
  ASSERT_EQ(define("s:wait u32 fd; u64 lat; char[256] who; char who2[]"), 0);
  enable("synthetic/wait");
  ASSERT_EQ(trigger("op", "hist:keys=fd:ts0=common_timestamp:who=common_pid.execname"), 0);
  ASSERT_EQ(trigger("cl", "hist:keys=fd:lat=common_timestamp-$ts0:onmatch(kprobes.op).trace(wait,fd,$lat,$who,$who)"),
            0)
      << tracing_.top().errors.text();
  ASSERT_EQ(trigger("synthetic/wait", "hist:keys=fd,who:vals=lat"), 0);
  EXPECT_EQ(tracing_.top().clock, TraceClock::Global);
  hit("cl", 3);  // nothing was opened
  hit("op", 3);
  hit("op", 4);
  hit("cl", 3);
  hit("cl", 3);  // its start was taken
  EXPECT_THAT(lines(), EndsWith("wait: fd=3 lat=2000 who=me who2=me\n"));
  EXPECT_EQ(entries("synthetic/wait"),
            "{ fd:          3, who: me" + std::string(48, ' ') + " } hitcount:          1  lat:       2000\n");
  EXPECT_EQ(define("-:synthetic/wait"), EBUSY);
  EXPECT_EQ(trigger("op", "!hist:keys=fd:ts0=common_timestamp:who=common_pid.execname"), EBUSY)
      << "its variables are read";
}

// Its base is off, and is made all the same.
TEST_F(HistogramTest, AnEprobeReadsASyntheticEvent) {
  ASSERT_EQ(define("s:wait u32 fd; u64 lat; char[256] who; char who2[]"), 0);
  ASSERT_EQ(
      define("e:slow synthetic.wait f=$fd:u32 us=$lat:u64 a=$who:string b=$who2:string c=$comm:string if lat > 1000"),
      0)
      << tracing_.top().errors.text();
  ASSERT_EQ(trigger("op", "hist:keys=fd:ts0=common_timestamp:who=common_pid.execname"), 0);
  ASSERT_EQ(trigger("cl", "hist:keys=fd:lat=common_timestamp-$ts0:onmatch(kprobes.op).trace(wait,fd,$lat,$who,$who)"),
            0)
      << tracing_.top().errors.text();
  enable("eprobes/slow");
  ASSERT_EQ(trigger("eprobes/slow", "hist:keys=f:vals=us"), 0) << tracing_.top().errors.text();
  for (const std::uint32_t fd : {3u, 4u}) {
    hit("op", fd);
    if (fd == 4) hit("op", 5);  // time goes by
    hit("cl", fd);
  }
  EXPECT_THAT(lines(), EndsWith("slow: (synthetic.wait) f=4 us=2000 a=\"me\" b=\"me\" c=\"me\"\n"));
  EXPECT_EQ(entries("eprobes/slow"), "{ f:          4 } hitcount:          1  us:       2000\n");
  EXPECT_EQ(accounting_line("slow", tracing_.records().counts(tracing_.top(), event("eprobes/slow"))),
            "slow: hits 2 = recorded 1 + filtered 1 + lost 0 + missed 0\n");
  EXPECT_EQ(define("-:synthetic/wait"), EBUSY);
  EXPECT_EQ(trigger("eprobes/slow", "stacktrace"), EOPNOTSUPP);
}

TEST_F(HistogramTest, AnEprobeOfASyntheticEventHasItsRecordAlone) {
  ASSERT_EQ(define("s:opened u64 name"), 0);
  for (const char* definition : {"e:far synthetic.opened path=+0($name):string",
                                 "e:far synthetic.opened n=+8($name):u64", "e:far synthetic.opened n=$name:symstr"}) {
    ASSERT_EQ(define(definition), 0) << definition;
    const TracedEvent* const far = &event("eprobes/far");
    EXPECT_FALSE(tracing_.switcher().set_enabled(tracing_.top(), std::array{far}, true)) << definition;
    EXPECT_THAT(tracing_.top().errors.text(), HasSubstr("synthetic event")) << definition;
    ASSERT_EQ(define("-:eprobes/far"), 0);
  }
}

TEST_F(HistogramTest, TheGreatestIsSavedAndTakesASnapshot) {
  ASSERT_EQ(trigger("op", "hist:keys=common_pid:x=fd:onmax($x).save(fd,common_cpu):onmax($x).snapshot()"), 0)
      << tracing_.top().errors.text();
  enable("op");
  for (const std::uint32_t fd : {3u, 9u, 5u}) hit("op", fd);
  EXPECT_EQ(entries("op"),
            "{ common_pid:          7 } hitcount:          3\n"
            "\tmax:          9  fd:          9  common_cpu:          0\n"
            "\tmax:          9\n"
            "\nSnapshot taken (see tracing/snapshot).  Details:\n"
            "\ttriggering value { onmax($x) }:          9\ttriggered by event with key: { common_pid:          7 }\n");
  EXPECT_THAT(lines(), HasSubstr("fd=5\n"));
  EXPECT_THAT(lines(), Not(HasSubstr("fd=9\n"))) << "it is in the snapshot";
}

TEST_F(HistogramTest, ExpressionsAreTheKernels) {
  ASSERT_EQ(define("s:made u32 a; u32 b; u32 c"), 0);
  enable("synthetic/made");
  ASSERT_EQ(trigger("op", "hist:keys=common_pid:a=fd/3:b=fd*4-2:c=-(fd):onchange($b).made($a,$b,$c)"), 0)
      << tracing_.top().errors.text();
  hit("op", 2);
  EXPECT_THAT(lines(), EndsWith("made: a=1 b=6 c=4294967294\n")) << "2/3 is rounded up there";
}

TEST_F(HistogramTest, SyntheticEventsThatMakeThemselvesEnd) {
  ASSERT_EQ(define("s:again u32 n"), 0);
  enable("synthetic/again");
  ASSERT_EQ(trigger("op", "hist:keys=common_pid:nn=fd:onchange($nn).again($nn)"), 0);
  ASSERT_EQ(trigger("synthetic/again", "hist:keys=n:mm=n+1:onmax($mm).again($mm)"), 0) << tracing_.top().errors.text();
  hit("op", 1);
  EXPECT_EQ(tracing_.top().find_state(event("synthetic/again").id)->lost, 1u);
  EXPECT_EQ(tracing_.top().find_state(event("synthetic/again").id)->recorded, 4u);
}

TEST_F(HistogramTest, StacksAreKeysWhereTheyCanBeHad) {
  EXPECT_EQ(trigger("op", "hist:keys=stacktrace"), EOPNOTSUPP);
  EXPECT_THAT(tracing_.top().errors.text(), HasSubstr("probes of a fake have no stacks"));
}

class StackHistogramTest : public HistogramTest {
 protected:
  StackHistogramTest() { target_.has_stacks = true; }
};

TEST_F(StackHistogramTest, AStackIsAKey) {
  ASSERT_EQ(trigger("op", "hist:keys=stacktrace"), 0) << tracing_.top().errors.text();
  for (int i = 0; i < 2; ++i) {
    target_.runtime().hit(event("op").id,
                          {.bytes = payload(1), .timestamp_ns = ++now_ * 1000, .pid = 7, .stack = {0x1000}});
  }
  tracing_.drain();
  EXPECT_EQ(entries("op"), "{ common_stacktrace:\n         open64+0x0/0x100 [libc.so.6]\n} hitcount:          2\n");
}

// As in selftests of 6.12 (trigger-synthetic-event-stack.tc): a variable of a variable has a stack, too.
TEST_F(StackHistogramTest, AStackIsPassedOnByVariables) {
  ASSERT_EQ(define("s:wait u32 fd; unsigned long[] stack"), 0);
  enable("synthetic/wait");
  ASSERT_EQ(trigger("op", "hist:keys=fd:st=common_stacktrace"), 0) << tracing_.top().errors.text();
  ASSERT_EQ(trigger("cl", "hist:keys=fd:s=$st:onmatch(kprobes.op).trace(wait,fd,$s)"), 0)
      << tracing_.top().errors.text();
  EXPECT_EQ(trigger("cl", "hist:keys=fd:s2=$st:onmatch(kprobes.op).trace(wait,$s2,$s2)"), EINVAL);
  target_.runtime().hit(event("op").id,
                        {.bytes = payload(3), .timestamp_ns = ++now_ * 1000, .pid = 7, .stack = {0x1000}});
  hit("cl", 3);
  EXPECT_THAT(lines(), EndsWith("wait: fd=3 stack=STACK:\n=> open64+0x0/0x100 [libc.so.6]\n\n"));
}

TEST_F(HistogramTest, AClockThatIsNotThereIsNamed) {
  EXPECT_EQ(trigger("op", "hist:keys=fd:ts=common_timestamp:clock=x86-tsc"), EINVAL);
  EXPECT_THAT(tracing_.top().errors.text(), HasSubstr("there is no trace clock `x86-tsc` here"));
}

TEST_F(HistogramTest, LeastGreatestAndAverage) {
  define("p:sg open64 fd=%di:u32 ret=%si:s32\n");
  ASSERT_EQ(trigger("sg", "hist:keys=fd:vals=ret.min,ret.max,ret.avg,ret:sort=ret.max.descending"), 0);
  const auto call = [&](std::uint32_t fd, std::int32_t ret) {
    auto bytes = payload(fd);
    bytes.resize(bytes.size() + 4);
    std::memcpy(bytes.data() + bytes.size() - 4, &ret, sizeof ret);
    hit("sg", bytes);
  };
  for (const std::int32_t ret : {-7, 100, 4, 0}) call(3, ret);
  for (const std::int32_t ret : {-5, -2, -9}) call(4, ret);
  EXPECT_EQ(entries("sg"),
            "{ fd:          3 } hitcount:          4  ret (min):         -7  ret (max):        100  ret (avg):      "
            "24.25  ret:         97\n"
            "{ fd:          4 } hitcount:          3  ret (min):         -9  ret (max):         -2  ret (avg):      "
            "-5.33  ret: 18446744073709551600\n");
  // A reading of its own begins anew, also with the least and the greatest.
  tracing_.triggers().take_histograms(tracing_.top(), std::array{&event("sg")}, TriggerFiles::HistForms::Texts);
  call(3, 5);
  EXPECT_THAT(text("sg"),
              HasSubstr("ret (min):          5  ret (max):          5  ret (avg):       5.00  ret:          5\n"));
  EXPECT_THAT(text("sg"), Not(HasSubstr("fd:          4")));
}

}  // namespace
}  // namespace kevt::engine

// Definitions that are given together, and records that go to a tap.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/model/record_view.h"
#include "runtime-user/engine/tracing.h"
#include "runtime-user/engine/tracing_testing.h"

namespace kevt::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Remembers what it was given: "NAME fd", in an instance "INSTANCE/NAME fd", with '|' behind it where a stack came.
class Taken final : public RecordTap {
 public:
  bool take(const Instance& instance, const TracedEvent& event, TracedTarget&, const runtime::Record& record) override {
    all.push_back(instance.name + (instance.name.empty() ? "" : "/") + event.name + " " +
                  std::to_string(model::number_at(record.bytes, 16, 4)));
    return true;
  }
  void take_stack(const Instance&, TracedTarget&, const runtime::Record&, std::span<const std::uint64_t>) override {
    all.back() += '|';
  }
  std::vector<std::string> all;
};

class BatchTest : public testing::Test {
 protected:
  explicit BatchTest(bool keep_going = false)
      : tracing_({&target_}, {.cpus = 2, .keep_going = keep_going, .is_tapped = true}) {}

  BatchAnswer define(std::vector<std::string> definitions, std::vector<EventFilter> filters = {},
                     std::vector<EventTrigger> triggers = {}) {
    auto answer = tracing_.define({.definitions = definitions, .filters = filters, .triggers = triggers});
    EXPECT_TRUE(answer.has_value());
    return answer ? *std::move(answer) : BatchAnswer{};
  }
  bool switch_on() {
    std::vector<EventSwitcher::InstanceEvent> all;
    for (const auto& [id, event] : tracing_.events().events()) all.push_back({&tracing_.top(), event.get()});
    return tracing_.switcher().switch_on(all).has_value();
  }
  void hit(std::string_view name, std::uint32_t fd) {
    target_.runtime().hit(tracing_.events().find("kprobes", name)->id,
                          {.bytes = payload(fd), .timestamp_ns = ++now_ * 1000, .comm = "me"});
  }
  // hits, recorded, filtered
  std::vector<std::uint64_t> counts(std::string_view name) {
    const auto c = tracing_.records().counts(tracing_.top(), *tracing_.events().find("kprobes", name));
    return {c.attempts, c.recorded, c.filtered};
  }
  static std::vector<std::size_t> indices(const BatchAnswer& answer) {
    std::vector<std::size_t> indices;
    for (const Problem& problem : answer.problems) indices.push_back(problem.index);
    return indices;
  }

  FakeTarget target_{8};
  Tracing tracing_;
  Taken taken_;
  std::uint64_t now_ = 1000;
};

TEST_F(BatchTest, AllMistakesAreToldAndNothingIsDefined) {
  const BatchAnswer answer = define({"p:op open64 fd=%di:u32", "p:no nosuch", "p:cl close fd=%zz"});
  EXPECT_FALSE(answer.is_defined);
  EXPECT_THAT(indices(answer), ElementsAre(1, 2));
  EXPECT_THAT(tracing_.events().events(), IsEmpty());
}

TEST_F(BatchTest, NothingIsArmedBeforeItIsSwitchedOn) {
  ASSERT_TRUE(define({"p:op open64 fd=%di:u32"}, {}, {{"op", "traceoff if fd == 2"}}).is_defined);
  EXPECT_EQ(target_.runtime().armed(), 0u);
  ASSERT_TRUE(switch_on());
  EXPECT_EQ(target_.runtime().armed(), 1u);
}

TEST_F(BatchTest, AWrongTriggerTakesAllDown) {
  const BatchAnswer answer = define({"p:op open64 fd=%di:u32"}, {}, {{"op", "traceon"}, {"op", "traceof"}});
  EXPECT_FALSE(answer.is_defined);
  ASSERT_EQ(answer.problems.size(), 1u);
  EXPECT_EQ(answer.problems[0].kind, Problem::Kind::Trigger);
  EXPECT_EQ(answer.problems[0].index, 1u);
  EXPECT_THAT(tracing_.events().events(), IsEmpty());
  ASSERT_TRUE(define({"p:op open64 fd=%di:u32"}).is_defined);  // the name is free again
}

TEST_F(BatchTest, ATriggerOfAnUnknownEventIsToldByName) {
  const BatchAnswer answer = define({"p:op open64 fd=%di:u32"}, {}, {{"other", "traceon"}});
  ASSERT_EQ(answer.problems.size(), 1u);
  EXPECT_THAT(answer.problems[0].diagnostic.detail, HasSubstr("`other` is not defined here"));
}

TEST_F(BatchTest, ASnapshotHasNoBufferToBeKeptIn) {
  const BatchAnswer answer = define({"p:op open64 fd=%di:u32"}, {}, {{"op", "snapshot"}});
  ASSERT_EQ(answer.problems.size(), 1u);
  EXPECT_THAT(answer.problems[0].diagnostic.detail, HasSubstr("kevtrace mount"));
}

TEST_F(BatchTest, RecordsStayInTheirRingsUntilThereIsATap) {
  ASSERT_TRUE(define({"p:op open64 fd=%di:u32"}).is_defined);
  ASSERT_TRUE(switch_on());
  hit("op", 1);
  EXPECT_EQ(tracing_.drain(), 0u);
  tracing_.records().set_tap(taken_, DrainOrder::ByTime);
  tracing_.drain();
  EXPECT_THAT(taken_.all, ElementsAre("op 1"));
  EXPECT_THAT(counts("op"), ElementsAre(1, 1, 0));
}

// The fake's code asks no filter, as code that was made before the filter would not.
TEST_F(BatchTest, WhatAFilterOfTheReaderRejectsIsNotTaken) {
  ASSERT_TRUE(define({"p:op open64 fd=%di:u32", "p:cl close fd=%di:u32"}).is_defined);
  ASSERT_TRUE(switch_on());
  tracing_.records().set_tap(taken_, DrainOrder::ByTime);
  ASSERT_TRUE(tracing_.filters().write(tracing_.top(), *tracing_.events().find("kprobes", "op"), "fd > 3"));
  hit("op", 3);
  hit("op", 4);
  hit("cl", 1);
  tracing_.drain();
  EXPECT_THAT(taken_.all, ElementsAre("op 4", "cl 1"));
  EXPECT_THAT(counts("op"), ElementsAre(2, 1, 1));
}

// Without words of its target the reader carries triggers out, in the order of the hits.
TEST(TapWithTriggers, WhatComesBehindATraceoffIsFiltered) {
  FakeTarget target;
  Tracing tracing({&target}, {.cpus = 2, .is_tapped = true});
  const std::vector<std::string> definitions = {"p:op open64 fd=%di:u32"};
  const std::vector<EventTrigger> triggers = {{"op", "traceoff:1 if fd == 2"}};
  auto answer = tracing.define({.definitions = definitions, .filters = {}, .triggers = triggers});
  ASSERT_TRUE(answer && answer->is_defined);
  const TracedEvent* const event = tracing.events().find("kprobes", "op");
  const EventSwitcher::InstanceEvent on[] = {{&tracing.top(), event}};
  ASSERT_TRUE(tracing.switcher().switch_on(on).has_value());
  Taken taken;
  tracing.records().set_tap(taken, DrainOrder::ByTime);
  for (std::uint32_t fd : {1u, 2u, 3u})
    target.runtime().hit(event->id, {.bytes = payload(fd), .timestamp_ns = fd * 1000, .comm = "me"});
  tracing.drain();
  EXPECT_THAT(taken.all, ElementsAre("op 1", "op 2"));
  const runtime::EventCounts c = tracing.records().counts(tracing.top(), *event);
  EXPECT_EQ(c.attempts, 3u);
  EXPECT_EQ(c.recorded, 2u);
  EXPECT_EQ(c.filtered, 1u);
}

// Two views of the same hits.
TEST_F(BatchTest, AnInstanceHasItsOwnFiltersTriggersAndRecords) {
  ASSERT_TRUE(tracing_.instances().make("big"));
  Instance& big = *tracing_.instances().find("big");
  ASSERT_TRUE(define({"p:op open64 fd=%di:u32", "p:cl close fd=%di:u32"},
                     {{"op", "fd < 3"}, {.event = "op", .text = "fd > 1", .instance = "big"}},
                     {{.event = "op", .text = "traceoff if fd == 3", .instance = "big"}})
                  .is_defined);
  const TracedEvent* const op = tracing_.events().find("kprobes", "op");
  const EventSwitcher::InstanceEvent on[] = {
      {&tracing_.top(), op}, {&big, op}, {&tracing_.top(), tracing_.events().find("kprobes", "cl")}};
  ASSERT_TRUE(tracing_.switcher().switch_on(on).has_value());
  tracing_.records().set_tap(taken_, DrainOrder::ByTime);
  for (const std::uint32_t fd : {1u, 2u, 3u, 4u}) hit("op", fd);
  hit("cl", 9);
  tracing_.drain();
  EXPECT_THAT(taken_.all, ElementsAre("op 1", "op 2", "big/op 2", "big/op 3", "cl 9"));
  const runtime::EventCounts top = tracing_.records().counts(tracing_.top(), *op);
  EXPECT_EQ(top.recorded, 2u);
  EXPECT_EQ(top.filtered, 2u);
  const runtime::EventCounts other = tracing_.records().counts(big, *op);
  EXPECT_EQ(other.attempts, 4u);
  EXPECT_EQ(other.recorded, 2u);
  EXPECT_EQ(other.filtered, 2u);
}

TEST_F(BatchTest, AWrongFilterOrTriggerOfAnInstanceTakesAllDown) {
  ASSERT_TRUE(tracing_.instances().make("big"));
  BatchAnswer answer =
      define({"p:op open64 fd=%di:u32"}, {{"op", "fd == 1"}, {.event = "op", .text = "fx == 1", .instance = "big"}});
  EXPECT_FALSE(answer.is_defined);
  ASSERT_EQ(answer.problems.size(), 1u);
  EXPECT_EQ(answer.problems[0].kind, Problem::Kind::Filter);
  EXPECT_EQ(answer.problems[0].index, 1u);
  answer = define({"p:op open64 fd=%di:u32"}, {{.event = "other", .text = "fd == 1", .instance = "big"}});
  ASSERT_EQ(answer.problems.size(), 1u);
  EXPECT_FALSE(answer.is_defined);
  // A histogram's name is an instance's own: what one has is no mistake in the other.
  answer = define({"p:op open64 fd=%di:u32"}, {},
                  {{"op", "hist:keys=fd:name=x"}, {.event = "op", .text = "hist:keys=fd:name=x", .instance = "big"}});
  EXPECT_TRUE(answer.is_defined);
}

class KeepGoingTest : public BatchTest {
 protected:
  KeepGoingTest() : BatchTest(true) {}
};

TEST_F(KeepGoingTest, WhatIsRightIsDefined) {
  const BatchAnswer answer = define({"p:no nosuch", "p:op open64 fd=%di:u32"});
  EXPECT_TRUE(answer.is_defined);
  EXPECT_THAT(indices(answer), ElementsAre(0));
  EXPECT_TRUE(answer.serials[0].empty());
  EXPECT_EQ(answer.serials[1].size(), 1u);
}

TEST_F(KeepGoingTest, ABatchThatIsRefusedIsInstalledOneByOne) {
  ASSERT_TRUE(define({"p:op open64 fd=%di:u32", "p:cl close fd=%di:u32"}).is_defined);
  target_.runtime().next_refusal = Error("no room for both", ENOSPC);
  ASSERT_TRUE(switch_on());
  EXPECT_EQ(target_.runtime().armed(), 2u);
}

// Its library went between the two looks.
TEST_F(KeepGoingTest, WhatCannotBePlacedIsToldAndTheOthersAreOn) {
  target_.load();
  const BatchAnswer answer = define({"p:op open64 fd=%di:u32", "p:gone comes_and_goes"});
  ASSERT_TRUE(answer.is_defined);
  target_.unload();
  const EventSwitcher::InstanceEvent events[] = {{&tracing_.top(), tracing_.events().find("kprobes", "op")},
                                                 {&tracing_.top(), tracing_.events().find("kprobes", "gone")}};
  const auto left_out = tracing_.switcher().switch_on(events);
  ASSERT_TRUE(left_out.has_value());
  ASSERT_EQ(left_out->size(), 1u);
  EXPECT_EQ(left_out->front().serial, answer.serials[1].front());
  EXPECT_EQ(target_.runtime().armed(), 1u);
}

TEST_F(KeepGoingTest, AWrongFilterTakesAllDown) {
  EXPECT_FALSE(define({"p:op open64 fd=%di:u32"}, {{"op", "nofield == 1"}}).is_defined);
  EXPECT_THAT(tracing_.events().events(), IsEmpty());
}

// One definition, two targets: it must be right in both.
TEST(SeveralTargets, TheOneThatLacksItIsNamed) {
  FakeTarget first, second;
  second.load();
  Tracing tracing({&second, &first}, {.is_tapped = true});
  const std::vector<std::string> definitions = {"p:op comes_and_goes"};
  const auto answer = tracing.define({.definitions = definitions, .filters = {}, .triggers = {}});
  ASSERT_TRUE(answer.has_value());
  EXPECT_FALSE(answer->is_defined);
  EXPECT_EQ(answer->where, &first);
}

TEST(Injections, WhatIsNotDefinedCannotInject) {
  FakeTarget target;
  Tracing tracing({&target}, {.injections = {{"other", {.value = 1}}}, .is_tapped = true});
  const std::vector<std::string> definitions = {"p:op open64 fd=%di:u32"};
  const auto answer = tracing.define({.definitions = definitions, .filters = {}, .triggers = {}});
  ASSERT_FALSE(answer.has_value());
  EXPECT_THAT(answer.error().message(), HasSubstr("`other` is to inject and is not defined here"));
}

}  // namespace
}  // namespace kevt::engine

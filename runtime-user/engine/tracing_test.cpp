#include "runtime-user/engine/tracing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "runtime-user/engine/text/trace_text.h"
#include "runtime-user/engine/tracing_testing.h"

namespace kevt::engine {
namespace {

using testing::HasSubstr;
using testing::Not;

class TracingTest : public testing::Test {
 protected:
  explicit TracingTest(std::size_t words = 0) : target_(words) {}
  int define(std::string_view text, grammar::EventsFile file = grammar::EventsFile::Kprobe) {
    auto done = tracing_.definitions().write(file, text);
    return done ? 0 : done.error().errno_value();
  }
  const TracedEvent& event(std::string_view name) { return *tracing_.events().find("kprobes", name); }
  int enable(std::string_view name, bool on = true) {
    const TracedEvent* const all[] = {&event(name)};
    auto done = tracing_.switcher().set_enabled(tracing_.top(), all, on);
    return done ? 0 : done.error().errno_value();
  }
  int filter(std::string_view name, std::string_view text) {
    auto done = tracing_.filters().write(tracing_.top(), event(name), text);
    return done ? 0 : done.error().errno_value();
  }
  int trigger(std::string_view name, std::string_view text) {
    auto done = tracing_.triggers().write(tracing_.top(), event(name), text);
    return done ? 0 : done.error().errno_value();
  }
  void hit(std::string_view name, std::uint32_t fd) {
    target_.runtime().hit(event(name).id,
                          {.bytes = payload(fd), .timestamp_ns = ++now_ * 1000, .pid = 7, .comm = "me"});
    tracing_.drain();
  }
  std::string lines(Instance& instance) {
    TraceText text(tracing_);
    std::string out;
    TraceBuffer::Cursor cursor;
    while (const auto entry = instance.buffer.next(cursor, std::nullopt)) text.append(instance, *entry, out);
    return out;
  }
  std::string lines() { return lines(tracing_.top()); }
  std::string listing() { return tracing_.events().listing(grammar::EventsFile::Dynamic); }

  FakeTarget target_;
  Tracing tracing_{{&target_}, {.cpus = 2}};
  std::uint64_t now_ = 1000;
};

// Triggers act at the hit: the runtime has words for them.
class TracingWithWordsTest : public TracingTest {
 protected:
  TracingWithWordsTest() : TracingTest(16) {}
};

TEST_F(TracingTest, ADefinedEventRecordsWhenItIsOn) {
  ASSERT_EQ(define("p:op open64 fd=%di:u32"), 0);
  EXPECT_EQ(listing(), "p:kprobes/op open64 fd=%di:u32\n");
  hit("op", 1);
  EXPECT_EQ(lines(), "");
  ASSERT_EQ(enable("op"), 0);
  hit("op", 3);
  EXPECT_EQ(lines(), "              me-7       [000] .....     0.001002: op: (open64+0x0/0x100 [libc.so.6]) fd=3\n");
  ASSERT_EQ(enable("op", false), 0);
  hit("op", 4);
  EXPECT_THAT(lines(), Not(HasSubstr("fd=4")));
}

TEST_F(TracingTest, TheFirstWrongLineStopsAndIsLogged) {
  EXPECT_EQ(define("p:a open64\np:b nowhere\np:c close\n"), EINVAL);
  EXPECT_EQ(listing(), "p:kprobes/a open64\n");
  EXPECT_THAT(tracing_.top().errors.text(), HasSubstr("trace_kprobe: error: Invalid probed address or symbol"));
  EXPECT_THAT(tracing_.top().errors.text(), HasSubstr("  Command: p:b nowhere\n               ^\n"));
}

TEST_F(TracingTest, WhatIsOnCannotBeRemoved) {
  define("p:a open64\np:b close\n");
  enable("b");
  EXPECT_EQ(define("-:b"), EBUSY);
  EXPECT_EQ(define("-:kprobes/"), EBUSY);
  EXPECT_EQ(listing(), "p:kprobes/b close\n");  // what stood before the busy one is gone
  EXPECT_EQ(define("-:nobody"), ENOENT);
  auto all = tracing_.definitions().remove_all(grammar::EventsFile::Kprobe);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().errno_value(), EBUSY);
  enable("b", false);
  EXPECT_TRUE(tracing_.definitions().remove_all(grammar::EventsFile::Kprobe));
  EXPECT_EQ(listing(), "");
}

TEST_F(TracingTest, ASiblingOfAnEventThatIsOnIsArmedAtOnce) {
  define("p:a open64");
  enable("a");
  EXPECT_EQ(target_.runtime().armed(), 1u);
  EXPECT_EQ(define("p:kprobes/a close"), 0);
  EXPECT_EQ(target_.runtime().armed(), 2u);
  EXPECT_EQ(define("-:a close"), 0);
  EXPECT_EQ(target_.runtime().armed(), 1u);
}

TEST_F(TracingTest, AFilterIsExchangedWhileItRuns) {
  define("p:op open64 fd=%di:u32");
  enable("op");
  hit("op", 1);
  EXPECT_EQ(filter("op", "fd > 2"), 0);
  EXPECT_EQ(target_.runtime().armed(), 1u);
  hit("op", 1);  // the fake does not filter: the engine does, with the same condition
  hit("op", 5);
  EXPECT_EQ(filter("op", "0"), 0);
  hit("op", 2);
  const std::string text = lines();
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
  const auto counts = tracing_.records().counts(tracing_.top(), event("op"));
  EXPECT_EQ(counts.attempts, 4u);
  EXPECT_EQ(counts.recorded, 3u);
  EXPECT_EQ(counts.filtered, 1u);
}

TEST_F(TracingTest, ARecordOfAThreadThatWasKilledBeforeItCountedIsNotLost) {
  define("p:op open64 fd=%di:u32");
  enable("op");
  hit("op", 1);
  target_.runtime().hit_and_be_killed(event("op").id, {.bytes = payload(2), .timestamp_ns = 2000});
  EXPECT_EQ(tracing_.records().counts(tracing_.top(), event("op")).lost, 1u);  // it is not known yet
  tracing_.drain();
  const std::string text = lines();
  EXPECT_EQ(std::ranges::count(text, '\n'), 2);
  const auto counts = tracing_.records().counts(tracing_.top(), event("op"));
  EXPECT_EQ(counts.attempts, 2u);
  EXPECT_EQ(counts.recorded, 2u);
  EXPECT_EQ(counts.lost, 0u);
}

TEST_F(TracingTest, AWrongFilterTurnsFilteringOff) {
  define("p:op open64 fd=%di:u32");
  EXPECT_EQ(filter("op", "fd > 2"), 0);
  EXPECT_EQ(filter("op", "nosuch > 2"), EINVAL);
  const EventState* state = tracing_.top().find_state(event("op").id);
  EXPECT_FALSE(state->filter);
  EXPECT_THAT(state->filter_mistake, HasSubstr("parse_error: Field not found"));
  EXPECT_THAT(tracing_.top().errors.text(), HasSubstr("event filter parse error: error: Field not found"));
}

TEST_F(TracingTest, TracesOffAtTheHitThatAsksForIt) {
  define("p:op open64 fd=%di:u32");
  enable("op");
  ASSERT_EQ(trigger("op", "traceoff:1 if fd == 5"), 0);
  EXPECT_EQ(tracing_.triggers().text(tracing_.top(), event("op")), "traceoff:count=1 if fd == 5\n");
  for (std::uint32_t fd = 3; fd < 9; ++fd) hit("op", fd);
  EXPECT_THAT(lines(), HasSubstr("fd=5\n"));
  EXPECT_THAT(lines(), Not(HasSubstr("fd=6\n")));
  EXPECT_FALSE(tracing_.top().tracing_on);
  EXPECT_EQ(tracing_.triggers().text(tracing_.top(), event("op")), "traceoff:count=0 if fd == 5\n");
  EXPECT_EQ(trigger("op", "!traceoff"), 0);
  EXPECT_THAT(tracing_.triggers().text(tracing_.top(), event("op")), HasSubstr("# Available triggers:"));
  const auto counts = tracing_.records().counts(tracing_.top(), event("op"));
  EXPECT_EQ(counts.attempts, counts.recorded + counts.filtered + counts.lost + counts.missed);
}

TEST_F(TracingTest, AStackStandsBehindTheHitsThatAskForIt) {
  target_.has_stacks = true;
  target_.process = 7;
  define("p:op open64 fd=%di:u32");
  enable("op");
  ASSERT_EQ(trigger("op", "stacktrace:2 if fd > 3"), 0);
  for (std::uint32_t fd = 2; fd < 8; ++fd) {
    target_.runtime().hit(event("op").id,
                          {.bytes = payload(fd), .timestamp_ns = ++now_ * 1000, .pid = 7, .stack = {0x1000}});
    tracing_.drain();
  }
  const std::string text = lines();
  const std::string stack = "<user stack trace>\n => open64+0x0/0x100 [libc.so.6] <0000000000001000>\n";
  EXPECT_THAT(text, HasSubstr("fd=3\n"));
  for (const char* with : {"fd=4\n", "fd=5\n"}) {
    const std::size_t at = text.find(with);
    ASSERT_NE(at, std::string::npos);
    EXPECT_EQ(text.find(stack, at), text.find("<", at)) << with;
  }
  EXPECT_THAT(text, HasSubstr("fd=7\n"));
  EXPECT_EQ(text.find("<user", text.find("fd=6\n")), std::string::npos);
  EXPECT_EQ(tracing_.triggers().text(tracing_.top(), event("op")), "stacktrace:count=0 if fd > 3\n");
  ASSERT_EQ(trigger("op", "!stacktrace"), 0);
  hit("op", 9);
  EXPECT_THAT(lines(), HasSubstr("fd=9\n"));
}

TEST_F(TracingTest, AHitOfCodeWithoutAStackUsesNoCountUp) {
  target_.has_stacks = true;
  define("p:op open64 fd=%di:u32");
  enable("op");
  target_.runtime().hit(event("op").id, {.bytes = payload(1), .timestamp_ns = 1000, .pid = 7});  // not drained yet
  ASSERT_EQ(trigger("op", "stacktrace:1"), 0);
  EXPECT_THAT(lines(), HasSubstr("fd=1\n"));
  EXPECT_EQ(tracing_.triggers().text(tracing_.top(), event("op")), "stacktrace:count=1\n");
}

TEST_F(TracingTest, StacksAreRefusedWhereNobodyUnwinds) {
  define("p:op open64 fd=%di:u32");
  EXPECT_EQ(trigger("op", "stacktrace"), EOPNOTSUPP);
  EXPECT_THAT(tracing_.top().errors.text(), HasSubstr("probes of a fake have no stacks"));
  EXPECT_FALSE(tracing_.switcher().set_option(tracing_.top(), TraceOption::UserStacktrace, true));
  EXPECT_FALSE(tracing_.top().options.has(TraceOption::UserStacktrace));
}

TEST_F(TracingTest, AnEventSwitchesAnotherOne) {
  define("p:op open64 fd=%di:u32\np:cl close fd=%di:u32\n");
  enable("op");
  ASSERT_EQ(trigger("op", "enable_event:kprobes:cl:1 if fd == 2"), 0);
  const EventState* target = tracing_.top().find_state(event("cl").id);
  EXPECT_TRUE(target->registered && !target->softly_on);
  hit("cl", 10);
  hit("op", 2);
  hit("cl", 11);
  EXPECT_THAT(lines(), Not(HasSubstr("fd=10")));
  EXPECT_THAT(lines(), HasSubstr("cl: (open64+0x0/0x100 [libc.so.6]) fd=11"));
  EXPECT_EQ(define("-:cl"), EBUSY);
  EXPECT_EQ(trigger("op", "!enable_event:kprobes:cl"), 0);
  EXPECT_EQ(tracing_.top().find_state(event("cl").id)->soft_users, 0u);
}

TEST_F(TracingWithWordsTest, WhatHitsSwitchIsInSoftModeBeforeTheyDo) {
  define("p:op open64 fd=%di:u32\np:cl close fd=%di:u32\n");
  enable("op");
  std::vector<std::uint32_t> users_when_op_was_armed;
  target_.runtime().before_change = [&](std::span<const std::uint32_t> ids, bool armed) {
    if (!armed || std::ranges::find(ids, event("op").id) == ids.end()) return;
    const EventState* target = tracing_.top().find_state(event("cl").id);
    users_when_op_was_armed.push_back(target ? static_cast<std::uint32_t>(target->soft_users) : 0);
  };
  ASSERT_EQ(trigger("op", "disable_event:kprobes:cl:1"), 0);
  EXPECT_THAT(users_when_op_was_armed, testing::Each(1u));
  EXPECT_FALSE(users_when_op_was_armed.empty());
  users_when_op_was_armed.clear();
  ASSERT_EQ(trigger("op", "!disable_event:kprobes:cl"), 0);
  EXPECT_THAT(users_when_op_was_armed, testing::Each(1u)) << "the code that acts goes first";
  EXPECT_EQ(tracing_.top().find_state(event("cl").id)->soft_users, 0u);
}

TEST_F(TracingWithWordsTest, ATriggerWhoseCodeCannotBeTakenOutStays) {
  define("p:op open64 fd=%di:u32\np:cl close fd=%di:u32\n");
  enable("op");
  ASSERT_EQ(trigger("op", "disable_event:kprobes:cl:7"), 0);
  target_.runtime().next_arm_refusal = Error("not now", EAGAIN);
  EXPECT_EQ(trigger("op", "!disable_event:kprobes:cl"), EAGAIN);
  EXPECT_EQ(tracing_.triggers().text(tracing_.top(), event("op")), "disable_event:kprobes:cl:count=7\n");
  EXPECT_EQ(tracing_.top().find_state(event("cl").id)->soft_users, 1u);
  EXPECT_EQ(tracing_.top().find_state(event("op").id)->soft_users, 1u);
  EXPECT_EQ(define("-:cl"), EBUSY);
  EXPECT_EQ(trigger("op", "!disable_event:kprobes:cl"), 0);
  EXPECT_EQ(tracing_.top().find_state(event("cl").id)->soft_users, 0u);
  EXPECT_EQ(tracing_.top().find_state(event("op").id)->soft_users, 0u);
  EXPECT_EQ(define("-:cl"), 0);
}

TEST_F(TracingWithWordsTest, AnInstanceWhoseCodeCannotBeTakenOutStays) {
  define("p:op open64 fd=%di:u32");
  ASSERT_TRUE(tracing_.instances().make("inner"));
  Instance& inner = *tracing_.instances().find("inner");
  const TracedEvent* const all[] = {&event("op")};
  ASSERT_TRUE(tracing_.switcher().set_enabled(inner, all, true));
  ASSERT_TRUE(tracing_.triggers().write(inner, event("op"), "traceoff:3"));
  target_.runtime().next_refusal = Error("not now", EAGAIN);
  EXPECT_FALSE(tracing_.remove_instance("inner"));
  ASSERT_EQ(tracing_.instances().find("inner"), &inner);
  EXPECT_EQ(tracing_.triggers().text(inner, event("op")), "traceoff:count=3\n");
  EXPECT_TRUE(inner.find_state(event("op").id)->registered);
  EXPECT_EQ(target_.runtime().armed(), 1u);
  EXPECT_TRUE(tracing_.remove_instance("inner"));
  EXPECT_EQ(target_.runtime().armed(), 0u);
}

TEST_F(TracingWithWordsTest, CodeThatGoesToAndFroIsMadeOnce) {
  define("p:op open64 fd=%di:u32\np:cl close fd=%di:u32\n");
  enable("op");
  enable("cl");
  ASSERT_EQ(trigger("op", "traceoff"), 0);
  ASSERT_EQ(trigger("op", "!traceoff"), 0);
  const std::size_t installed = target_.runtime().installed();
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(trigger("op", "traceoff if fd == 5"), 0);
    hit("cl", 1);
    ASSERT_EQ(trigger("op", "!traceoff"), 0);
    hit("cl", 2);
  }
  EXPECT_EQ(target_.runtime().installed(), installed + 20) << "what acts is new each time, everything else is not";
  EXPECT_EQ(target_.runtime().armed(), 2u);
  EXPECT_EQ(tracing_.code().counts(event("cl").id).attempts, 40u);
}

TEST_F(TracingTest, CodeThatCannotBeExchangedStays) {
  define("p:op open64 fd=%di:u32");
  enable("op");
  target_.runtime().next_arm_refusal = Error("not now", EAGAIN);
  EXPECT_EQ(filter("op", "fd > 2"), EAGAIN);
  EXPECT_EQ(target_.runtime().armed(), 1u);
  hit("op", 3);
  EXPECT_THAT(lines(), HasSubstr("fd=3"));
}

TEST_F(TracingTest, WhatCannotRunIsRefusedWhenItIsEnabled) {
  ASSERT_EQ(define("p:op open64"), 0);
  target_.runtime().next_refusal = Error("the place is not for probes");
  EXPECT_EQ(enable("op"), EINVAL);
  EXPECT_THAT(tracing_.top().errors.text(), HasSubstr("kevtrace: error: the place is not for probes"));
  EXPECT_FALSE(tracing_.top().find_state(event("op").id)->registered);
  EXPECT_EQ(enable("op"), 0);
  target_.alive = false;
  EXPECT_EQ(define("p:other close"), 0);
  EXPECT_EQ(enable("other"), ESRCH);
}

TEST_F(TracingTest, OneThatIsRefusedCostsTheOthersFewSteps) {
  constexpr std::size_t kEvents = 256;
  target_.load();
  std::vector<const TracedEvent*> all;
  for (std::size_t i = 0; i < kEvents; ++i) {
    const std::string name = "e" + std::to_string(i);
    ASSERT_EQ(define("p:" + name + (i == 100 ? " comes_and_goes" : " open64")), 0);
    all.push_back(&event(name));
  }
  target_.unload();
  auto done = tracing_.switcher().set_enabled(tracing_.top(), all, true);
  ASSERT_FALSE(done);
  for (std::size_t i = 0; i < kEvents; ++i) EXPECT_EQ(tracing_.top().find_state(all[i]->id)->registered, i != 100) << i;
  EXPECT_EQ(target_.runtime().armed(), kEvents - 1);
  EXPECT_LE(target_.runtime().changes, 2u * 8);  // of 256, by halves
  const std::string log = tracing_.top().errors.text();
  EXPECT_EQ(log.find("Command: p:e100"), log.rfind("Command: "));  // told once
}

TEST_F(TracingTest, InstancesHaveBuffersAndFiltersOfTheirOwn) {
  define("p:op open64 fd=%di:u32");
  ASSERT_TRUE(tracing_.instances().make("i"));
  EXPECT_EQ(tracing_.instances().make("i").error().errno_value(), EEXIST);
  Instance& other = *tracing_.instances().find("i");
  enable("op");
  const TracedEvent* const all[] = {&event("op")};
  ASSERT_TRUE(tracing_.switcher().set_enabled(other, all, true));
  ASSERT_TRUE(tracing_.filters().write(other, event("op"), "fd == 1"));
  hit("op", 1);
  hit("op", 2);
  EXPECT_EQ(tracing_.records().counts(other, event("op")).recorded, 1u);
  EXPECT_EQ(tracing_.records().counts(tracing_.top(), event("op")).recorded, 2u);
  EXPECT_EQ(tracing_.code().counts(event("op").id).attempts, 2u);
  other.users = 1;
  EXPECT_EQ(tracing_.remove_instance("i").error().errno_value(), EBUSY);
  other.users = 0;
  EXPECT_TRUE(tracing_.remove_instance("i"));
  hit("op", 3);
  EXPECT_EQ(tracing_.records().counts(tracing_.top(), event("op")).recorded, 3u);
}

TEST_F(TracingTest, MarkersAreLines) {
  tracing_.markers().write(tracing_.top(), 12, "sh", "hello");
  const std::string text = lines();
  EXPECT_THAT(text, HasSubstr("              sh-12      [000] ..... "));
  EXPECT_THAT(text, HasSubstr(": tracing_mark_write: hello\n"));
}

TEST_F(TracingTest, AMarkersTriggerSeesItAsItWasWritten) {
  ASSERT_TRUE(tracing_.triggers().write(tracing_.top(), tracing_.markers().event(), "traceoff if buf == \"stop\""));
  for (const char* text : {"stop it", "stop", "late"}) tracing_.markers().write(tracing_.top(), 12, "sh", text);
  EXPECT_THAT(lines(), HasSubstr(": tracing_mark_write: stop\n"));
  EXPECT_THAT(lines(), Not(HasSubstr("late")));
}

TEST_F(TracingTest, AConditionOnCharactersInPlaceReadsThem) {
  ASSERT_TRUE(tracing_.triggers().write(tracing_.top(), tracing_.markers().event(), "traceoff:1 if buf ~ \"*end*\""));
  for (const char* text : {"begin", "the end of it", "late"}) tracing_.markers().write(tracing_.top(), 12, "sh", text);
  EXPECT_THAT(lines(), testing::AllOf(HasSubstr("the end of it\n"), Not(HasSubstr("late"))));
}

TEST_F(TracingTest, ASnapshotTakesTheBufferAway) {
  define("p:op open64 fd=%di:u32");
  enable("op");
  ASSERT_EQ(trigger("op", "snapshot if fd == 2"), 0);
  for (std::uint32_t fd = 1; fd < 4; ++fd) hit("op", fd);
  EXPECT_THAT(lines(), testing::AllOf(Not(HasSubstr("fd=1\n")), Not(HasSubstr("fd=2\n")), HasSubstr("fd=3\n")));
  EXPECT_EQ(tracing_.top().snapshot->stats(std::nullopt).entries, 2u);
}

TEST_F(TracingTest, ASnapshotWithoutAConditionComesBeforeTheRecord) {
  define("p:op open64 fd=%di:u32");
  enable("op");
  ASSERT_EQ(trigger("op", "snapshot:1"), 0);
  hit("op", 1);
  EXPECT_THAT(lines(), HasSubstr("fd=1\n"));
  EXPECT_EQ(tracing_.top().snapshot->stats(std::nullopt).entries, 0u);
}

TEST_F(TracingTest, AnEventThatATriggerAloneNeedsIsNotOn) {
  define("p:op open64 fd=%di:u32");
  EXPECT_FALSE(tracing_.instances().is_any_on());
  ASSERT_EQ(trigger("op", "traceoff if fd == 5"), 0);
  EXPECT_TRUE(tracing_.switcher().is_active());
  EXPECT_FALSE(tracing_.instances().is_any_on());
  enable("op");
  EXPECT_TRUE(tracing_.instances().is_any_on());
}

TEST_F(TracingTest, SyntheticEventsAreDefinedAndListed) {
  EXPECT_EQ(define("lat u64 delta; pid_t pid", grammar::EventsFile::Synthetic), 0);
  EXPECT_EQ(tracing_.events().listing(grammar::EventsFile::Synthetic), "lat\tu64 delta; pid_t pid\n");
  EXPECT_EQ(listing(), "s:synthetic/lat\tu64 delta; pid_t pid\n");
  EXPECT_EQ(define("!lat", grammar::EventsFile::Synthetic), 0);
  EXPECT_EQ(listing(), "");
}

}  // namespace
}  // namespace kevt::engine

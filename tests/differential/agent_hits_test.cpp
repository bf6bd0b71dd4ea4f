// What happens around hits: return instances, nested and stale hits, forked children, the program's own signals.
#include <asm/prctl.h>
#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "tests/differential/probed_text.h"

namespace kevt::test {
namespace {

// di at 16
constexpr const char* kEntry = "program entry fixed 24\nv0 = reg di\nstore int8 v0 @16\nsink 0\n";
// The same for two instances.
constexpr const char* kTwoSinks = "program entry fixed 24\nv0 = reg di\nstore int8 v0 @16\nsink 0\nsink 1\n";
// __probe_ret_ip at 16, ax at 24
constexpr const char* kReturn = "program return fixed 32\nv0 = reg ax\nstore int8 v0 @24\nsink 0\n";

class AgentHits : public testing::TestWithParam<Arming> {
 protected:
  void SetUp() override { create({.ring_bytes = 1u << 20, .rows = 64}); }
  void create(const inproc::SessionOptions& options) {
    text_.reset();  // there is one at a time
    auto text = ProbedText::create(options);
    ASSERT_TRUE(text) << text.error().message();
    text_ = std::move(*text);
  }
  void install(const std::vector<std::string>& programs) {
    auto events = text_->install(programs);
    ASSERT_TRUE(events) << events.error().message();
    events_ = std::move(*events);
  }
  // Indices of events_.
  void arm(RemoteAddr site, const std::vector<std::size_t>& entries, const std::vector<std::size_t>& returns) {
    SiteEvents events;
    for (const std::size_t i : entries) events.entries.push_back(events_[i].local.code);
    for (const std::size_t i : returns) events.returns.push_back(events_[i].local.code);
    const auto armed = arm_site(text_->session(), site, GetParam(), std::move(events));
    ASSERT_TRUE(armed) << armed.error().message();
  }
  kevt_counts counts(std::size_t event, std::uint32_t sink = 0) {
    return text_->session().counts(events_[event].local, sink);
  }
  kevt_thread* own_thread() {
    std::uint64_t thread_pointer = 0;
    asm("movq %%fs:0, %0" : "=r"(thread_pointer));
    kevt_private& priv = text_->session().priv();
    for (std::uint64_t i = 0; i < priv.used_threads; ++i)
      if (priv.threads[i].thread_pointer == thread_pointer) return &priv.threads[i];
    return nullptr;
  }

  std::unique_ptr<ProbedText> text_;
  std::vector<NativeEvent> events_;
};

TEST_P(AgentHits, SeveralEventsOnOnePoint) {
  install({kEntry, kTwoSinks, kReturn, kReturn});
  arm(text_->twice(), {0, 1}, {2, 3});
  EXPECT_EQ(ProbedText::call(text_->twice(), 21), 42u);
  const auto records = drain_all(text_->session());
  ASSERT_EQ(records.size(), 5u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(number_at(records[i], 16, 8), 21u);
  for (std::size_t i = 3; i < 5; ++i) {
    EXPECT_EQ(number_at(records[i], 24, 8), 42u);
    EXPECT_EQ(number_at(records[i], 16, 8), number_at(records[3], 16, 8));
    EXPECT_FALSE(number_at(records[i], 16, 8) >= text_->session().memory().tables().windows[0][0] &&
                 number_at(records[i], 16, 8) < text_->session().memory().tables().windows[0][1])
        << "the detour's address is not the program's";
  }
  EXPECT_EQ(number_at(records[3], 0, 2), 4u) << "the inner one returns first";
  for (std::size_t i = 0; i < events_.size(); ++i) EXPECT_EQ(counts(i).recorded, 1u);
}

TEST_P(AgentHits, RecursionDeeperThanMaxactiveIsMissed) {
  install({kReturn});
  events_[0].local.block->maxactive = 3;
  inproc::set_gates(*events_[0].local.block, ~0u);
  arm(text_->sum(), {}, {0});
  for (std::uint64_t round = 1; round <= 3; ++round) {
    EXPECT_EQ(ProbedText::call(text_->sum(), 9), 45u);
    EXPECT_EQ(counts(0).recorded, 3 * round);
    EXPECT_EQ(counts(0).missed, 7 * round);
    EXPECT_TRUE(adds_up(counts(0)));
  }
  const auto records = drain_all(text_->session());
  ASSERT_EQ(records.size(), 9u);
  EXPECT_EQ(number_at(records[0], 24, 8), 28u) << "1 + … + 7, the innermost of the first three";
  EXPECT_EQ(number_at(records[2], 24, 8), 45u);
}

TEST_P(AgentHits, RecursionDeeperThanAThreadsInstances) {
  install({kReturn});
  arm(text_->sum(), {}, {0});
  for (std::uint64_t round = 1; round <= 2; ++round) {
    EXPECT_EQ(ProbedText::call(text_->sum(), 299), 44850u);
    EXPECT_EQ(counts(0).recorded, KEVT_RETURN_DEPTH * round);
    EXPECT_EQ(counts(0).missed, (300 - KEVT_RETURN_DEPTH) * round);
  }
}

TEST_P(AgentHits, ATailCallReturnsToTheSameProgramAddress) {
  install({kReturn, kReturn});
  arm(text_->twice(), {}, {0});
  arm(text_->tail(), {}, {1});
  EXPECT_EQ(ProbedText::call(text_->tail(), 20), 42u);
  const auto records = drain_all(text_->session());
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(number_at(records[0], 0, 2), 1u);
  EXPECT_EQ(number_at(records[1], 0, 2), 2u);
  EXPECT_EQ(number_at(records[0], 16, 8), number_at(records[1], 16, 8));
}

jmp_buf out_of_call;
void jump_out() { longjmp(out_of_call, 1); }

TEST_P(AgentHits, LongjmpOutOfProbedFunctionsLeavesRoom) {
  install({kReturn});
  events_[0].local.block->maxactive = 2;
  inproc::set_gates(*events_[0].local.block, ~0u);
  arm(text_->caller(), {}, {0});
  static int jumps;
  for (jumps = 0; jumps < 3 * KEVT_RETURN_DEPTH; ++jumps)
    if (setjmp(out_of_call) == 0) ProbedText::call(text_->caller(), reinterpret_cast<std::uint64_t>(&jump_out));
  EXPECT_LE(own_thread()->depth, 2u);
  ProbedText::call(text_->caller(), reinterpret_cast<std::uint64_t>(+[] {}));
  EXPECT_EQ(counts(0).recorded, 1u);
  EXPECT_TRUE(adds_up(counts(0)));
}

TEST_P(AgentHits, AHitInsideAHitIsMissed) {
  install({kTwoSinks, kReturn});
  arm(text_->twice(), {0}, {1});
  ProbedText::call(text_->twice(), 1);
  const std::uint64_t frame[2] = {text_->session().agent().value, 0};  // a detour's call, interrupted
  own_thread()->guard = reinterpret_cast<std::uint64_t>(&frame[1]);
  EXPECT_EQ(ProbedText::call(text_->twice(), 2), 4u);
  own_thread()->guard = 0;
  ProbedText::call(text_->twice(), 3);
  for (std::uint32_t sink = 0; sink < 2; ++sink) {
    EXPECT_EQ(counts(0, sink).missed, 1u);
    EXPECT_EQ(counts(0, sink).recorded, 2u);
    EXPECT_TRUE(adds_up(counts(0, sink)));
  }
  EXPECT_EQ(counts(1).missed, 1u);
  EXPECT_EQ(counts(1).recorded, 2u);
}

// The hit's own counters, of the thread's shard.
kevt_counts* row_of(const kevt_thread& thread, const NativeEvent& event) {
  return reinterpret_cast<kevt_counts*>(thread.counts + event.local.block->row_offset);
}

TEST_P(AgentHits, AnAbandonedHitIsLostInEverySink) {
  install({kTwoSinks});
  arm(text_->twice(), {0}, {});
  ProbedText::call(text_->twice(), 1);
  kevt_thread* thread = own_thread();
  row_of(*thread, events_[0])[0].hits++;  // a hit was begun …
  row_of(*thread, events_[0])[1].hits++;
  const std::uint64_t frame[2] = {0, 0};  // … whose frame has been overwritten since, above this one
  thread->guard = reinterpret_cast<std::uint64_t>(&frame[1]);
  ProbedText::call(text_->twice(), 2);
  EXPECT_EQ(thread->guard, 0u);
  for (std::uint32_t sink = 0; sink < 2; ++sink) {
    EXPECT_EQ(counts(0, sink).recorded, 2u);
    EXPECT_EQ(counts(0, sink).lost, 1u) << "sink " << sink;
    EXPECT_TRUE(adds_up(counts(0, sink)));
  }
}

TEST_P(AgentHits, AForkedChildHasItsOwnTid) {
  install({kEntry, kReturn});
  arm(text_->twice(), {0}, {1});
  ProbedText::call(text_->twice(), 1);
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 10; ++i) ProbedText::call(text_->twice(), 2);
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ProbedText::call(text_->twice(), 3);
  std::size_t of_child = 0;
  for (const auto& record : drain_all(text_->session())) {
    const auto tid = static_cast<pid_t>(number_at(record, 4, 4));
    EXPECT_TRUE(tid == child || tid == gettid()) << tid;
    of_child += tid == child ? 1 : 0;
  }
  EXPECT_EQ(of_child, 20u);
  EXPECT_EQ(counts(0).recorded, 12u);
  EXPECT_EQ(counts(1).recorded, 12u);
  EXPECT_TRUE(adds_up(counts(0)));
}

// The segment base is the program's where it has one; its threads are found without it.
TEST_P(AgentHits, AThreadThatUsesGsKeepsIt) {
  install({kEntry, kReturn});
  arm(text_->twice(), {0}, {1});
  ProbedText::call(text_->twice(), 1);
  std::uint64_t own[2] = {1, 2}, after = 0;
  pid_t tid = 0;
  std::thread([&] {
    tid = gettid();
    syscall(SYS_arch_prctl, ARCH_SET_GS, own);
    for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(ProbedText::call(text_->twice(), i), 2 * i);
    syscall(SYS_arch_prctl, ARCH_GET_GS, &after);
  }).join();
  EXPECT_EQ(after, reinterpret_cast<std::uint64_t>(own));
  EXPECT_EQ(own[0], 1u);
  EXPECT_EQ(own[1], 2u);
  const auto records = drain_all(text_->session());
  EXPECT_EQ(std::ranges::count(records, tid, [](const auto& r) { return static_cast<pid_t>(number_at(r, 4, 4)); }), 10);
  for (std::size_t event : {0u, 1u}) {
    EXPECT_EQ(counts(event).recorded, 6u);
    EXPECT_TRUE(adds_up(counts(event)));
  }
}

TEST_P(AgentHits, AThreadThatInheritsGsIsFoundAsItself) {
  install({kEntry});
  arm(text_->twice(), {0}, {});
  std::vector<pid_t> expected;
  const auto hit = [&] {
    expected.push_back(gettid());
    for (int i = 0; i < 3; ++i) ProbedText::call(text_->twice(), 1);
  };
  hit();
  for (int i = 0; i < 3; ++i) std::thread(hit).join();
  const auto records = drain_all(text_->session());
  ASSERT_EQ(records.size(), 12u);
  for (const pid_t tid : expected)
    EXPECT_EQ(std::ranges::count(records, tid, [](const auto& r) { return static_cast<pid_t>(number_at(r, 4, 4)); }),
              3);
}

// Scratch for 8 texts is followed by the next thread.
TEST_P(AgentHits, TheThreadsNameTenTimesTakesOnePlace) {
  std::string program = "program entry fixed 56\n";
  for (int i = 0; i < 10; ++i) program += "v" + std::to_string(i) + " = comm\n";
  for (int i = 0; i < 10; ++i)
    program += "store string v" + std::to_string(i) + " @" + std::to_string(16 + 4 * i) + "\n";
  install({program + "sink 0\n"});
  arm(text_->twice(), {0}, {});
  prctl(PR_SET_NAME, "name");
  ProbedText::call(text_->twice(), 1);
  const kevt_thread* thread = own_thread();
  EXPECT_STREQ(reinterpret_cast<const char*>(thread->texts[0]), "name");
  for (std::size_t i = 1; i < KEVT_SCRATCH_TEXTS; ++i) EXPECT_EQ(thread->texts[i][0], 0);
  EXPECT_EQ(thread[1].thread_pointer, 0u) << "the next thread's place is untouched";
  EXPECT_EQ(drain_all(text_->session()).at(0).size(), 56u + 10 * 5);
}

// glibc gives a new thread the stack, and so the thread pointer, of one that has ended.
TEST_P(AgentHits, NewThreadsAtOldThreadsAddresses) {
  install({kEntry, kReturn});
  arm(text_->twice(), {0}, {1});
  for (int i = 0; i < 50; ++i) {
    pid_t tid = 0;
    std::thread([&] {
      tid = gettid();
      ProbedText::call(text_->twice(), 1);
    }).join();
    const auto records = drain_all(text_->session());
    ASSERT_EQ(records.size(), 2u);
    for (const auto& record : records) EXPECT_EQ(static_cast<pid_t>(number_at(record, 4, 4)), tid);
  }
  EXPECT_LT(text_->session().priv().used_threads, 10u);
}

// Threads that all live at once and have all hit.
void hit_in_threads(std::uint64_t threads, RemoteAddr function) {
  struct Body {
    pthread_barrier_t all_have_hit;
    RemoteAddr function;
  } body{.all_have_hit = {}, .function = function};
  pthread_barrier_init(&body.all_have_hit, nullptr, static_cast<unsigned>(threads));
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  std::vector<pthread_t> all(threads);
  const auto run = [](void* given) -> void* {
    auto& shared = *static_cast<Body*>(given);
    ProbedText::call(shared.function, 1);
    pthread_barrier_wait(&shared.all_have_hit);
    return nullptr;
  };
  for (pthread_t& thread : all) ASSERT_EQ(pthread_create(&thread, &small, run, &body), 0);
  for (const pthread_t thread : all) pthread_join(thread, nullptr);
  pthread_attr_destroy(&small);
  pthread_barrier_destroy(&body.all_have_hit);
}

// Those that find no place are missed, in everybody's shard.
TEST_P(AgentHits, MoreThreadsThanThereIsRoomFor) {
  constexpr std::uint64_t kRoom = 64, kThreads = kRoom + 8;
  create({.ring_bytes = 1u << 20, .rows = 64, .max_threads = kRoom});
  install({kTwoSinks, kReturn});
  arm(text_->twice(), {0}, {1});
  hit_in_threads(kThreads, text_->twice());
  for (const kevt_counts& c : {counts(0, 0), counts(0, 1), counts(1)}) {
    EXPECT_EQ(c.hits, kThreads);
    EXPECT_EQ(c.recorded, kRoom);
    EXPECT_EQ(c.missed, kThreads - kRoom);
    EXPECT_TRUE(adds_up(c));
  }
}

TEST_P(AgentHits, ThousandsOfLiveThreadsAreAllSeen) {
  constexpr std::uint64_t kThreads = 4000;
  install({kTwoSinks, kReturn});
  arm(text_->twice(), {0}, {1});
  hit_in_threads(kThreads, text_->twice());
  for (const kevt_counts& c : {counts(0, 0), counts(0, 1), counts(1)}) {
    EXPECT_EQ(c.hits, kThreads);
    EXPECT_EQ(c.recorded + c.lost, kThreads) << "none is missed";
    EXPECT_TRUE(adds_up(c));
  }
}

// Structs and shards of dead threads are used again.
TEST_P(AgentHits, ThreadsThatComeAndGoTakeNoMoreRoomThanThoseThatLive) {
  constexpr std::uint64_t kRounds = 40, kAtATime = 50;
  install({kEntry});
  arm(text_->twice(), {0}, {});
  for (std::uint64_t i = 0; i < kRounds; ++i) hit_in_threads(kAtATime, text_->twice());
  EXPECT_EQ(counts(0).hits, kRounds * kAtATime);
  EXPECT_EQ(counts(0).missed, 0u);
  EXPECT_TRUE(adds_up(counts(0)));
  EXPECT_LE(text_->session().priv().used_threads, 3 * kAtATime);
  EXPECT_LE(text_->session().memory().session().next_shard, 3 * kAtATime);
}

// 285 children of one process had taken every shard once; each hit of theirs then asked for each of them.
TEST_P(AgentHits, ForkedChildrenThatComeAndGoTakeNoMoreRoomThanThoseThatLive) {
  constexpr std::uint64_t kChildren = 400;
  install({kEntry});
  arm(text_->twice(), {0}, {});
  for (std::uint64_t i = 0; i < kChildren; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(ProbedText::call(text_->twice(), 21) == 42 ? 0 : 1);
    int status = -1;
    waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
  }
  EXPECT_EQ(counts(0).recorded, kChildren);
  EXPECT_LE(text_->session().memory().session().next_shard, 10u);
}

pid_t forked = 0;
void fork_here() { forked = fork(); }

// Both processes come back through the detour.
TEST_P(AgentHits, ForkInsideAReturnProbedFunction) {
  install({kReturn});
  arm(text_->caller(), {}, {0});
  ProbedText::call(text_->caller(), reinterpret_cast<std::uint64_t>(&fork_here));
  if (forked == 0) _exit(7);
  int status = -1;
  waitpid(forked, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  std::vector<pid_t> tids;
  for (const auto& record : drain_all(text_->session())) tids.push_back(static_cast<pid_t>(number_at(record, 4, 4)));
  std::ranges::sort(tids);
  std::vector<pid_t> expected = {gettid(), forked};
  std::ranges::sort(expected);
  EXPECT_EQ(tids, expected);
}

sigjmp_buf out_of_handler;
void on_segv(int) { siglongjmp(out_of_handler, 1); }

TEST(AgentSignals, TheProgramsOwnHandlerStillGetsItsFaults) {
  struct sigaction action = {}, before = {}, after = {};
  action.sa_handler = on_segv;
  action.sa_flags = SA_NODEFER;
  sigaction(SIGSEGV, &action, &before);
  {
    auto text = ProbedText::create({.ring_bytes = 65536, .rows = 16});
    ASSERT_TRUE(text) << text.error().message();
    void* hole = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static int caught;
    caught = 0;
    static int round;
    for (round = 0; round < 3; ++round) {
      if (sigsetjmp(out_of_handler, 0) == 0) {
        if (round == 0) raise(SIGSEGV);
        *static_cast<volatile char*>(hole) = 1;
      } else {
        ++caught;
      }
    }
    EXPECT_EQ(caught, 3);
    munmap(hole, 4096);
  }
  sigaction(SIGSEGV, &before, &after);
  EXPECT_EQ(after.sa_handler, on_segv) << "given back when the session ended";
}

INSTANTIATE_TEST_SUITE_P(Armed, AgentHits, testing::Values(Arming::Jump, Arming::Breakpoint),
                         [](const auto& armed) { return armed.param == Arming::Jump ? "Jump" : "Breakpoint"; });

}  // namespace
}  // namespace kevt::test

// Code goes when its event goes: events of many shapes are defined, armed, hit, disarmed and removed in a running swarm
// (swarm.c), which forks all the while. What code takes, here and in the target, must not grow with the events.
//
//   code_soak SWARM EVENTS AT_ONCE REST_US SEED        seed 0: a new one
//
// Each of EVENTS goes through all of it; up to AT_ONCE of them come and go together. The first quarter says how much is
// needed at most; the others must not need eight times as much, and at some moment of the last quarter no more.
// REST_US: how long the swarm's threads rest between 256 calls, so that they can be stopped at once.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <span>

#include "common/error.h"
#include "common/proc.h"
#include "compiler/target/process/process_env.h"
#include "runtime-user/engine/borrowed_target.h"
#include "runtime-user/engine/tracing.h"
#include "runtime-user/runtime/inproc/inproc_runtime.h"
#include "tests/soak/swarm.h"

namespace kevt::tests {
namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t lines_of_maps(pid_t pid) {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  return static_cast<std::uint64_t>(std::count(std::istreambuf_iterator<char>(maps), {}, '\n'));
}

struct Use {
  std::uint64_t code_bytes = 0, rows = 0, handles = 0, waiting = 0, shards = 0;
  std::uint64_t own_kib = 0, target_kib = 0, target_maps = 0;

  void grow(const Use& other) {
    code_bytes = std::max(code_bytes, other.code_bytes);
    rows = std::max(rows, other.rows);
    handles = std::max(handles, other.handles);
    waiting = std::max(waiting, other.waiting);
    shards = std::max(shards, other.shards);
    own_kib = std::max(own_kib, other.own_kib);
    target_kib = std::max(target_kib, other.target_kib);
    target_maps = std::max(target_maps, other.target_maps);
  }
  // Empty: it is at most so many times as much as `before`, memory of both sides less than 16 MiB more. A look at a
  // moment when a child is there gives nothing back, and the next one comes when twice as much is there: on a busy
  // machine three such looks follow each other now and then.
  std::string excess(const Use& before, std::uint64_t times) const {
    constexpr std::uint64_t kNoise = 16u << 10;
    if (code_bytes > times * before.code_bytes) return "bytes of code";
    if (rows > times * before.rows) return "counter rows";
    if (handles > times * before.handles) return "events of the runtime";
    if (shards > times * before.shards) return "counter shards";
    if (own_kib > before.own_kib + kNoise) return "memory of the tracer";
    if (target_kib > before.target_kib + kNoise) return "memory of the target";
    if (target_maps > before.target_maps + 2) return "mappings of the target";
    return "";
  }
  std::string text() const {
    return fmt::format(
        "{} bytes of code, {} rows, {} shards, {} events, {} that wait; {} KiB of memory of its own here, {} KiB and "
        "{} "
        "maps there",
        code_bytes, rows, shards, handles, waiting, own_kib, target_kib, target_maps);
  }
};

class Cycles {
 public:
  Cycles(pid_t pid, std::uint64_t seed) : pid_(pid), random_(seed) {}
  Result<void> attach();
  // Up to `at_once` events come and go; returns how many.
  Result<unsigned> step(unsigned at_once);
  Use use() const;
  Result<void> leave();
  std::uint64_t hits() const { return hits_; }

 private:
  unsigned pick(unsigned below) { return std::uniform_int_distribution<unsigned>(0, below - 1)(random_); }
  std::string definition(const std::string& name);
  Result<void> filter(const engine::TracedEvent& event);
  void wait_for_hits(std::span<const engine::TracedEvent* const> events);
  Result<void> check(const engine::TracedEvent& event);

  pid_t pid_;
  std::mt19937_64 random_;
  std::unique_ptr<inproc::InprocRuntime> runtime_;
  std::unique_ptr<target::ProcessEnv> env_;
  std::unique_ptr<engine::BorrowedTarget> target_;
  std::unique_ptr<engine::Tracing> tracing_;
  std::uint64_t hits_ = 0;
};

Result<void> Cycles::attach() {
  runtime_ = KEVT_TRY(inproc::InprocRuntime::attach(pid_, {.ring_bytes = 64u << 10, .rows = 1024}));
  runtime_->go();
  auto env = KEVT_TRY(target::ProcessEnv::of_process(pid_, {}));
  env_ = std::make_unique<target::ProcessEnv>(std::move(env));
  target_ = std::make_unique<engine::BorrowedTarget>(*runtime_, *env_);
  tracing_ =
      std::make_unique<engine::Tracing>(std::vector<engine::TracedTarget*>{target_.get()}, engine::TracingOptions{});
  return {};
}

// One of some hundred shapes: entries and returns, by a jump and by an int3, with up to four arguments.
std::string Cycles::definition(const std::string& name) {
  static constexpr const char* kTypes[] = {"u8", "s16", "x32", "u64", "b3@2/32"};
  static constexpr const char* kPlaces[] = {"touch", "touch_short"};
  const bool is_return = pick(2) != 0;
  std::string text =
      fmt::format("{}:{} swarm:{}", is_return ? (pick(4) ? "r" : "r16") : "p", name, kPlaces[pick(8) == 0]);
  for (unsigned n = pick(4); n > 0; --n)
    text += fmt::format(" a{}={}:{}", n, is_return ? "$retval" : "%di", kTypes[pick(std::size(kTypes))]);
  if (!is_return && pick(2)) text += " s=+0(%si):string";
  return text + (is_return ? " k=$retval:b8@5/64" : " k=%di:b8@3/64");
}

Result<void> Cycles::filter(const engine::TracedEvent& event) {
  return tracing_->filters().write(tracing_->top(), event, fmt::format("k == {}", pick(2)));
}

// A thread calls touch_short each 256th time, and a filter lets one in 256 pass.
void Cycles::wait_for_hits(std::span<const engine::TracedEvent* const> events) {
  const auto was_hit = [&](const engine::TracedEvent* event) { return tracing_->code().counts(event->id).attempts; };
  for (int i = 0; i < 100 && !std::ranges::all_of(events, was_hit); ++i) usleep(100);
  tracing_->drain();
}

// Not while hits are under way.
Result<void> Cycles::check(const engine::TracedEvent& event) {
  for (int tries = 0;; ++tries) {
    const runtime::EventCounts c = tracing_->code().counts(event.id);
    if (c.attempts == c.recorded + c.aggregated + c.filtered + c.lost + c.missed) {
      hits_ += c.attempts;
      return {};
    }
    if (tries == 2000) return std::unexpected(Error(fmt::format("{} hits are not accounted for", c.attempts)));
    usleep(1000);
  }
}

Result<unsigned> Cycles::step(unsigned at_once) {
  const unsigned count = 1 + pick(at_once);
  Result<void> done;
  std::vector<const engine::TracedEvent*> all;
  for (unsigned i = 0; done && i < count; ++i) {
    const std::string name = fmt::format("ev{}", i);
    done = tracing_->definitions().write(grammar::EventsFile::Dynamic, definition(name));
    const engine::TracedEvent* event = tracing_->events().find("kprobes", name);
    if (!done) break;
    if (!event) return std::unexpected(Error("the event is not there"));
    all.push_back(event);
    if (pick(2)) done = filter(*event);
  }
  if (done) done = tracing_->switcher().set_enabled(tracing_->top(), all, true);
  if (done) wait_for_hits(all);
  if (done && pick(2)) done = filter(*all[pick(count)]);
  if (done) done = tracing_->switcher().set_enabled(tracing_->top(), all, false);
  for (unsigned i = 0; done && i < count; ++i) done = check(*all[i]);
  for (unsigned i = 0; done && i < count; ++i)
    done = tracing_->definitions().write(grammar::EventsFile::Dynamic, fmt::format("-:kprobes/ev{}", i));
  if (!done) return std::unexpected(std::move(done.error()));
  return count;
}

Use Cycles::use() const {
  const inproc::InprocRuntime::CodeUse code = runtime_->code_use();
  return {.code_bytes = code.bytes,
          .rows = code.rows,
          .handles = code.handles,
          .waiting = code.waiting,
          .shards = code.shards,
          .own_kib = proc::status_number(getpid(), "RssAnon"),
          .target_kib = proc::status_number(pid_, "RssAnon"),
          .target_maps = lines_of_maps(pid_)};
}

Result<void> Cycles::leave() {
  KEVT_TRY(runtime_->detach());
  KEVT_TRY(runtime_->leave_children());
  return {};
}

int soak(const char* program, std::uint64_t events, unsigned at_once, unsigned rest_us, std::uint64_t seed) {
  Swarm swarm(program, rest_us);
  if (!swarm.is_running()) return fmt::print(stderr, "code: the swarm cannot be started\n"), 1;
  Cycles cycling(swarm.pid(), seed);
  auto done = cycling.attach();
  Use first, later;
  std::optional<Use> least;  // of code, in the last quarter
  const auto begin = Clock::now();
  std::uint64_t gone = 0;
  for (unsigned step = 0; done && gone < events; ++step) {
    const auto count = cycling.step(at_once);
    if (!count) done = std::unexpected(count.error());
    gone += count.value_or(0);
    const Use now = cycling.use();
    if (step % 16 == 0) (gone < events / 4 ? first : later).grow(now);
    if (gone > events / 4 * 3 && (!least || now.code_bytes < least->code_bytes)) least = now;
  }
  if (done) done = cycling.leave();
  if (!done) return fmt::print(stderr, "code: seed {}: {}{}\n", seed, done.error().message(), swarm.how_it_ended()), 1;
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  fmt::print("code: seed {}: {} events in {:.1f} s, {} hits, {} forks\n  first quarter: {}\n  the others:    {}\n",
             seed, gone, seconds, cycling.hits(), swarm.page().forks, first.text(), later.text());
  std::string excess = later.excess(first, 8);
  if (excess.empty() && least) excess = least->excess(first, 1);
  if (!excess.empty()) return fmt::print(stderr, "code: seed {}: too many {}\n", seed, excess), 1;
  const std::string wrong = swarm.end();
  if (!wrong.empty()) return fmt::print(stderr, "code: seed {}: {}\n", seed, wrong), 1;
  return cycling.hits() == 0;
}

}  // namespace
}  // namespace kevt::tests

int main(int argc, char** argv) {
  if (argc != 6) return fmt::print(stderr, "usage: code_soak SWARM EVENTS AT_ONCE REST_US SEED\n"), 2;
  const auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
  const auto small = [&](int i) { return static_cast<unsigned>(number(i)); };
  return kevt::tests::soak(argv[1], number(2), std::max(1u, small(3)), small(4),
                           number(5) ? number(5) : std::random_device{}());
}

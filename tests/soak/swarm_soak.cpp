// A billion hits: the swarm (swarm.c) runs for the whole time; sessions attach to it, arm, disarm and leave again, all
// at random, while it forks. Each session ends with the sums of every event, taken before anything is settled: no hit
// may be unaccounted for, and what was recorded is what was read.
//
//   swarm_soak SWARM HITS SECONDS SEED         stops at HITS or after SECONDS; 0 seconds: no limit of time
//
// Most hits are rejected by a filter, one in 256 is recorded: otherwise the reader would be what is measured.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>

#include "common/error.h"
#include "compiler/target/process/process_env.h"
#include "runtime-user/engine/borrowed_target.h"
#include "runtime-user/engine/tracing.h"
#include "runtime-user/runtime/inproc/inproc_runtime.h"
#include "tests/soak/swarm.h"

namespace kevt::tests {
namespace {

using Clock = std::chrono::steady_clock;

const std::vector<std::string> kDefinitions = {
    "p:entry swarm:touch n=%di s=+0(%si):string k=%di:b8@3/64", "r:back swarm:touch v=$retval:s64 k=$retval:b8@5/64",
    "r2:few swarm:touch v=$retval:s64 k=$retval:b8@5/64", "p:short swarm:touch_short n=%di:s32 k=%di:b8@8/64",
    "r:short_back swarm:touch_short v=$retval k=$retval:b8@8/64"};

struct Totals {
  runtime::EventCounts counts;
  std::uint64_t sessions = 0, changes = 0;
};

// From attaching to leaving.
class Session final : private engine::RecordTap {
 public:
  Session(pid_t pid, std::mt19937_64& random) : pid_(pid), random_(random) {}
  // Empty: all was right.
  std::string run(Totals& totals, std::uint64_t steps);

 private:
  unsigned pick(unsigned below) { return std::uniform_int_distribution<unsigned>(0, below - 1)(random_); }
  Result<void> start();
  Result<void> change(Totals& totals);
  bool take(const engine::Instance&, const engine::TracedEvent& event, engine::TracedTarget&,
            const runtime::Record&) override {
    ++taken_[event.id];
    return true;
  }
  void take_stack(const engine::Instance&, engine::TracedTarget&, const runtime::Record&,
                  std::span<const std::uint64_t>) override {}
  std::string check(Totals& totals);

  pid_t pid_;
  std::mt19937_64& random_;
  std::unique_ptr<inproc::InprocRuntime> runtime_;
  std::unique_ptr<target::ProcessEnv> env_;
  std::unique_ptr<engine::BorrowedTarget> target_;
  std::unique_ptr<engine::Tracing> tracing_;
  std::map<std::uint32_t, std::uint64_t> taken_;  // records, by event
  std::vector<std::pair<const engine::TracedEvent*, bool>> on_;
};

Result<void> Session::start() {
  runtime_ = KEVT_TRY(inproc::InprocRuntime::attach(pid_, {.ring_bytes = 1u << 20, .rows = 128}));
  runtime_->go();
  auto env = KEVT_TRY(target::ProcessEnv::of_process(pid_, {}));
  env_ = std::make_unique<target::ProcessEnv>(std::move(env));
  target_ = std::make_unique<engine::BorrowedTarget>(*runtime_, *env_);
  const std::vector<engine::TracedTarget*> targets = {target_.get()};
  tracing_ = std::make_unique<engine::Tracing>(targets, engine::TracingOptions{.is_tapped = true});
  tracing_->records().set_tap(*this, engine::DrainOrder::ByTime);
  std::vector<engine::EventFilter> filters;
  for (const char* event : {"entry", "back", "few", "short", "short_back"}) filters.push_back({event, "k == 1"});
  auto defined = tracing_->define({.definitions = kDefinitions, .filters = filters, .triggers = {}});
  if (!defined) return std::unexpected(std::move(defined.error()));
  if (!defined->is_defined)
    return std::unexpected(Error("a definition is refused: " + defined->problems.front().diagnostic.detail));
  for (const auto& [id, event] : tracing_->events().events()) on_.emplace_back(event.get(), false);
  auto ready = tracing_->switcher().switch_on({});
  return ready ? Result<void>() : std::unexpected(std::move(ready.error().error));
}

// Switches some on or off, now and then all.
Result<void> Session::change(Totals& totals) {
  const bool wanted = pick(5) != 0, all = pick(4) == 0;
  std::vector<const engine::TracedEvent*> chosen;
  for (auto& [event, on] : on_) {
    if (on == wanted || (!all && pick(2))) continue;
    on = wanted;
    chosen.push_back(event);
  }
  totals.changes += chosen.size();
  return tracing_->switcher().set_enabled(tracing_->top(), chosen, wanted);
}

// What the engine says of every hit, and the runtime's own counters, which must agree.
std::string Session::check(Totals& totals) {
  for (const auto& [id, event] : tracing_->events().events()) {
    const runtime::EventCounts c = tracing_->records().counts(tracing_->top(), *event);
    const std::uint64_t sum = c.recorded + c.aggregated + c.filtered + c.lost + c.missed;
    if (c.attempts != sum || c.recorded != taken_[id])
      return fmt::format("{}: {} hits, but recorded {} + filtered {} + lost {} + missed {} = {}; {} were read",
                         event->name, c.attempts, c.recorded, c.filtered, c.lost, c.missed, sum, taken_[id]);
    totals.counts += c;
  }
  return "";
}

std::string Session::run(Totals& totals, std::uint64_t steps) {
  auto done = start();
  for (std::uint64_t step = 0; done && step < steps; ++step) {
    done = change(totals);
    const unsigned rounds = 1 + pick(20);
    for (unsigned i = 0; i < rounds; ++i) {
      usleep(1000 * pick(8));
      tracing_->drain();
    }
  }
  if (!done) return done.error().message();
  auto left = runtime_->detach();
  if (left) left = runtime_->leave_children();
  if (!left) return "leaving: " + left.error().message();
  for (int i = 0; i < 1000 && tracing_->drain(); ++i) usleep(500);
  const std::string unsettled = check(totals);
  ++totals.sessions;
  return unsettled;
}

int soak(const char* program, std::uint64_t hits, std::uint64_t seconds, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Swarm swarm(program);
  if (!swarm.is_running()) return fmt::print(stderr, "swarm: cannot be started\n"), 1;
  Totals totals;
  const auto start = Clock::now();
  auto told = start;
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const auto tell = [&] {
    fmt::print(stderr, "swarm: {:.0f} s, {} sessions, {} switches, {} forks; {} hits = {} + {} + {} + {}\n", elapsed(),
               totals.sessions, totals.changes, swarm.page().forks, totals.counts.attempts, totals.counts.recorded,
               totals.counts.filtered, totals.counts.lost, totals.counts.missed);
  };
  while (totals.counts.attempts < hits && (!seconds || elapsed() < static_cast<double>(seconds))) {
    const std::string wrong = Session(swarm.pid(), random).run(totals, 2 + random() % 12);
    if (!wrong.empty()) return fmt::print(stderr, "swarm: seed {}: {}{}\n", seed, wrong, swarm.how_it_ended()), 1;
    if (Clock::now() - told < std::chrono::seconds(5)) continue;
    told = Clock::now();
    tell();
  }
  tell();
  const std::string wrong = swarm.end();
  if (!wrong.empty()) return fmt::print(stderr, "swarm: seed {}: {}\n", seed, wrong), 1;
  fmt::print("swarm: seed {}: {} hits in {} sessions, every one accounted for\n", seed, totals.counts.attempts,
             totals.sessions);
  return totals.counts.attempts == 0;
}

}  // namespace
}  // namespace kevt::tests

int main(int argc, char** argv) {
  if (argc != 5) return fmt::print(stderr, "usage: swarm_soak SWARM HITS SECONDS SEED\n"), 2;
  const auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
  return kevt::tests::soak(argv[1], number(2), number(3), number(4));
}

// hit_steps PROGRAM VARIANT DEFINITION [EVENT:FILTER | EVENT:hist:…]: instructions of one hit, counted by stepping.
//
// Valgrind runs a translation of the program, not the text that probes patch, so it cannot count a hit.
// Single steps can: PROGRAM --count VARIANT N is held, its probe armed, and every instruction it
// executes outside its own files is ours. The first hits enrol the thread; the last of several is printed.
#include <cstdio>
#include <string>
#include <vector>

#include "common/error.h"
#include "compiler/target/process/process_env.h"
#include "runtime-user/engine/borrowed_target.h"
#include "runtime-user/engine/tracing.h"
#include "runtime-user/runtime/inproc/inproc_runtime.h"

namespace kevt {
namespace {

constexpr int kHits = 6;
constexpr long kMaxSteps = 100'000;

int fail(const std::string& message) {
  std::fprintf(stderr, "hit_steps: %s\n", message.c_str());
  return 1;
}

// Instructions outside the program's own text from one call of the function at `site` to the next, per call.
Result<std::vector<long>> step_hits(inproc::InprocRuntime& runtime, RemoteAddr site) {
  std::vector<long> hits;
  for (long step = 0; step < kMaxSteps && hits.size() <= kHits; ++step) {
    auto at = KEVT_TRY(runtime.step());
    if (at == site) hits.push_back(1);  // the jump there
    if (!hits.empty() && runtime.is_ours(at)) ++hits.back();
  }
  return hits;
}

int count(const std::vector<std::string>& arguments) {
  const std::vector<std::string> command = {arguments[0], "--count", arguments[1], "20"};
  auto runtime = inproc::InprocRuntime::launch(command, {});
  if (!runtime) return fail(runtime.error().message());
  target::ProcessEnvOptions options;
  auto env = target::ProcessEnv::of_process((*runtime)->pid(), std::move(options));
  if (!env) return fail(env.error().message());
  engine::BorrowedTarget target(**runtime, *env);
  engine::Tracing tracing({&target}, {.is_tapped = true});
  const std::vector<std::string> definitions = {arguments[2]};
  std::vector<engine::EventFilter> filters;
  std::vector<engine::EventTrigger> triggers;
  if (arguments.size() > 3) {
    const auto colon = arguments[3].find(':');
    std::string event = arguments[3].substr(0, colon), rest = arguments[3].substr(colon + 1);
    if (rest.starts_with("hist:"))
      triggers.push_back({std::move(event), std::move(rest)});
    else
      filters.push_back({std::move(event), std::move(rest)});
  }
  auto defined = tracing.define({.definitions = definitions, .filters = filters, .triggers = triggers});
  if (!defined) return fail(defined.error().message());
  if (!defined->is_defined) return fail("the definition is wrong");
  std::vector<engine::EventSwitcher::InstanceEvent> events;
  for (const auto& [id, event] : tracing.events().events())
    if (triggers.empty()) events.push_back({&tracing.top(), event.get()});  // with one it is on for its histogram alone
  if (auto armed = tracing.switcher().switch_on(events); !armed) return fail(armed.error().error.message());
  const auto loop = env->find_function(std::nullopt, "loop_work_" + arguments[1]);
  if (!loop) return fail("the program has no loop over " + arguments[1]);
  if (auto ran = (*runtime)->run_to(RemoteAddr{loop->address}); !ran) return fail(ran.error().message());
  const auto site = env->find_function(std::nullopt, "work_" + arguments[1]);
  if (!site) return fail("the program has no function for " + arguments[1]);
  auto hits = step_hits(**runtime, RemoteAddr{site->address});
  if (!hits) return fail(hits.error().message());
  if (hits->size() <= kHits) return fail("the probe was not hit often enough");
  std::printf("%ld\n", (*hits)[kHits - 1]);
  return 0;
}

}  // namespace
}  // namespace kevt

int main(int argc, char** argv) {
  if (argc < 4) return kevt::fail("usage: hit_steps PROGRAM VARIANT DEFINITION [EVENT:FILTER | EVENT:hist:...]");
  return kevt::count({argv + 1, argv + argc});
}

// compiler_times: what reading and compiling definitions takes; `STEP VALUE UNIT GOAL` a line.
//
//   check_10000_ms   parse and check of 10,000 definitions of different shapes, each against those before it
//   native_1000_ms   code for 1,000 programs no two of which are equal
//   event_bytes      heap of one of them once it is compiled
//   line_of_200_ms   a text of 200 definitions checked again, as an editor does at a keystroke
//
// No target is needed: names are not looked up. Times are the best of three.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>

#include "compiler/pipeline/compile.h"
#include "compiler/target/fixed_target.h"
#include "runtime-user/engine/draft.h"

namespace kevt::tests {
namespace {

// No two are equal, in text or in program.
std::string definition(int i) {
  const std::string n = std::to_string(i);
  switch (i % 5) {
    case 0:
      return "p:g/e" + n + " libc:f" + n + " a=%di:s32 b=+" + n + "(%si):u32 s=+0(%dx):string";
    case 1:
      return "r:g/e" + n + " f" + n + " ret=$retval:s64 what=\\" + n;
    case 2:
      return "p:g/e" + n + " f" + n + "+" + n + " x=+8(+" + n + "(%di)):x16 y=%cx:b4@2/32 who=$comm";
    case 3:
      return "p:g/e" + n + " f" + n + " a=$arg1 b=$arg2:u8 c=$stack" + std::to_string(i % 64) + " d=+" + n +
             "(%r8):u8[8]";
    default:
      return "p:g/e" + n + " f" + n + " path=+0(%si):string flags=%dx:x32 mode=%cx:u16 z=+" + n + "(%di)";
  }
}

std::vector<std::string> definitions(int count) {
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) all.push_back(definition(i));
  return all;
}

template <class Work>
double best_ms(Work work) {
  double best = 1e9;
  for (int round = 0; round < 3; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

std::size_t check(const std::vector<std::string>& texts) {
  const target::UncheckedTargetEnv env;
  engine::Draft draft({});
  std::vector<engine::Problem> problems;
  draft.check(texts, {}, env, pipeline::Forms::Runnable, problems);
  for (const engine::Problem& one : problems) fmt::print(stderr, "{}\n", one.diagnostic.command);
  return draft.entries().size();
}

std::size_t heap() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

int measure() {
  const auto many = definitions(10000);
  const auto text = definitions(200);
  const double check_ms = best_ms([&] { check(many); });
  const double line_ms = best_ms([&] { check(text); });

  const target::UncheckedTargetEnv env;
  engine::Draft draft({});
  std::vector<engine::Problem> problems;
  const auto thousand = definitions(1000);
  const std::size_t before = heap();
  draft.check(thousand, {}, env, pipeline::Forms::Runnable, problems);
  std::vector<pipeline::CheckedEvent> events;
  std::vector<std::vector<std::optional<model::FilterExpr>>> sinks;
  for (engine::Draft::Entry& entry : draft.entries()) {
    events.push_back(std::move(entry.event));
    sinks.push_back({std::nullopt});
  }
  const std::size_t checked = heap();
  std::size_t batch = 0;
  const double native_ms = best_ms([&] {
    auto compiled = pipeline::compile_events(events, sinks, env, pipeline::Artifacts::Unresolved);
    if (!compiled) fmt::print(stderr, "{}\n", compiled.error().message());
    batch = 0;
    if (compiled)
      for (const auto& image : compiled->batch.images) batch += image.bytes.size() + 8 * image.faults.size();
  });
  const std::size_t bytes = (checked - before + batch) / events.size();
  fmt::print("check_10000_ms {:.0f} 500\nnative_1000_ms {:.0f} 1000\nevent_bytes {} 8192\nline_of_200_ms {:.1f} 5\n",
             check_ms, native_ms, bytes, line_ms);
  return 0;
}

}  // namespace
}  // namespace kevt::tests

int main() { return kevt::tests::measure(); }

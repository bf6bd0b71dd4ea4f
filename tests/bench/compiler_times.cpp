// compiler_times: what reading and compiling definitions takes (Google Benchmark; its options hold).
//
//   check_10000    parse and check of 10,000 definitions of different shapes, each against those before it
//   line_of_200    a text of 200 definitions checked again, as an editor does at a keystroke
//   native_1000    native code for 1,000 programs no two of which are equal; counter `event_bytes`: heap of one of them
//                  once it is compiled
//   bpf_1000       the same for BPF
//   odd_…/TEXT     an answer to one of odd_texts(): 1 MB in one line, 10,000 parentheses, NUL, invalid UTF-8 …
//
// No target is needed: names are not looked up. What compiles takes all CPUs and is measured as one waits for it, the
// rest as its thread runs. The counters `goal_ms`, `goal_bytes` are what docs/performance.md asks for.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <malloc.h>

#include <string>
#include <string_view>
#include <vector>

#include "compiler/pipeline/compile.h"
#include "compiler/sema/trigger.h"
#include "compiler/target/fixed_target.h"
#include "grammar/parse.h"
#include "grammar/parse_script.h"
#include "runtime-user/engine/events/draft.h"

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

std::size_t check(const std::vector<std::string>& texts) {
  const target::UncheckedTargetEnv env;
  engine::Draft draft;
  std::vector<engine::Problem> problems;
  draft.check(texts, {}, env, pipeline::Forms::Runnable, problems);
  for (const engine::Problem& one : problems) fmt::print(stderr, "{}\n", one.diagnostic.command);
  return draft.entries().size();
}

std::size_t heap() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

// Events as `run` would compile them, each with one sink and no filter.
struct Compilable {
  std::vector<pipeline::CheckedEvent> events;
  std::vector<std::vector<std::optional<model::FilterExpr>>> sinks;
};

Compilable checked(const std::vector<std::string>& texts) {
  const target::UncheckedTargetEnv env;
  engine::Draft draft;
  std::vector<engine::Problem> problems;
  draft.check(texts, {}, env, pipeline::Forms::Runnable, problems);
  Compilable all;
  for (engine::Draft::Entry& entry : draft.entries()) {
    all.events.push_back(std::move(entry.event));
    all.sinks.push_back({std::nullopt});
  }
  return all;
}

// Bytes of code and tables.
std::size_t compile(const Compilable& all, model::CodeKind kind) {
  const target::UncheckedTargetEnv env;
  auto compiled = pipeline::compile_events(all.events, all.sinks, env, pipeline::Artifacts::Unresolved, kind);
  if (!compiled) {
    fmt::print(stderr, "{}\n", compiled.error().message());
    return 0;
  }
  std::size_t bytes = 0;
  for (const auto& image : compiled->batch.images) bytes += image.bytes.size() + 8 * image.faults.size();
  for (const auto& code : compiled->batch.bpf) bytes += 8 * code.instructions.size();
  return bytes;
}

void set_goal_ms(benchmark::State& state, double ms) { state.counters["goal_ms"] = ms; }

void check_10000(benchmark::State& state) {
  const auto many = definitions(10000);
  for (auto _ : state) benchmark::DoNotOptimize(check(many));
  set_goal_ms(state, 500);
}
BENCHMARK(check_10000)->Unit(benchmark::kMillisecond);

void line_of_200(benchmark::State& state) {
  const auto text = definitions(200);
  for (auto _ : state) benchmark::DoNotOptimize(check(text));
  set_goal_ms(state, 5);
}
BENCHMARK(line_of_200)->Unit(benchmark::kMillisecond);

void native_1000(benchmark::State& state) {
  const std::size_t before = heap();
  const Compilable all = checked(definitions(1000));
  const std::size_t events = heap() - before;
  std::size_t code = 0;
  for (auto _ : state) code = compile(all, model::CodeKind::Native);
  if (code == 0) state.SkipWithError("it was not compiled");
  state.counters["event_bytes"] = static_cast<double>((events + code) / all.events.size());
  state.counters["goal_bytes"] = 8192;
  set_goal_ms(state, 1000);
}
BENCHMARK(native_1000)->Unit(benchmark::kMillisecond)->UseRealTime();

void bpf_1000(benchmark::State& state) {
  const Compilable all = checked(definitions(1000));
  std::size_t code = 0;
  for (auto _ : state) code = compile(all, model::CodeKind::Bpf);
  if (code == 0) state.SkipWithError("it was not compiled");
  set_goal_ms(state, 2000);
}
BENCHMARK(bpf_1000)->Unit(benchmark::kMillisecond)->UseRealTime();

// ---- texts that nobody writes by hand ---------------------------------------------------------------

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

std::vector<std::string> odd_texts(std::string_view begin) {
  const std::string head(begin);
  return {head + std::string(1 << 20, 'x'),
          head + std::string(10000, '(') + std::string(10000, ')'),
          head + repeated("+0(", 10000) + std::string(10000, ')'),
          head + repeated("a == 1 && (", 10000),
          head + std::string("a\0b", 3),
          head + "\x80\xfe\xc3",
          head + std::string(4000, '('),
          head + repeated("!", 4000) + "a",
          head + repeated("a-", 1900) + "a"};
}

// `read` says whether it took the text: it must not.
template <class Read>
void answer_odd_text(benchmark::State& state, std::string_view begin, Read read) {
  const std::string text = odd_texts(begin)[static_cast<std::size_t>(state.range(0))];
  bool is_taken = false;
  for (auto _ : state) is_taken |= read(text);
  const bool ends_early = text.find('\0') != std::string::npos && begin.starts_with("hist");  // as the kernel reads it
  if (is_taken && !ends_early) state.SkipWithError("it took the text");
  set_goal_ms(state, 100);
}

void odd_definition(benchmark::State& state) {
  const target::UncheckedTargetEnv env;
  engine::Draft empty;
  answer_odd_text(state, "p:g/e f x=", [&](const std::string& text) {
    diag::Sink sink;
    return pipeline::check_event(text, env, empty, pipeline::Forms::All, sink).has_value();
  });
}

void odd_filter(benchmark::State& state) {
  const target::UncheckedTargetEnv env;
  engine::Draft empty;
  diag::Sink right;
  const auto event = pipeline::check_event("p:g/e f a=%di b=+0(%si):string", env, empty, pipeline::Forms::All, right);
  answer_odd_text(state, "", [&](const std::string& text) {
    diag::Sink sink;
    return pipeline::check_filter(text, *event, sink).has_value();
  });
}

void odd_trigger(benchmark::State& state) {
  const target::UncheckedTargetEnv env;
  answer_odd_text(state, "hist:keys=", [&](const std::string& text) {
    diag::Sink sink;
    const auto spec = grammar::parse_trigger(text, sink);
    if (!spec) return false;
    engine::Draft draft;
    std::vector<engine::Problem> problems;
    draft.check(std::vector<std::string>{"p:g/e f a=%di"}, {}, env, pipeline::Forms::All, problems);
    return sema::check_trigger(*spec, {"g", "e"}, {draft, {}}, sink).has_value();
  });
}

void odd_script(benchmark::State& state) {
  answer_odd_text(state, "target program ", [](const std::string& text) {
    std::vector<grammar::ScriptMistake> mistakes;
    grammar::parse_script("p:a f\n  filter " + text + "\n  trigger " + text + "\noption " + text, mistakes);
    return mistakes.empty();
  });
}

constexpr int kOddTexts = 9;
BENCHMARK(odd_definition)->Unit(benchmark::kMillisecond)->DenseRange(0, kOddTexts - 1);
BENCHMARK(odd_filter)->Unit(benchmark::kMillisecond)->DenseRange(0, kOddTexts - 1);
BENCHMARK(odd_trigger)->Unit(benchmark::kMillisecond)->DenseRange(0, kOddTexts - 1);
BENCHMARK(odd_script)->Unit(benchmark::kMillisecond)->DenseRange(0, kOddTexts - 1);

}  // namespace
}  // namespace kevt::tests

BENCHMARK_MAIN();

// compiler_times: what reading and compiling definitions takes; `STEP VALUE GOAL` a line.
//
//   check_10000_ms   parse and check of 10,000 definitions of different shapes, each against those before it
//   native_1000_ms   native code for 1,000 programs no two of which are equal
//   bpf_1000_ms      the same for BPF
//   event_bytes      heap of one of them once it is compiled
//   odd_…_ms         the slowest answer to texts such as 1 MB in one line, 10,000 parentheses, NUL, invalid UTF-8
//   line_of_200_ms   a text of 200 definitions checked again, as an editor does at a keystroke
//
// No target is needed: names are not looked up. Times are the best of some rounds; of compiling, which takes
// all CPUs, as one waits for it, of the rest as its thread runs. `compiler_times check|line|native|bpf|odd
// [EVENTS]` takes one of them alone, for a profiler.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

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

double now_ms(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

template <class Work>
double best_ms(Work work, int rounds, clockid_t clock) {
  double best = 1e9;
  for (int round = 0; round < rounds; ++round) {
    const double begin = now_ms(clock);
    work();
    best = std::min(best, now_ms(clock) - begin);
  }
  return best;
}

// Work of this thread alone, without the time that others have the CPU.
template <class Work>
double thread_ms(Work work, int rounds = 3) {
  return best_ms(work, rounds, CLOCK_THREAD_CPUTIME_ID);
}
// Work of several threads, as one waits for it.
template <class Work>
double wall_ms(Work work) {
  return best_ms(work, 3, CLOCK_MONOTONIC);
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

void measure_check() {
  const auto many = definitions(10000);
  fmt::print("check_10000_ms {:.0f} 500\n", thread_ms([&] { check(many); }));
}

void measure_line() {
  auto text = definitions(200);
  check(text);
  fmt::print("line_of_200_ms {:.1f} 5\n", thread_ms([&] { check(text); }, 15));
}

void measure_native(int count) {
  const std::size_t before = heap();
  const Compilable all = checked(definitions(count));
  const std::size_t events = heap() - before;
  std::size_t code = 0;
  fmt::print("native_1000_ms {:.0f} 1000\n", wall_ms([&] { code = compile(all, model::CodeKind::Native); }));
  fmt::print("event_bytes {} 8192\n", (events + code) / all.events.size());
}

void measure_bpf(int count) {
  const Compilable all = checked(definitions(count));
  fmt::print("bpf_1000_ms {:.0f} 2000\n", wall_ms([&] { compile(all, model::CodeKind::Bpf); }));
}

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

// The slowest answer of `read`, which says whether it took the text: it must not.
template <class Read>
double slowest_ms(const std::string& entrance, std::string_view begin, Read read) {
  double slowest = 0;
  for (const std::string& text : odd_texts(begin)) {
    bool taken = false;
    slowest = std::max(slowest, thread_ms([&] { taken = read(text); }));
    if (taken) fmt::print(stderr, "{} took an odd text of {} bytes\n", entrance, text.size());
  }
  return slowest;
}

void measure_odd() {
  const target::UncheckedTargetEnv env;
  engine::Draft empty;
  diag::Sink right;
  const auto event = pipeline::check_event("p:g/e f a=%di b=+0(%si):string", env, empty, pipeline::Forms::All, right);
  const double definition = slowest_ms("a definition", "p:g/e f x=", [&](const std::string& text) {
    diag::Sink sink;
    return pipeline::check_event(text, env, empty, pipeline::Forms::All, sink).has_value();
  });
  const double filter = slowest_ms("a filter", "", [&](const std::string& text) {
    diag::Sink sink;
    return pipeline::check_filter(text, *event, sink).has_value();
  });
  const double trigger = slowest_ms("a trigger", "hist:keys=", [&](const std::string& text) {
    diag::Sink sink;
    const auto spec = grammar::parse_trigger(text, sink);
    if (!spec) return false;
    engine::Draft draft;
    std::vector<engine::Problem> problems;
    draft.check(std::vector<std::string>{"p:g/e f a=%di"}, {}, env, pipeline::Forms::All, problems);
    return sema::check_trigger(*spec, {"g", "e"}, {draft, {}}, sink).has_value();
  });
  const double script = slowest_ms("a script", "target program ", [&](const std::string& text) {
    std::vector<grammar::ScriptMistake> mistakes;
    grammar::parse_script("p:a f\n  filter " + text + "\n  trigger " + text + "\noption " + text, mistakes);
    return mistakes.empty();
  });
  fmt::print("odd_definition_ms {:.1f} 100\nodd_filter_ms {:.1f} 100\n", definition, filter);
  fmt::print("odd_trigger_ms {:.1f} 100\nodd_script_ms {:.1f} 100\n", trigger, script);
}

int measure(std::string_view only, int count) {
  const auto wanted = [&](std::string_view name) { return only.empty() || only == name; };
  if (wanted("check")) measure_check();
  if (wanted("line")) measure_line();
  if (wanted("native")) measure_native(count);
  if (wanted("bpf")) measure_bpf(count);
  if (wanted("odd")) measure_odd();
  return 0;
}

}  // namespace
}  // namespace kevt::tests

int main(int argc, char** argv) {
  return kevt::tests::measure(argc > 1 ? argv[1] : "", argc > 2 ? std::atoi(argv[2]) : 1000);
}

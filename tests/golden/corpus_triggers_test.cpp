// The problem: triggers must be taken, refused, explained and listed as Debian's 6.1 does.
//
// The idea: replay what that kernel answered. Each record of trigger.jsonl.gz is a text written to an event's
// trigger file, after events were defined and other triggers set; errno, the newest error_log entry, the number of
// entries and what the file read afterwards must agree. The trigger files of ops.jsonl.gz, which are written
// and truncated several times, are replayed too.
//
// The folder comes from KEVT_CORPUS; without it nothing is tested here (triggers_test.cpp always runs).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/golden/corpus_reader.h"
#include "tests/golden/trigger_world.h"

namespace kevt::golden {
namespace {

using nlohmann::json;

struct Answer {
  std::string verdict;
  std::string log;
  std::size_t entries = 0;
  std::string file;
};

std::string with_folder(std::string text) {
  constexpr std::string_view kPlaceHolder = "@DIR@";
  for (std::size_t at = text.find(kPlaceHolder); at != std::string::npos; at = text.find(kPlaceHolder, at)) {
    text.replace(at, kPlaceHolder.size(), kFolder);
  }
  return text;
}

Answer kernel_answer(const json& result) {
  Answer answer{result.at("errno"), "", result.value("errors", 0U), result.at("trigger")};
  if (result.contains("error")) {
    const json& error = result.at("error");
    answer.log = fmt::format("{} | {} | {}", error.at("msg").get<std::string>(), error.at("cmd").get<std::string>(),
                             error.at("caret").is_null() ? -1 : error.at("caret").get<int>());
  }
  return answer;
}

std::string entry_text(const diag::Diagnostic& entry) {
  return fmt::format("{}: error: {} | {} | {}", diag::location_text(entry), diag::kernel_text(entry.kind),
                     entry.command, entry.column ? static_cast<int>(*entry.column) : -1);
}

Answer our_answer(TriggerWorld& world, const std::string& event, const std::string& text) {
  const TriggerResult result = world.write(event, text);
  Answer answer{error_name(result.errno_value), "", 0, world.read(event)};
  for (const diag::Diagnostic& mistake : result.mistakes) {
    if (!mistake.logged) continue;
    if (answer.entries++ == 0) answer.log = entry_text(mistake);
  }
  return answer;
}

// "events/uprobes/ta/trigger" → "uprobes/ta"
std::optional<std::string> trigger_file(std::string_view path) {
  if (!path.starts_with("events/") || !path.ends_with("/trigger")) return std::nullopt;
  path.remove_prefix(std::string_view("events/").size());
  path.remove_suffix(std::string_view("/trigger").size());
  return std::string(path);
}

TriggerResult write_file(TriggerWorld& world, const std::string& file, const std::string& text) {
  if (const auto event = trigger_file(file)) return world.write(*event, text);
  if (const auto events = events_file(file)) {
    return {.errno_value = world.events().write(*events, with_folder(text)).errno_value, .mistakes = {}};
  }
  return {};
}

void set_up(TriggerWorld& world, const json& record) {
  for (const json& step : record.at("setup")) {
    const TriggerResult result = write_file(world, step.at(0), step.at(1));
    EXPECT_EQ(result.errno_value, 0) << step.dump();
  }
}

TEST(CorpusTriggers, AnswersAsTheKernelDoes) {
  const auto folder = corpus_folder();
  if (!folder) GTEST_SKIP() << "KEVT_CORPUS does not name the corpus' folder";
  int seen = 0;
  for (const json& record : read_corpus(*folder + "/trigger.jsonl.gz")) {
    TriggerWorld world;
    set_up(world, record);
    const std::string event = record.at("event");
    const Answer kernel = kernel_answer(record.at("result"));
    const Answer ours = our_answer(world, event, record.at("text"));
    const std::string where = event + " " + record.at("text").dump();
    ++seen;
    EXPECT_EQ(ours.verdict, kernel.verdict) << where;
    EXPECT_EQ(ours.log, kernel.log) << where;
    EXPECT_EQ(ours.entries, kernel.entries) << where;
    EXPECT_EQ(ours.file, kernel.file) << where;
  }
  fmt::print("triggers: {} records\n", seen);
  EXPECT_GT(seen, 0);
}

// One of ["w", file, text], ["wt", …], ["r", file]; other operations do not matter before the first run.
void replay(TriggerWorld& world, const json& operation, const json& result) {
  const std::string what = operation.at(0);
  if (!what.starts_with('w') && what != "r") return;
  const std::string file = operation.at(1);
  const auto event = trigger_file(file);
  if (what == "r") {
    if (!event || result == "<open:ENOENT>") return;
    EXPECT_EQ(world.read(*event), result.get<std::string>()) << operation.dump();
    return;
  }
  if (!event && !events_file(file)) return;
  if (what == "wt" && event) world.truncate(*event);
  if (what == "wt" && !event) return;
  const TriggerResult written = write_file(world, file, operation.at(2));
  if (event) {
    EXPECT_EQ(written.errno_value == 0 ? "ok" : error_name(written.errno_value), result.get<std::string>())
        << operation.dump();
  }
}

bool touches_triggers(const json& record) {
  return std::ranges::any_of(record.at("ops"), [](const json& operation) {
    return operation.size() > 1 && operation.at(1).is_string() &&
           trigger_file(operation.at(1).get<std::string>()).has_value();
  });
}

TEST(CorpusTriggers, SequencesEndAsTheKernels) {
  const auto folder = corpus_folder();
  if (!folder) GTEST_SKIP() << "KEVT_CORPUS does not name the corpus' folder";
  int seen = 0;
  for (const char* name : {"/ops.jsonl.gz", "/e2e.jsonl.gz"}) {
    for (const json& record : read_corpus(*folder + name)) {
      if (!touches_triggers(record)) continue;
      TriggerWorld world;
      const json& results = record.at("result").at("results");
      for (std::size_t i = 0; i < results.size() && record.at("ops").at(i).at(0) != "run"; ++i) {
        replay(world, record.at("ops").at(i), results.at(i));
      }
      ++seen;
    }
  }
  fmt::print("triggers: {} sequences\n", seen);
  EXPECT_GT(seen, 0);
}

}  // namespace
}  // namespace kevt::golden

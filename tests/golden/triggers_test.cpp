// The problem: what triggers do, how they are listed and how they fail must not change unseen.
//
// The idea: triggers.golden holds sequences of writes to trigger files, each with what the file reads then, or
// with a caret under the column of error_log, the errno and the kernel's identifier, the newest entry first:
//
//   world
//   write uprobes/ta hist:keys=i.nope
//       hist:keys=i.nope
//                   ^ EINVAL BAD_FIELD_MODIFIER
//   write uprobes/ta hist:keys=i
//       hist:keys=i:vals=hitcount:sort=hitcount:size=2048 [active]
//
// `world` starts anew with the events of trigger_world.cpp; `define TEXT` adds one, `truncate EVENT` opens its file
// for truncation, `read EVENT` shows it. What 6.1 does not log has a kind of our own and `unlogged`.
// KEVT_UPDATE_GOLDEN=1 rewrites the expectations; the diff is to be reviewed. The kernel's own answers are replayed by
// corpus_triggers_test.cpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tests/golden/trigger_world.h"

namespace kevt::golden {
namespace {

constexpr std::string_view kIndent = "    ";

// One line of the file that is no expectation, and the expectation behind it.
struct Step {
  std::string line;
  std::string expectation;
  int number = 0;
};

std::string golden_path() { return std::string(KEVT_GOLDEN_DIR) + "/triggers.golden"; }

std::vector<Step> read_steps() {
  std::ifstream file(golden_path());
  EXPECT_TRUE(file) << golden_path();
  std::vector<Step> steps;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.starts_with(kIndent)) {
      steps.back().expectation += line + "\n";
    } else {
      steps.push_back({.line = line, .expectation = {}, .number = number});
    }
  }
  return steps;
}

std::string indented(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) result += fmt::format("{}{}\n", kIndent, line);
  return result;
}

std::string mistake_text(const diag::Diagnostic& mistake, std::string_view verdict) {
  const bool ours = diag::kernel_id(mistake.kind).empty();
  const std::string caret(mistake.column.value_or(0), ' ');
  return fmt::format("{}^ {} {}{}\n", caret, verdict,
                     ours ? diag::kind_name(mistake.kind) : diag::kernel_id(mistake.kind),
                     mistake.logged ? "" : " unlogged");
}

// The command is repeated where it differs: that of a filter is its own text.
std::string mistakes_text(const TriggerResult& result, std::string_view verdict) {
  std::string text;
  std::string command;
  for (const diag::Diagnostic& mistake : result.mistakes) {
    if (mistake.command != command) text += mistake.command + "\n";
    command = mistake.command;
    text += mistake_text(mistake, verdict);
  }
  return text;
}

class Player {
 public:
  std::string play(const std::string& line) {
    std::istringstream words(line);
    std::string what, rest;
    words >> what;
    if (what == "world") start();
    if (what == "define") {
      std::getline(words >> std::ws, rest);
      EXPECT_EQ(world_->events().write(grammar::EventsFile::Dynamic, rest).errno_value, 0) << line;
    }
    if (what != "write" && what != "truncate" && what != "read") return "";
    std::string event;
    words >> event;
    std::getline(words >> std::ws, rest);
    if (what == "write") return write(event, rest);
    if (what == "truncate") world_->truncate(event);
    return indented(world_->read(event));
  }

 private:
  void start() {
    world_ = std::make_unique<TriggerWorld>();
    define_trigger_events(*world_);
  }

  std::string write(const std::string& event, const std::string& text) {
    const TriggerResult result = world_->write(event, text);
    if (result.errno_value != 0) return indented(mistakes_text(result, error_name(result.errno_value)));
    return indented(mistakes_text(result, "taken, but logged") + world_->read(event));
  }

  std::unique_ptr<TriggerWorld> world_;
};

TEST(GoldenTriggers, AreListedAndRefusedAsWritten) {
  const std::vector<Step> steps = read_steps();
  EXPECT_GE(steps.size(), 100U);
  Player player;
  std::vector<std::string> outcomes;
  for (const Step& step : steps) outcomes.push_back(player.play(step.line));
  if (std::getenv("KEVT_UPDATE_GOLDEN") != nullptr) {
    std::ofstream file(golden_path());
    for (std::size_t i = 0; i < steps.size(); ++i) file << steps[i].line << "\n" << outcomes[i];
    return;
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(outcomes[i], steps[i].expectation) << "triggers.golden:" << steps[i].number << ": " << steps[i].line;
  }
}

}  // namespace
}  // namespace kevt::golden

// The problem: much that is right as a text is refused for what it would have to run on, or beside which other events.
//
// The idea: drafts.golden holds what is given together, each with the mistakes it gets:
//
//   draft                               definitions and filters, as `run` checks them
//   | p:a libmissing:f
//     line 1: ModuleMissing "module or library is not loaded"
//   group g                             definitions, a filter for all events of a group, and what each one's file reads
//   | p:g/a vfs_read x=%di
//   | p:g/b vfs_read y=%di
//   | x > 1
//     b:
//       x > 1 …
//
// World: definition_world.cpp. KEVT_UPDATE_GOLDENS=1 rewrites the answers; the diff is reviewed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "runtime-user/engine/events/draft.h"
#include "runtime-user/engine/tracing.h"
#include "tests/golden/definition_world.h"

namespace kevt::golden {
namespace {

constexpr const char* kPath = KEVT_GOLDEN_DIR "/drafts.golden";
constexpr std::string_view kFilter = "filter ";
constexpr std::string_view kGroup = "group ";

struct Case {
  std::string before;  // comments and blank lines
  std::string way;
  std::vector<std::string> lines;
  std::string answer;
};

std::vector<Case> read_cases() {
  std::ifstream file(kPath);
  std::vector<Case> cases;
  std::string before;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| ")) {
      cases.back().lines.push_back(line.substr(2));
    } else if (line.starts_with("  ")) {
      cases.back().answer += line + "\n";
    } else if (line.empty() || line.starts_with("#")) {
      before += line + "\n";
    } else {
      cases.push_back({std::exchange(before, ""), line, {}, ""});
    }
  }
  return cases;
}

// `filter EVENT: TEXT` lines are filters, all others definitions.
std::string draft_answer(const std::vector<std::string>& lines) {
  DefinitionWorld world;
  world.env().map_file(std::string(kFolder) + "/target", 0x400000);
  std::vector<std::string> definitions;
  std::vector<engine::EventFilter> filters;
  std::vector<std::size_t> definition_lines, filter_lines;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].starts_with(kFilter)) {
      const std::size_t colon = lines[i].find(": ");
      filters.push_back({lines[i].substr(kFilter.size(), colon - kFilter.size()), lines[i].substr(colon + 2)});
      filter_lines.push_back(i + 1);
    } else {
      definitions.push_back(lines[i]);
      definition_lines.push_back(i + 1);
    }
  }
  engine::Draft draft;
  std::vector<engine::Problem> problems;
  draft.check(definitions, filters, world.env(), pipeline::Forms::Runnable, problems);
  std::string answer;
  for (const engine::Problem& one : problems) {
    const bool of_filter = one.kind == engine::Problem::Kind::Filter;
    answer += fmt::format("  line {}: {} \"{}\"", (of_filter ? filter_lines : definition_lines).at(one.index),
                          kind_name(one.diagnostic.kind), kernel_text(one.diagnostic.kind));
    answer += one.diagnostic.detail.empty() ? "\n" : ": " + one.diagnostic.detail + "\n";
  }
  return answer.empty() ? "  right\n" : answer;
}

std::string group_answer(const std::string& group, std::vector<std::string> lines) {
  DefinitionWorld world;
  engine::Tracing tracing({}, {.env = &world.env()});
  const std::string text = std::move(lines.back());
  lines.pop_back();
  for (const std::string& line : lines)
    EXPECT_TRUE(tracing.definitions().write(grammar::EventsFile::Dynamic, line + "\n")) << line;
  const auto written = tracing.filters().write_group(tracing.top(), group, text);
  std::string answer = written ? "" : "  refused\n";
  for (const auto& [id, event] : tracing.events().events()) {
    if (event->group != group) continue;
    const engine::EventState* state = tracing.top().find_state(id);
    if (state == nullptr || state->filter_mistake.empty()) continue;
    answer += fmt::format("  {}:\n", event->name);
    std::istringstream mistake(state->filter_mistake);
    for (std::string line; std::getline(mistake, line);) answer += line.empty() ? "" : "    " + line + "\n";
  }
  return answer.empty() ? "  taken\n" : answer;
}

std::string answer(const Case& one) {
  if (one.way.starts_with(kGroup)) return group_answer(one.way.substr(kGroup.size()), one.lines);
  return draft_answer(one.lines);
}

TEST(GoldenDrafts, AreAnsweredAsWritten) {
  const bool update = std::getenv("KEVT_UPDATE_GOLDENS") != nullptr;
  const std::vector<Case> cases = read_cases();
  ASSERT_GT(cases.size(), 5u);
  std::string written;
  for (const Case& one : cases) {
    const std::string got = answer(one);
    if (!update) {
      EXPECT_EQ(got, one.answer) << one.way << ": " << one.lines.front();
    }
    written += one.before + one.way + "\n";
    for (const std::string& line : one.lines) written += "| " + line + "\n";
    written += got;
  }
  if (update) std::ofstream(kPath) << written;
}

}  // namespace
}  // namespace kevt::golden

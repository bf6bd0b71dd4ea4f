// The problem: every rule of definitions needs a case that shows it, and a person must be able to read them.
//
// The idea: definitions.golden holds cases in blocks separated by blank lines: a line `FILE`, optional `setup`
// lines, the text with its expectation below. KEVT_UPDATE_GOLDENS=1 rewrites the expectations; the diff is
// reviewed.
//
//   kprobe_events
//     p vfs_read %none_reg
//                ^ EINVAL trace_kprobe: BAD_REG_NAME
//   kprobe_events
//     r:e vfs_read $retval
//     = r10:kprobes/e vfs_read arg1=$retval
//
// Mistakes stand under the text in the order they are reported, the kernel's first one first; what the kernel does
// not log says so.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/golden/definition_world.h"

namespace kevt::golden {
namespace {

constexpr std::string_view kIndent = "  ";
constexpr const char* kPath = KEVT_GOLDEN_DIR "/definitions.golden";

struct Case {
  std::vector<std::string> comments;
  std::string file;
  std::vector<std::string> setup;
  std::string text;
  std::vector<std::string> expected;
};

std::string read_file(const char* path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::vector<Case> read_cases(const std::string& text) {
  std::vector<Case> cases;
  std::istringstream stream(text);
  Case current;
  const auto finish = [&] {
    if (!current.file.empty() || !current.comments.empty()) cases.push_back(std::move(current));
    current = {};
  };
  for (std::string line; std::getline(stream, line);) {
    if (line.empty()) {
      finish();
    } else if (line.starts_with("#")) {
      current.comments.push_back(line);
    } else if (line.starts_with("setup ")) {
      current.setup.push_back(line.substr(6));
    } else if (!line.starts_with(kIndent)) {
      current.file = line;
    } else if (current.text.empty()) {
      current.text = line.substr(kIndent.size());
    } else {
      current.expected.push_back(line);
    }
  }
  finish();
  return cases;
}

std::string mistake_line(const diag::Diagnostic& mistake) {
  const std::string caret = mistake.column ? std::string(*mistake.column, ' ') + "^" : "-";
  const std::string_view id = kernel_id(mistake.kind);
  std::string line = fmt::format("{}{} {} {}: {}", kIndent, caret, error_name(mistake.errno_value),
                                 location_name(mistake.location), id.empty() ? kind_name(mistake.kind) : id);
  if (mistake.prelude)
    line += fmt::format(" after {} at {}", kernel_id(mistake.prelude->kind), mistake.prelude->column);
  if (!mistake.logged) line += " (not logged)";
  if (!mistake.detail.empty()) line += fmt::format(" ({})", mistake.detail);
  return line;
}

std::vector<std::string> replay(const Case& golden) {
  DefinitionWorld world;
  world.env().add_function({.name = "twice", .module = "a", .address = 0x100000, .size = 16});
  world.env().add_function({.name = "twice", .module = "b", .address = 0x200000, .size = 16});
  const auto function = *world.env().find_function({}, "vfs_read");
  world.env().set_probeability(function.address + 1, target::Probeability::NotInstructionBoundary);
  world.env().set_probeability(world.env().find_function({}, "schedule")->address, target::Probeability::Blacklisted);
  for (const std::string& line : golden.setup) {
    EXPECT_EQ(world.write(grammar::EventsFile::Dynamic, line).errno_value, 0) << line;
  }
  const auto file = events_file(golden.file);
  EXPECT_TRUE(file.has_value()) << golden.file;
  std::vector<std::string> lines;
  const WriteResult result = world.write(file.value_or(grammar::EventsFile::Dynamic), golden.text);
  for (const diag::Diagnostic& mistake : result.mistakes) {
    lines.push_back(mistake_line(mistake));
  }
  if (result.mistakes.empty() && result.errno_value != 0) {
    lines.push_back(fmt::format("{}- {}", kIndent, error_name(result.errno_value)));
  }
  if (result.errno_value == 0) {
    for (const std::string& line : world.listing()) lines.push_back(fmt::format("{}= {}", kIndent, line));
  }
  return lines;
}

std::string written(const std::vector<Case>& cases) {
  std::string text;
  for (const Case& golden : cases) {
    if (!text.empty()) text += "\n";
    for (const std::string& line : golden.comments) text += line + "\n";
    if (golden.file.empty()) continue;
    for (const std::string& line : golden.setup) text += "setup " + line + "\n";
    text += golden.file + "\n" + std::string(kIndent) + golden.text + "\n";
    for (const std::string& line : golden.expected) text += line + "\n";
  }
  return text;
}

TEST(GoldenDefinitions, AreAnsweredAsWritten) {
  std::vector<Case> cases = read_cases(read_file(kPath));
  ASSERT_GT(cases.size(), 60u) << kPath;
  const bool update = std::getenv("KEVT_UPDATE_GOLDENS") != nullptr;
  for (Case& golden : cases) {
    if (golden.file.empty()) continue;
    const std::vector<std::string> lines = replay(golden);
    if (update) {
      golden.expected = lines;
    } else {
      EXPECT_EQ(lines, golden.expected) << golden.file << ": " << golden.text;
    }
  }
  if (update) std::ofstream(kPath) << written(cases);
}

}  // namespace
}  // namespace kevt::golden

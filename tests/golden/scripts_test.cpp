// The problem: every mistake that a script can have must be said once, at its place.
//
// The idea: scripts.golden holds texts, each with the mistakes they get:
//
//   script                              how it is read: script, boot (written), shell, bootline (read)
//   | target moon
//     1:8 ScriptBadTarget "a target is …"
//
// KEVT_UPDATE_GOLDENS=1 rewrites the answers; the diff is reviewed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "compiler/script/boot.h"
#include "compiler/script/import_shell.h"
#include "grammar/parse_script.h"

namespace kevt::golden {
namespace {

constexpr const char* kPath = KEVT_GOLDEN_DIR "/scripts.golden";

struct Case {
  std::string before;
  std::string way;
  std::string text;
  std::string answer;
};

std::vector<Case> read_cases() {
  std::ifstream file(kPath);
  std::vector<Case> cases;
  std::string before;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| ") || line == "|") {
      cases.back().text += line.substr(std::min<std::size_t>(2, line.size())) + "\n";
    } else if (line.starts_with("  ")) {
      cases.back().answer += line + "\n";
    } else if (line.empty() || line.starts_with("#")) {
      before += line + "\n";
    } else {
      cases.push_back({std::exchange(before, ""), line, "", ""});
    }
  }
  return cases;
}

std::string said(int line, const diag::Diagnostic& mistake) {
  std::string text = fmt::format("  {}:{} {} \"{}\"", line, mistake.column ? std::to_string(*mistake.column + 1) : "-",
                                 kind_name(mistake.kind), kernel_text(mistake.kind));
  if (!mistake.detail.empty()) text += ": " + mistake.detail;
  return text + "\n";
}

std::string answer(const Case& one) {
  std::string out;
  const auto add = [&](const auto& mistakes) {
    for (const auto& mistake : mistakes) out += said(mistake.line, mistake.diagnostic);
  };
  if (one.way == "shell") {
    add(script::import_shell(one.text).mistakes);
  } else if (one.way == "bootline") {
    add(script::import_boot(one.text).mistakes);
  } else {
    std::vector<grammar::ScriptMistake> mistakes;
    const model::Script read = grammar::parse_script(one.text, mistakes);
    add(mistakes);
    const auto boot = one.way == "boot" ? script::write_boot(read) : std::string();
    if (!boot) add(boot.error());
  }
  return out.empty() ? "  right\n" : out;
}

TEST(GoldenScripts, AreAnsweredAsWritten) {
  const bool update = std::getenv("KEVT_UPDATE_GOLDENS") != nullptr;
  const std::vector<Case> cases = read_cases();
  ASSERT_GT(cases.size(), 20u);
  std::string written;
  for (const Case& one : cases) {
    const std::string got = answer(one);
    if (!update) {
      EXPECT_EQ(got, one.answer) << one.text;
    }
    written += one.before + one.way + "\n";
    std::istringstream lines(one.text);
    for (std::string line; std::getline(lines, line);) written += line.empty() ? "|\n" : "| " + line + "\n";
    written += got;
  }
  if (update) std::ofstream(kPath) << written;
}

}  // namespace
}  // namespace kevt::golden

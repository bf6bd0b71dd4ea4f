// The problem: a table of mistakes says what can be reported; a row that no text shows is a promise nobody looks at.
//
// The idea: read what the goldens answer. Every row of diagnostic_kinds.def must be among the answers; those that no
// text causes, with the reason, are listed here and must not, so that neither sort can grow unseen.
//
//   triggers.golden:  "    ^ EINVAL BAD_FIELD_MODIFIER"     shows HistBadFieldModifier
//
// Kinds with an identifier of the kernel are looked for by that, the others by their name. Where two kinds share an
// identifier, the line must tell which one is meant.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/diag/diagnostic.h"

namespace kevt::golden {
namespace {

using diag::Kind;

// Answers with the words in them.
struct Answer {
  std::string file;
  std::string line;
  std::set<std::string, std::less<>> words;
};

std::set<std::string, std::less<>> words_of(const std::string& line) {
  std::set<std::string, std::less<>> words;
  std::string word;
  for (const char c : line + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += c;
    } else if (!word.empty()) {
      words.insert(std::exchange(word, ""));
    }
  }
  return words;
}

// All lines behind blanks: commands stand there, too, in capitals nowhere.
std::vector<Answer> read_answers() {
  std::vector<Answer> answers;
  for (const char* file : {"definitions", "dialects", "drafts", "filters", "scripts", "triggers"}) {
    std::ifstream stream(fmt::format("{}/{}.golden", KEVT_GOLDEN_DIR, file));
    EXPECT_TRUE(stream) << file;
    for (std::string line; std::getline(stream, line);)
      if (line.starts_with(" ")) answers.push_back({file, line, words_of(line)});
  }
  return answers;
}

std::string_view word_of(Kind kind) { return kernel_id(kind).empty() ? kind_name(kind) : kernel_id(kind); }

bool is_of_histograms(const Answer& answer) { return answer.file == "triggers" || answer.line.contains(" hist:"); }

// Whether the identifier alone does not tell.
bool shows(const Answer& answer, Kind kind) {
  if (answer.line.contains(fmt::format("parse_error: {}", kernel_text(kind)))) return true;  // what a file reads
  if (!answer.words.contains(word_of(kind))) return false;
  switch (kind) {
    case Kind::HistFieldNotFound:
      return is_of_histograms(answer);
    case Kind::FilterFieldNotFound:
      return !is_of_histograms(answer);
    case Kind::FileOnKprobe:
    case Kind::FileOnKernelProbe:
      return answer.line.contains(kernel_text(kind));
    default:
      return true;
  }
}

const std::map<Kind, std::string_view>& never_caused() {
  static const std::map<Kind, std::string_view> kinds = {
      // The kernel's tables have them; no text causes them in any of the kernels here, as live ones showed.
      {Kind::NoTracepoint, "what is missing may come with a module"},
      {Kind::BadVarArgs, "`$arg*` elsewhere is a variable that nobody knows: BAD_VAR"},
      {Kind::Argidx2big, "a number without a parameter is one that is not found: NO_BTFARG"},
      {Kind::FilterNone, "it says that there is no mistake"},
      {Kind::FilterIpFieldOnly, "events of the function tracer have no filter file"},
      {Kind::HistTooManyFieldVars, "64; a histogram has room for 16 variables"},
      {Kind::HistFieldFloat, "no kernel has floating point; process_floats shows it"},
      {Kind::HistSynthVarNotFound, "what was made for a field is found"},
      {Kind::HistNoSaveParams, "what stands behind `save(` is a parameter, even nothing: INVALID_PARAM"},
  };
  return kinds;
}

TEST(GoldenCoverage, EveryKindThatTextsCauseOccurs) {
  const std::vector<Answer> answers = read_answers();
  ASSERT_GT(answers.size(), 500u);
  for (std::size_t i = 0; i < diag::kind_count(); ++i) {
    const auto kind = static_cast<Kind>(i);
    std::string shown;
    for (const Answer& answer : answers)
      if (shows(answer, kind)) shown = answer.file + ".golden: " + answer.line;
    EXPECT_NE(shown.empty(), !never_caused().contains(kind))
        << kind_name(kind) << (shown.empty() ? " occurs in no golden" : " is said to be caused by nothing; " + shown);
  }
}

// What tells two kinds of one identifier apart is written above.
TEST(GoldenCoverage, IdentifiersTellTheirKind) {
  std::map<std::string_view, std::vector<Kind>> kinds;
  for (std::size_t i = 0; i < diag::kind_count(); ++i)
    kinds[word_of(static_cast<Kind>(i))].push_back(static_cast<Kind>(i));
  std::set<std::string_view> shared;
  for (const auto& [word, all] : kinds)
    if (all.size() > 1) shared.insert(word);
  EXPECT_EQ(shared, (std::set<std::string_view>{"FIELD_NOT_FOUND", "FILE_ON_KPROBE"}));
}

}  // namespace
}  // namespace kevt::golden

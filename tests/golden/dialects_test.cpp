// The problem: each row of the table of features must be true, and a person must be able to read what it changes.
//
// The idea: dialects.golden holds texts with the answer of every kernel, and of the superset (`all`). A comment names
// the rows that a text shows:
//
//   # shows: CharType
//   p vfs_read c=%di:char
//     6.1     EINVAL trace_kprobe: BAD_TYPE at 16 "Unknown type is specified"
//     6.12    taken c=%di:char
//
// KEVT_UPDATE_GOLDENS=1 rewrites the answers; the diff is reviewed. Tests ask that every row is shown, by a text that
// the kernels with it answer otherwise than the kernels without, and that docs/language.md has the table as it is.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/dialect/dialect.h"
#include "compiler/sema/filter.h"
#include "compiler/target/types/btf.h"
#include "tests/golden/definition_world.h"
#include "tests/golden/small_btf.h"
#include "tests/golden/trigger_world.h"

namespace kevt::golden::dialects {
namespace {

using dialect::Dialect;
using dialect::Feature;

constexpr const char* kPath = KEVT_GOLDEN_DIR "/dialects.golden";
constexpr const char* kLanguage = KEVT_DOCS_DIR "/language.md";
constexpr std::string_view kShows = "# shows: ";
constexpr std::string_view kFilter = "filter ";
constexpr std::string_view kTypes = "types ";      // a definition, where small_btf.h is the kernel's
constexpr std::string_view kTrigger = "trigger ";  // of uprobes/tb, where another event has the variable `t0`
constexpr std::string_view kTableBegin = "<!-- dialects: this table is compiler/dialect/features.def -->\n";
constexpr std::string_view kTableEnd = "<!-- end of dialects -->\n";

struct Case {
  std::vector<std::string> comments;
  std::set<std::string> shows;
  std::string text;
  std::map<std::string, std::string> answers;  // of the golden file
};

std::string whole_file(const char* path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::vector<Case> read_dialect_cases(const std::string& text) {
  std::vector<Case> cases;
  std::istringstream stream(text);
  Case current;
  const auto finish = [&] {
    if (!current.text.empty() || !current.comments.empty()) cases.push_back(std::move(current));
    current = {};
  };
  for (std::string line; std::getline(stream, line);) {
    if (line.empty()) {
      finish();
    } else if (line.starts_with("#")) {
      current.comments.push_back(line);
      std::istringstream names(line.starts_with(kShows) ? line.substr(kShows.size()) : "");
      for (std::string name; names >> name;) current.shows.insert(name);
    } else if (line.starts_with("  ")) {
      const std::size_t end = line.find(' ', 2);
      const std::size_t answer = line.find_first_not_of(' ', end);
      current.answers[line.substr(2, end - 2)] = answer == std::string::npos ? "" : line.substr(answer);
    } else {
      current.text = line;
    }
  }
  finish();
  return cases;
}

std::string mistake_text(const diag::Diagnostic& mistake) {
  const std::string_view id = kernel_id(mistake.kind);
  std::string text = fmt::format("{} {}: {}", error_name(mistake.errno_value), location_name(mistake.location),
                                 id.empty() ? kind_name(mistake.kind) : id);
  if (mistake.column) text += fmt::format(" at {}", *mistake.column);
  if (mistake.prelude) text += fmt::format(" after {}", kernel_id(mistake.prelude->kind));
  return text + (mistake.logged ? fmt::format(" \"{}\"", kernel_text(mistake.kind)) : " (not logged)");
}

std::string filter_answer(std::string_view text, Dialect dialect) {
  const DefinitionWorld world(dialect);
  model::RecordLayout layout;
  layout.fields.push_back({.role = model::FieldRole::Argument, .name = "ip", .type = {}, .offset = 8, .size = 8});
  diag::Sink sink;
  sema::compile_filter(text, layout, sink, {.dialect = dialect, .newer_forms = sema::NewerForms::Judged}, &world.env());
  return sink.empty() ? "taken" : mistake_text(sink.diagnostics().front());
}

void give_types(DefinitionWorld& world) {
  std::uint64_t address = 0xffffffff82000000;
  for (const char* name : {"work", "nothing", "many", "untyped"}) {
    world.env().add_function({.name = name, .module = "", .address = address += 0x100, .size = 0x100});
  }
  world.env().set_types(std::make_shared<const target::TypeTable>(*target::read_btf(small_btf())));
}

std::string trigger_answer(std::string_view text, Dialect dialect) {
  TriggerWorld world(dialect);
  define_trigger_events(world);
  world.write("uprobes/ta", "hist:keys=i:t0=v");
  const TriggerResult result = world.write("uprobes/tb", text);
  if (result.errno_value != 0) return mistake_text(result.mistakes.front());
  const std::string read = world.read("uprobes/tb");
  return "taken " + read.substr(0, read.find('\n'));
}

// ` *129` behind a text repeats its last word; `\n` in a definition ends a line.
std::string expanded(std::string text) {
  for (std::size_t at = text.find("\\n"); at != std::string::npos; at = text.find("\\n")) text.replace(at, 2, "\n");
  const std::size_t star = text.rfind(" *");
  if (star == std::string::npos) return text;
  const int times = std::stoi(text.substr(star + 2));
  text.erase(star);
  const std::size_t last = text.rfind(' ');
  const std::string word = text.substr(last);
  text.erase(last);
  for (int i = 1; i <= times; ++i) text += word.contains("$arg") ? fmt::format(" x{}=$arg{}", i, i) : word;
  return text;
}

std::string answer(const std::string& text, Dialect dialect) {
  if (text.starts_with(kFilter)) return filter_answer(expanded(text.substr(kFilter.size())), dialect);
  if (text.starts_with(kTrigger)) return trigger_answer(std::string_view(text).substr(kTrigger.size()), dialect);
  DefinitionWorld world(dialect);
  std::string_view definition = text;
  if (text.starts_with(kTypes)) {
    definition.remove_prefix(kTypes.size());
    give_types(world);
  }
  const WriteResult result = world.write(grammar::EventsFile::Dynamic, expanded(std::string(definition)));
  if (!result.mistakes.empty()) return mistake_text(result.mistakes.front());
  if (result.errno_value != 0) return error_name(result.errno_value);
  const std::string listing = world.listing().front();
  return "taken " +
         (listing.size() > 100 ? fmt::format("{}… ({} bytes)", listing.substr(0, 60), listing.size()) : listing);
}

std::map<std::string, std::string> answers(const std::string& text) {
  std::map<std::string, std::string> all;
  for (const dialect::Kernel kernel : dialect::kKernels) {
    all[std::string(kernel_name(kernel))] = answer(text, Dialect::of(kernel));
  }
  all["all"] = answer(text, Dialect::superset());
  return all;
}

std::string golden_text(const std::vector<Case>& cases) {
  std::string text;
  for (const Case& one : cases) {
    if (!text.empty()) text += "\n";
    for (const std::string& line : one.comments) text += line + "\n";
    if (one.text.empty()) continue;
    text += one.text + "\n";
    for (const dialect::Kernel kernel : dialect::kKernels) {
      text += fmt::format("  {:<7} {}\n", kernel_name(kernel), one.answers.at(std::string(kernel_name(kernel))));
    }
    text += fmt::format("  {:<7} {}\n", "all", one.answers.at("all"));
  }
  return text;
}

TEST(GoldenDialects, AreAnsweredAsWritten) {
  std::vector<Case> cases = read_dialect_cases(whole_file(kPath));
  ASSERT_GT(cases.size(), 30u) << kPath;
  const bool update = std::getenv("KEVT_UPDATE_GOLDENS") != nullptr;
  for (Case& one : cases) {
    if (one.text.empty()) continue;
    const auto now = answers(one.text);
    if (!update) {
      EXPECT_EQ(now, one.answers) << one.text;
    }
    one.answers = now;
  }
  if (update) std::ofstream(kPath) << golden_text(cases);
}

TEST(GoldenDialects, ShowEveryRowOfTheTable) {
  const std::vector<Case> cases = read_dialect_cases(whole_file(kPath));
  for (std::size_t i = 0; i < dialect::feature_count(); ++i) {
    const auto feature = static_cast<Feature>(i);
    const std::string name(dialect::feature_row(feature).name);
    bool shown = false;
    for (const Case& one : cases) {
      if (!one.shows.contains(name)) continue;
      shown = true;
      std::set<std::string> with;
      std::set<std::string> without;
      for (const dialect::Kernel kernel : dialect::kKernels) {
        const std::string& text = one.answers.at(std::string(kernel_name(kernel)));
        (Dialect::of(kernel).has(feature) ? with : without).insert(text);
      }
      for (const std::string& text : with) EXPECT_FALSE(without.contains(text)) << name << ": " << one.text;
      if (dialect::feature_row(feature).sort == dialect::Sort::Form) {
        EXPECT_TRUE(one.answers.at("all").starts_with("taken")) << name << ": " << one.text;
      }
    }
    EXPECT_TRUE(shown) << name << " is shown by no text";
  }
}

TEST(GoldenDialects, NameRowsThatExist) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < dialect::feature_count(); ++i) {
    names.insert(std::string(dialect::feature_row(static_cast<Feature>(i)).name));
  }
  for (const Case& one : read_dialect_cases(whole_file(kPath))) {
    for (const std::string& name : one.shows) EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(LanguageDocument, HasTheTableAsItIs) {
  std::string text = whole_file(kLanguage);
  const std::size_t begin = text.find(kTableBegin);
  const std::size_t end = text.find(kTableEnd);
  ASSERT_NE(begin, std::string::npos) << kLanguage;
  ASSERT_NE(end, std::string::npos) << kLanguage;
  const std::size_t table = begin + kTableBegin.size();
  if (std::getenv("KEVT_UPDATE_GOLDENS") != nullptr) {
    std::ofstream(kLanguage) << text.replace(table, end - table, dialect::feature_table());
    return;
  }
  EXPECT_EQ(text.substr(table, end - table), dialect::feature_table());
}

}  // namespace
}  // namespace kevt::golden::dialects

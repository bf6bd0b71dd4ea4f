#include "compiler/diag/report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace kevt::diag {
namespace {

using nlohmann::json;

Report sample() {
  Located located{.diagnostic = {.kind = Kind::BadRegName,
                                 .location = Location::Kprobe,
                                 .command = "p f \xc3\xa9=1 %rdi",
                                 .column = 9,
                                 .errno_value = 22,
                                 .detail = {},
                                 .notes = {{"`%rdi` is `%di` here"}},
                                 .fixits = {{.begin = 9, .end = 13, .replacement = "%di"}}},
                  .origin = "my events.txt",
                  .line = 3,
                  .source = "p f  \xc3\xa9=1 %rdi",
                  .column = 10,
                  .fixits = {{.begin = 10, .end = 14, .replacement = "%di"}}};
  return {.tool_version = "1.2.3",
          .kernel = "6.12",
          .definitions = 4,
          .mistakes = {located, located},
          .remarks = {{.origin = "<stdin>", .line = 1, .text = "a note"}},
          .not_checked = {"function `f`"},
          .listing = {"p:kprobes/x f"}};
}

TEST(RenderJson, NamesEveryField) {
  const json out = json::parse(render_json(sample()));
  EXPECT_EQ(out.at("v"), 1);
  EXPECT_EQ(out.at("type"), "diagnostics");
  EXPECT_EQ(out.at("kernel"), "6.12");
  EXPECT_EQ(out.at("errors"), 2);
  EXPECT_EQ(out.at("not_checked").at(0), "function `f`");
  EXPECT_EQ(out.at("listing").at(0), "p:kprobes/x f");
  const json& first = out.at("diagnostics").at(0);
  EXPECT_EQ(first.at("line"), 3);
  EXPECT_EQ(first.at("column"), 11);
  EXPECT_EQ(first.at("caret"), 9);
  EXPECT_EQ(first.at("id"), "BAD_REG_NAME");
  EXPECT_EQ(first.at("errno"), "EINVAL");
  EXPECT_EQ(first.at("fixes").at(0).at("what"), "write `%di` for `%rdi`");
}

TEST(RenderJson, IsValidWhateverTheBytes) {
  Report report = sample();
  report.mistakes[0].diagnostic.command = std::string("p \xff\"\0\n", 6);
  report.mistakes[0].origin = "a\tb";
  EXPECT_EQ(json::parse(render_json(report)).at("diagnostics").at(0).at("file"), "a\tb");
  EXPECT_TRUE(json::accept(render_sarif(report)));
  report.kernel.clear();
  EXPECT_TRUE(json::parse(render_json(report)).at("kernel").is_null());
}

// The properties that SARIF 2.1.0's schema requires, and the ones viewers read.
TEST(RenderSarif, HasTheStructureOf210) {
  const json log = json::parse(render_sarif(sample()));
  EXPECT_EQ(log.at("version"), "2.1.0");
  const json& run = log.at("runs").at(0);
  const json& driver = run.at("tool").at("driver");
  EXPECT_EQ(driver.at("name"), "kevtrace");
  ASSERT_EQ(driver.at("rules").size(), 1u) << "a rule is listed once";
  ASSERT_EQ(run.at("results").size(), 2u);
  const json& result = run.at("results").at(0);
  EXPECT_EQ(result.at("ruleId"), driver.at("rules").at(result.at("ruleIndex").get<std::size_t>()).at("id"));
  EXPECT_EQ(result.at("level"), "error");
  EXPECT_TRUE(result.at("message").at("text").is_string());
  const json& place = result.at("locations").at(0).at("physicalLocation");
  EXPECT_EQ(place.at("artifactLocation").at("uri"), "my%20events.txt");
  EXPECT_EQ(place.at("region").at("startLine"), 3);
  EXPECT_EQ(place.at("region").at("startColumn"), 10) << "code points, not bytes";
  const json& replacement = result.at("fixes").at(0).at("artifactChanges").at(0).at("replacements").at(0);
  EXPECT_EQ(replacement.at("deletedRegion").at("startColumn"), 10);
  EXPECT_EQ(replacement.at("deletedRegion").at("endColumn"), 14);
  EXPECT_EQ(replacement.at("insertedContent").at("text"), "%di");
  EXPECT_EQ(run.at("columnKind"), "unicodeCodePoints");
  EXPECT_TRUE(run.at("invocations").at(0).at("executionSuccessful").get<bool>());
}

TEST(RenderText, ShowsTheColumnOfTheLineAndTheFix) {
  EXPECT_EQ(render_text(sample().mistakes[0], Color::Off),
            "my events.txt:3:11: error: Invalid register name   [trace_kprobe: BAD_REG_NAME]\n"
            "  p f \xc3\xa9=1 %rdi\n"
            "           ^\n"
            "  note: `%rdi` is `%di` here\n"
            "  fix: write `%di` for `%rdi`\n");
}

TEST(RenderKernel, WritesBothEntriesOfAMistakeThatIsLoggedTwice) {
  const Diagnostic diagnostic{.kind = Kind::BadFetchArg,
                              .location = Location::Eprobe,
                              .command = "e s/e %di",
                              .column = 6,
                              .errno_value = 22,
                              .prelude = Prelude{Kind::BadVar, 6},
                              .detail = {},
                              .notes = {},
                              .fixits = {}};
  EXPECT_EQ(render_kernel(diagnostic, 1, 2),
            "[    1.000002] event_probe: error: Invalid $-variable specified\n  Command: e s/e %di\n"
            "                 ^\n"
            "[    1.000002] event_probe: error: Invalid fetch argument\n  Command: e s/e %di\n"
            "                 ^\n");
}

}  // namespace
}  // namespace kevt::diag

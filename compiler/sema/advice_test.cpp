#include "compiler/sema/advice.h"

#include <gtest/gtest.h>

#include <string>

#include "compiler/sema/sema.h"
#include "compiler/target/fixed_target.h"
#include "grammar/parse.h"

namespace kevt::sema {
namespace {

// The line with all fix-its of its mistakes applied, from the right to the left.
std::string fixed(const std::string& line) {
  diag::Sink sink;
  const auto dialect = dialect::Dialect::of(dialect::Kernel::Linux6_1);
  auto statement = grammar::parse_line_leniently(line, grammar::EventsFile::Dynamic, sink, dialect);
  if (statement && std::holds_alternative<model::Definition>(*statement)) {
    check_definition(std::get<model::Definition>(*statement), target::UncheckedTargetEnv(), target::FixedCatalog(),
                     sink, {.dialect = dialect});
  }
  std::string text = line;
  auto mistakes = sink.take();
  for (auto mistake = mistakes.rbegin(); mistake != mistakes.rend(); ++mistake) {
    advise(*mistake);
    for (const diag::FixIt& fix : mistake->fixits) text.replace(fix.begin, fix.end - fix.begin, fix.replacement);
  }
  return text;
}

TEST(Advice, FixesWhatCanMeanOneThing) {
  EXPECT_EQ(fixed("p f %rdi +0(%rsi):string"), "p f %di +0(%si):string");
  EXPECT_EQ(fixed("p f %flagz"), "p f %flags");
  EXPECT_EQ(fixed("p f %di:int x=%si:strng"), "p f %di:s32 x=%si:string");
  EXPECT_EQ(fixed("p f x=+0(+8(%di:u32[4]"), "p f x=+0(+8(%di)):u32[4]");
  EXPECT_EQ(fixed("p f x=+u0(+u8(%di"), "p f x=+u0(+u8(%di))");
  EXPECT_EQ(fixed("p f +0(%di):u8[4"), "p f +0(%di):u8[4]");
  EXPECT_EQ(fixed("p f x=\\\"text"), "p f x=\\\"text\"");
  EXPECT_EQ(fixed("r f $retvl"), "r f $retval");
  EXPECT_EQ(fixed("p f +(%di)"), "p f +0(%di)");
  EXPECT_EQ(fixed("p f 8(%di)"), "p f +8(%di)");
  EXPECT_EQ(fixed("p f%retrun"), "p f%return");
  EXPECT_EQ(fixed("-kprobes/x"), "-:kprobes/x");
}

TEST(Advice, LeavesWhatCanMeanSeveralThings) {
  for (const char* line :
       {"p f %zz", "p f %di:u7", "p f $arg", "p f 8", "p f di", "p10:x f", "r f+8", "p f $nothing"}) {
    EXPECT_EQ(fixed(line), line);
  }
}

TEST(Advice, TakesAnyTextAndColumn) {
  for (std::size_t kind = 0; kind < diag::kind_count(); ++kind) {
    for (const std::string command : {"", " ", "p", "p f +", "p f %", "((((", "= a"}) {
      for (std::uint32_t column = 0; column < 9; ++column) {
        diag::Diagnostic diagnostic{.kind = static_cast<diag::Kind>(kind),
                                    .location = diag::Location::Kprobe,
                                    .command = command,
                                    .column = column,
                                    .errno_value = 22,
                                    .detail = {},
                                    .notes = {},
                                    .fixits = {}};
        advise(diagnostic);
        for (const diag::FixIt& fix : diagnostic.fixits) EXPECT_LE(fix.begin, fix.end);
      }
    }
  }
}

}  // namespace
}  // namespace kevt::sema

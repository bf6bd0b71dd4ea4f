#include "grammar/parse_filter.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <string>

#include "grammar/parse.h"
#include "grammar/parse_filter_balance.h"

namespace kevt::grammar {
namespace {

using diag::Kind;
using model::FilterExpr;
using model::FilterNode;

// `(or a (and b (not c)))`: the names of the fields only.
std::string shape(const FilterExpr& filter) {
  std::string text;
  switch (filter.node) {
    case FilterNode::Predicate:
      return filter.predicate.field_name;
    case FilterNode::And:
      text = "(and";
      break;
    case FilterNode::Or:
      text = "(or";
      break;
    case FilterNode::Not:
      text = "(not";
      break;
  }
  for (const FilterExpr& child : filter.children) text += " " + shape(child);
  return text + ")";
}

std::string shape_of(std::string_view text) {
  diag::Sink sink;
  const auto filter = parse_filter(text, sink);
  return filter ? shape(*filter) : "mistake";
}

struct Mistake {
  Kind kind;
  std::uint32_t column;
  int errno_value;
  friend bool operator==(const Mistake&, const Mistake&) = default;
};
std::ostream& operator<<(std::ostream& out, const Mistake& mistake) {
  return out << diag::kind_name(mistake.kind) << " at " << mistake.column << " errno " << mistake.errno_value;
}

Mistake mistake_of(std::string_view text) {
  diag::Sink sink;
  EXPECT_FALSE(parse_filter(text, sink, dialect::Dialect::of(dialect::Kernel::Linux6_1))) << text;
  EXPECT_EQ(sink.diagnostics().size(), 1U);
  const diag::Diagnostic& first = sink.diagnostics().front();
  return {first.kind, first.column.value_or(9999), first.errno_value};
}

TEST(FilterParser, AndBindsTighterThanOr) {
  EXPECT_EQ(shape_of("a==1 || b==2 && c==3"), "(or a (and b c))");
  EXPECT_EQ(shape_of("a==1 && b==2 || c==3"), "(or (and a b) c)");
  EXPECT_EQ(shape_of("(a==1 || b==2) && c==3"), "(and (or a b) c)");
  EXPECT_EQ(shape_of("a==1 && (b==2 || c==3) && d==4"), "(and a (or b c) d)");
}

TEST(FilterParser, NotBindsTightest) {
  EXPECT_EQ(shape_of("!a==1 && b==2"), "(and (not a) b)");
  EXPECT_EQ(shape_of("!(a==1 && b==2) || c==3"), "(or (not (and a b)) c)");
  EXPECT_EQ(shape_of("!!a==1"), "a");
  EXPECT_EQ(shape_of("!(!(!(a==1)))"), "(not a)");
}

TEST(FilterParser, LeavesNoNodeForParenthesesOrForTheSameConnective) {
  EXPECT_EQ(shape_of("((a==1))"), "a");
  EXPECT_EQ(shape_of("(a==1 && b==2) && (c==3 && d==4)"), "(and a b c d)");
}

TEST(FilterParser, KeepsWhatWasWrittenAndWhere) {
  diag::Sink sink;
  const auto filter = parse_filter("  name.ustring !=  'a\"b' ", sink);
  ASSERT_TRUE(filter);
  const model::FilterPredicate& predicate = filter->predicate;
  EXPECT_EQ(predicate.field_name, "name");
  EXPECT_EQ(predicate.modifier, model::FieldModifier::UserString);
  EXPECT_EQ(predicate.op, model::CompareOp::NotEqual);
  EXPECT_EQ(predicate.operand, "a\"b");
  EXPECT_TRUE(predicate.operand_quoted);
  EXPECT_EQ(predicate.field_span, (model::Span{2, 6}));
  EXPECT_EQ(predicate.op_span, (model::Span{15, 17}));
  EXPECT_EQ(predicate.operand_span, (model::Span{19, 24}));
}

TEST(FilterParser, BytesOutsideAsciiCountOneColumnEach) {
  EXPECT_EQ(mistake_of("a == '\xc3\xa9' x"), (Mistake{Kind::FilterTooManyPreds, 10, EPERM}));
  EXPECT_EQ(shape_of("\xe9t\xe9 == 1"), "\xe9t\xe9");  // the kernel's isalnum() takes Latin-1 letters
  EXPECT_EQ(shape_of("a\xa0==\xa0"
                     "1"),
            "a");  // and its isspace() the no-break space
}

TEST(FilterParser, ReportsTheKernelsKindColumnAndErrno) {
  EXPECT_EQ(mistake_of("a = 1"), (Mistake{Kind::FilterInvalidOp, 3, EINVAL}));
  EXPECT_EQ(mistake_of("a"), (Mistake{Kind::FilterInvalidOp, 2, EINVAL}));
  EXPECT_EQ(mistake_of("a.function == f"), (Mistake{Kind::FilterInvalidOp, 2, EINVAL}));
  EXPECT_EQ(mistake_of("a .ustring == 'x'"), (Mistake{Kind::FilterInvalidOp, 3, EINVAL}));
  EXPECT_EQ(mistake_of("a.ustring.ustring == 'x'"), (Mistake{Kind::FilterInvalidOp, 10, EINVAL}));
  EXPECT_EQ(mistake_of("a&&1"), (Mistake{Kind::FilterInvalidValue, 3, EINVAL}));
  EXPECT_EQ(mistake_of("a == "), (Mistake{Kind::FilterInvalidValue, 5, EINVAL}));
  EXPECT_EQ(mistake_of("a == 1 | b == 2"), (Mistake{Kind::FilterTooManyPreds, 7, EPERM}));
  EXPECT_EQ(mistake_of("a == 1_0"), (Mistake{Kind::FilterTooManyPreds, 6, EPERM}));
  EXPECT_EQ(mistake_of("a == 1 && && b == 2"), (Mistake{Kind::FilterErrno, 0, EPERM}));
  EXPECT_EQ(mistake_of("() && a == 1"), (Mistake{Kind::FilterErrno, 0, EPERM}));
  EXPECT_EQ(mistake_of("()"), (Mistake{Kind::FilterErrno, 0, EINVAL}));
  EXPECT_EQ(mistake_of(""), (Mistake{Kind::FilterErrno, 0, EINVAL}));
  EXPECT_EQ(mistake_of("!!"), (Mistake{Kind::FilterNoFilter, 2, EINVAL}));
  EXPECT_EQ(mistake_of("!~ 1"), (Mistake{Kind::FilterErrno, 0, EPERM}));
  EXPECT_EQ(mistake_of("a == 'x"), (Mistake{Kind::FilterMissingQuote, 5, ESRCH}));
  EXPECT_EQ(mistake_of("a == 1)"), (Mistake{Kind::FilterTooManyClose, 6, EPERM}));
  EXPECT_EQ(mistake_of("((a == 1)"), (Mistake{Kind::FilterTooManyOpen, 0, ENOENT}));
  EXPECT_EQ(mistake_of("(a == 1) && (b == 1"), (Mistake{Kind::FilterTooManyOpen, 12, ENOENT}));
}

// As 6.1.192 answers; earlier kernels took most of these.
TEST(FilterParser, RefusesWhatIsLeftOverAtTheEnd) {
  EXPECT_EQ(mistake_of("a == 1 &&"), (Mistake{Kind::FilterInvalidFilter, 9, EINVAL}));
  EXPECT_EQ(mistake_of("a == 1 || !"), (Mistake{Kind::FilterInvalidFilter, 11, EINVAL}));
  EXPECT_EQ(mistake_of("(a == 1 || b == 1) && !"), (Mistake{Kind::FilterInvalidFilter, 23, EINVAL}));
  EXPECT_EQ(mistake_of("a == 1 || b == 1 &&"), (Mistake{Kind::FilterInvalidFilter, 19, EINVAL}));
}

TEST(FilterParser, EndsAtTheFirstNulByte) { EXPECT_EQ(shape_of(std::string_view("a == 1\0 junk", 12)), "a"); }

TEST(FilterParser, RefusesAPageWithoutALogEntry) {
  diag::Sink sink;
  EXPECT_FALSE(parse_filter("a == 1" + std::string(4090, ' '), sink));
  ASSERT_EQ(sink.diagnostics().size(), 1U);
  EXPECT_EQ(sink.diagnostics()[0].kind, Kind::FilterTooLong);
  EXPECT_EQ(sink.diagnostics()[0].errno_value, EINVAL);
  EXPECT_FALSE(sink.diagnostics()[0].logged);
}

TEST(FilterParser, TellsWhatStandsBeforeTheMistake) {
  const FilterReading reading = read_filter("a == 1 && (b ~ 'x' || cc.ustring = 4");
  ASSERT_TRUE(reading.mistake);
  EXPECT_EQ(reading.mistake->kind, Kind::FilterTooManyOpen);  // nothing was read yet
  EXPECT_TRUE(reading.before.empty());

  const FilterReading inner = read_filter("a == 1 && (b ~ 'x' || cc.ustring = 4)");
  ASSERT_EQ(inner.before.size(), 2U);
  EXPECT_EQ(inner.before[1].field_name, "b");
  ASSERT_TRUE(inner.unfinished);
  EXPECT_EQ(inner.unfinished->field_name, "cc");
}

using Milliseconds = std::chrono::milliseconds;

Milliseconds time_to_parse(const std::string& text) {
  const auto begin = std::chrono::steady_clock::now();
  diag::Sink sink;
  parse_filter(text, sink);
  return std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - begin);
}

TEST(FilterParser, DepthCostsNoStack) {
  const std::string open(2000, '('), close(2000, ')');
  EXPECT_EQ(shape_of(open + "a==1" + close), "a");
  EXPECT_EQ(shape_of(std::string(4001, '!') + "a==1"), "(not a)");
  std::string alternating = "a&1";
  for (int i = 0; i < 400; ++i) alternating = (i % 2 == 0 ? "(a&1||" : "(a&1&&") + alternating + ")";
  EXPECT_NE(shape_of(alternating), "mistake");
  EXPECT_LT(time_to_parse(open + "a==1" + close), Milliseconds(10000));  // guards against a hang; it takes milliseconds
}

TEST(FilterParser, TenThousandParenthesesAreRefusedAtOnce) {
  const std::string text = std::string(10000, '(') + "a==1" + std::string(10000, ')');
  EXPECT_EQ(shape_of(text), "mistake");
  EXPECT_LT(time_to_parse(text), Milliseconds(2000));
}

TEST(FilterBalance, IsCountedOutsideQuotesOnly) {
  EXPECT_EQ(check_balance("a == \")\" && b == '('").verdict, Balance::Even);
  EXPECT_EQ(check_balance("a == \"it's\"").verdict, Balance::Even);
  EXPECT_EQ(check_balance(" \t( ) && ").verdict, Balance::Even);  // the second & counts as a predicate, sic
  EXPECT_EQ(check_balance(" \t( ) ").verdict, Balance::NoPredicate);
  EXPECT_EQ(check_balance("(()").column, 0U);
  EXPECT_EQ(check_balance("()(").column, 2U);
}

}  // namespace
}  // namespace kevt::grammar

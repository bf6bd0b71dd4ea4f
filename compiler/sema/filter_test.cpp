#include "compiler/sema/filter.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <random>

#include "compiler/sema/filter_field.h"
#include "compiler/sema/filter_glob.h"
#include "compiler/sema/sema.h"
#include "grammar/parse.h"

namespace kevt::sema {
namespace {

using diag::Kind;
using model::CompareOp;
using model::FilterExpr;
using model::FilterNode;
using model::FilterOperand;
using model::FilterPredicate;
using model::GlobKind;
using model::RecordField;
using model::RecordLayout;
using model::TypeKind;

RecordField number(std::string name, std::uint32_t size, bool is_signed) {
  RecordField field;
  field.name = std::move(name);
  field.type.kind = is_signed ? TypeKind::Signed : TypeKind::Unsigned;
  field.size = size;
  field.is_signed = is_signed;
  return field;
}

RecordField typed(std::string name, TypeKind kind, std::uint32_t array_count, std::string text) {
  RecordField field = number(std::move(name), 4, true);
  field.type.kind = kind;
  field.type.array_count = array_count;
  field.type.text = std::move(text);
  return field;
}

const RecordLayout& layout() {
  static const RecordLayout made = [] {
    RecordLayout all;
    all.fields = {number("__probe_ip", 8, false), number("u8", 1, false),  number("s8", 1, true),
                  number("u16", 2, false),        number("s32", 4, true),  number("u64", 8, false),
                  number("s64", 8, true),         number("big", 16, false)};
    all.fields.push_back(typed("str", TypeKind::String, 0, "string"));
    all.fields.push_back(typed("strs", TypeKind::UserString, 2, "ustring[2]"));
    all.fields.push_back(typed("text", TypeKind::Char, 16, ""));
    all.fields.push_back(typed("tag", TypeKind::Hex, 0, "char[8]"));
    all.fields.push_back(typed("pointer", TypeKind::Hex, 0, "const char *"));
    return all;
  }();
  return made;
}

FilterPredicate bound(std::string_view text) {
  diag::Sink sink;
  const auto filter = compile_filter(text, layout(), sink);
  EXPECT_TRUE(filter) << text;
  return filter ? filter->predicate : FilterPredicate{};
}

diag::Diagnostic refused(std::string_view text) {
  diag::Sink sink;
  EXPECT_FALSE(compile_filter(text, layout(), sink)) << text;
  return sink.diagnostics().at(0);
}

TEST(FilterBinding, FindsFieldsBeforeGenericBeforeCommon) {
  EXPECT_EQ(bound("u8 == 1").source, FilterOperand::RecordField);
  EXPECT_EQ(bound("u8 == 1").field, 1U);
  EXPECT_EQ(bound("__probe_ip == 1").field, 0U);
  for (const char* name : {"CPU", "cpu", "common_cpu"}) {
    EXPECT_EQ(bound(std::string(name) + " == 1").source, FilterOperand::Cpu);
  }
  EXPECT_EQ(bound("COMM == 'a'").source, FilterOperand::Comm);
  EXPECT_EQ(bound("comm ~ 'a'").source, FilterOperand::Comm);
  EXPECT_EQ(bound("common_type == 1").bytes, 2);
  EXPECT_EQ(bound("common_flags == 1").bytes, 1);
  EXPECT_EQ(bound("common_preempt_count == 1").bytes, 1);
  EXPECT_EQ(bound("common_pid == -1").value, ~std::uint64_t{0});
}

TEST(FilterBinding, AnEventsOwnCpuHidesTheGenericOne) {
  RecordLayout own;
  own.fields = {number("cpu", 8, false)};
  EXPECT_EQ(find_filter_field("cpu", own)->source, FilterOperand::RecordField);
  EXPECT_EQ(find_filter_field("CPU", own)->source, FilterOperand::Cpu);
  EXPECT_EQ(find_filter_field("cpus", own), std::nullopt);
}

TEST(FilterBinding, CutsNumbersToTheField) {
  EXPECT_EQ(bound("u8 == 256").value, 0U);
  EXPECT_EQ(bound("u8 == 511").value, 255U);
  EXPECT_EQ(bound("s8 == 255").value, ~std::uint64_t{0});
  EXPECT_EQ(bound("s8 < -128").value, static_cast<std::uint64_t>(-128));
  EXPECT_EQ(bound("u64 == 0xffffffffffffffff").value, ~std::uint64_t{0});
  EXPECT_TRUE(bound("s8 == 1").is_signed);
  EXPECT_FALSE(bound("u16 == 1").is_signed);
}

TEST(FilterBinding, ComparisonsThatDoNotExistNeverHold) {
  EXPECT_EQ(bound("big == 1").bytes, 0);
  EXPECT_EQ(bound("CPU & 1").bytes, 0);
  EXPECT_EQ(bound("CPU < 1").bytes, 4);
}

TEST(FilterBinding, TextIsWhatTheFormatFileCallsText) {
  for (const char* name : {"str", "strs", "text", "tag", "pointer", "COMM"}) {
    EXPECT_TRUE(bound(std::string(name) + " == \"x\"").is_string) << name;
    EXPECT_EQ(refused(std::string(name) + " == 1").kind, Kind::FilterExpectString) << name;
  }
  EXPECT_TRUE(bound("str != 'x'").negated);
  EXPECT_EQ(bound("str.ustring == 'x*'").modifier, model::FieldModifier::UserString);
  EXPECT_EQ(bound("str.ustring == 'x*'").glob, GlobKind::Full);
  EXPECT_EQ(bound("str == 'x*'").text, "x*");
}

TEST(FilterBinding, AsksInTheKernelsOrder) {
  EXPECT_EQ(refused("u8 < 'a'").kind, Kind::FilterIllegalFieldOp);
  EXPECT_EQ(refused("u8 == 'a'").kind, Kind::FilterExpectDigit);
  EXPECT_EQ(refused("str ~ 1").kind, Kind::FilterExpectString);
  EXPECT_EQ(refused("u8 ~ 1").kind, Kind::FilterIllegalFieldOp);
  EXPECT_EQ(refused("u8 == " + std::string(24, '1')).kind, Kind::FilterOperandTooLong);
  EXPECT_EQ(refused("u8 == " + std::string(23, '1')).kind, Kind::FilterIllegalIntval);
  EXPECT_EQ(refused("str == '" + std::string(256, 'x') + "'").kind, Kind::FilterOperandTooLong);
  EXPECT_EQ(bound("str == '" + std::string(255, 'x') + "'").text.size(), 255U);
  EXPECT_EQ(refused("u8 == -1").kind, Kind::FilterIllegalIntval);
  EXPECT_EQ(refused("CPU == 9223372036854775808").kind, Kind::FilterIllegalIntval);
}

TEST(FilterBinding, WhatStandsLeftOfASyntaxMistakeWins) {
  EXPECT_EQ(refused("nope == 1 && u8 = 1").kind, Kind::FilterFieldNotFound);
  EXPECT_EQ(refused("nope = 1").kind, Kind::FilterFieldNotFound);
  EXPECT_EQ(refused("u8 = 1 && nope == 1").kind, Kind::FilterInvalidOp);
  EXPECT_EQ(refused("u8 == -1 x").kind, Kind::FilterIllegalIntval);
  EXPECT_EQ(refused("nope == 1 && (u8 == 1").kind, Kind::FilterTooManyOpen);
}

TEST(FilterBinding, OnlyTheFirstMistakeIsLogged) {
  diag::Sink sink;
  EXPECT_FALSE(compile_filter("nope == 1 || u8 == 'a' || u8 = 1", layout(), sink));
  ASSERT_EQ(sink.diagnostics().size(), 3U);
  EXPECT_TRUE(sink.diagnostics()[0].logged);
  EXPECT_FALSE(sink.diagnostics()[1].logged);
  EXPECT_FALSE(sink.diagnostics()[2].logged);
  EXPECT_EQ(sink.diagnostics()[2].kind, Kind::FilterInvalidOp);
}

TEST(FilterFile, ClampsTheCaretAndKeepsToOnePage) {
  EXPECT_EQ(filter_file_text(refused("!u8")), "!u8\n   ^\nparse_error: Invalid operator\n\n");
  EXPECT_EQ(refused("!u8").column, 4U);
  EXPECT_EQ(filter_file_text(refused("()")), "()\nError: (0)\n\n");
  const std::string page = std::string(3990, ' ') + "u8 = 1";
  EXPECT_EQ(filter_file_text(refused(page)), page + "\n");
}

TEST(FilterGlob, IsClassifiedAsTheKernelDoes) {
  struct Row {
    const char* pattern;
    GlobKind kind;
    const char* text;
    bool negated;
  };
  const Row rows[] = {{"abc", GlobKind::Full, "abc", false},     {"", GlobKind::Full, "", false},
                      {"a*", GlobKind::Prefix, "a", false},      {"*a", GlobKind::Suffix, "a", false},
                      {"*a*", GlobKind::Middle, "a", false},     {"*", GlobKind::Suffix, "", false},
                      {"**", GlobKind::Middle, "", false},       {"***", GlobKind::Glob, "***", false},
                      {"a*b", GlobKind::Glob, "a*b", false},     {"a?", GlobKind::Glob, "a?", false},
                      {"[!a]*", GlobKind::Glob, "[!a]*", false}, {"a\\b", GlobKind::Glob, "a\\b", false},
                      {"!a*", GlobKind::Prefix, "a", true},      {"!", GlobKind::Full, "", true},
                      {"!!a", GlobKind::Full, "!a", true},       {"1*", GlobKind::Full, "1*", false},
                      {"!1?", GlobKind::Full, "1?", true},       {"*1*", GlobKind::Middle, "1", false},
                      {"a]", GlobKind::Full, "a]", false}};
  for (const Row& row : rows) {
    const FilterGlob glob = classify_glob(row.pattern);
    EXPECT_EQ(glob.kind, row.kind) << row.pattern;
    EXPECT_EQ(glob.text, row.text) << row.pattern;
    EXPECT_EQ(glob.negated, row.negated) << row.pattern;
  }
}

// ---- printing ---------------------------------------------------------------------------------------

bool same_tree(const FilterExpr& a, const FilterExpr& b) {
  if (a.node != b.node || a.children.size() != b.children.size()) return false;
  for (std::size_t i = 0; i < a.children.size(); ++i) {
    if (!same_tree(a.children[i], b.children[i])) return false;
  }
  if (a.node != FilterNode::Predicate) return true;
  const FilterPredicate &p = a.predicate, &q = b.predicate;
  return p.source == q.source && p.field == q.field && p.modifier == q.modifier && p.op == q.op &&
         p.is_string == q.is_string && p.is_signed == q.is_signed && p.bytes == q.bytes && p.value == q.value &&
         p.text == q.text && p.glob == q.glob && p.negated == q.negated;
}

class RandomFilter {
 public:
  explicit RandomFilter(unsigned seed) : random_(seed) {}

  FilterExpr make(int depth) {
    const int choice = depth == 0 ? 0 : pick(4);
    if (choice == 0) return {.node = FilterNode::Predicate, .children = {}, .predicate = predicate()};
    FilterExpr filter;
    filter.node = choice == 1 ? FilterNode::Not : choice == 2 ? FilterNode::And : FilterNode::Or;
    const int children = choice == 1 ? 1 : 2 + pick(3);
    while (static_cast<int>(filter.children.size()) < children) {
      FilterExpr child = make(depth - 1);
      if (child.node != filter.node) filter.children.push_back(std::move(child));  // the parser would merge them
    }
    return filter;
  }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }

  FilterPredicate predicate() {
    static constexpr const char* kNumbers[] = {"u8", "s32", "u64", "big", "CPU", "common_pid"};
    static constexpr const char* kTexts[] = {"str", "pointer", "comm"};
    static constexpr const char* kPatterns[] = {"", "a b", "*x*", "it's", "a\"b", "!a*", "(", "&& ||", "\\"};
    static constexpr const char* kValues[] = {"0", "1", "0x7f", "017", "127"};
    FilterPredicate made;
    if (pick(2) == 0) {
      made.field_name = kNumbers[pick(6)];
      made.op = static_cast<CompareOp>(pick(7));  // all but Glob
      made.operand = kValues[pick(5)];
      return made;
    }
    made.field_name = kTexts[pick(3)];
    if (pick(3) == 0) made.modifier = model::FieldModifier::UserString;
    const CompareOp ops[] = {CompareOp::Equal, CompareOp::NotEqual, CompareOp::Glob};
    made.op = ops[pick(3)];
    made.operand = kPatterns[pick(9)];
    made.operand_quoted = true;
    return made;
  }

  std::mt19937 random_;
};

TEST(FilterPrinting, WhatIsPrintedParsesToTheSameTree) {
  RandomFilter random(20);
  for (int round = 0; round < 2000; ++round) {
    diag::Sink sink;
    const auto checked = check_filter(random.make(1 + round % 5), "", layout(), sink);
    ASSERT_TRUE(checked);
    const std::string text = print_filter(*checked);
    if (text.size() > 4000) continue;
    const auto again = compile_filter(text, layout(), sink);
    ASSERT_TRUE(again) << text;
    EXPECT_TRUE(same_tree(*checked, *again)) << text << "\n" << print_filter(*again);
    EXPECT_EQ(print_filter(*again), text);
  }
}

TEST(FilterPrinting, PutsParenthesesOnlyWhereNeeded) {
  const auto printed = [](std::string_view text) {
    diag::Sink sink;
    return print_filter(compile_filter(text, layout(), sink).value());
  };
  EXPECT_EQ(printed("((u8==1)||(s8<-2&&!(u8&4)))"), "u8 == 1 || s8 < -2 && !u8 & 4");
  EXPECT_EQ(printed("(u8==1||s8==2)&&!(u8==1&&str~'a\"b')"), "(u8 == 1 || s8 == 2) && !(u8 == 1 && str ~ 'a\"b')");
  EXPECT_EQ(printed("str.ustring!='x'"), "str.ustring != \"x\"");
}

// Text, kind and column of what 6.12 says of `.function` and `CPUS{}`; the columns are those of its parse_pred().
TEST(NewerFilters, AreJudgedAsTheirKernelDoes) {
  model::RecordLayout layout;
  layout.fields.push_back({.role = model::FieldRole::Argument, .name = "ip", .type = {}, .offset = 8, .size = 8});
  layout.fields.push_back(
      {.role = model::FieldRole::Argument, .name = "u", .type = {.bytes = 4}, .offset = 16, .size = 4});
  struct Row {
    const char* text;
    std::optional<diag::Kind> kind;
    std::uint32_t column = 0;
  };
  const Row rows[] = {
      {"ip.function == vfs_read && u == 1", std::nullopt},
      {"ip.function != 0xffffffff81000000", std::nullopt},
      {"u.function == vfs_read", diag::Kind::FilterIllegalFieldOp, 15},
      {"ip.function > vfs_read", diag::Kind::FilterInvalidOp, 15},
      {"ip.function == 0xzz", diag::Kind::FilterInvalidValue, 20},
      {"u & CPUS{0-3,8,16-31:2/4}", std::nullopt},
      {"u > CPUS{1}", diag::Kind::FilterIllegalFieldOp, 5},
      {"u == CPUS", diag::Kind::FilterMissingBraceOpen, 11},
      {"u == CPUS{1", diag::Kind::FilterMissingBraceClose, 12},
      {"u == CPUS{}", diag::Kind::FilterInvalidCpulist, 11},
      {"u == CPUS{a}", diag::Kind::FilterInvalidCpulist, 12},
      {"u & CPUS{ 0, 1 3-4,,ALL }", std::nullopt},
      {"u & CPUS{ }", std::nullopt},
      {"u & CPUS{0-N:1/2}", std::nullopt},
      {"u & CPUS{3-1}", diag::Kind::FilterInvalidCpulist, 13},
      {"u & CPUS{+0}", diag::Kind::FilterInvalidCpulist, 12},
      {"u & CPUS{0 - 1}", diag::Kind::FilterInvalidCpulist, 15},
      {"u & CPUS{0:1/1}", diag::Kind::FilterInvalidCpulist, 15},
      {"u & CPUS{0-3:1/0}", diag::Kind::FilterInvalidCpulist, 17},
      {"u & CPUS{0-3:2/1}", diag::Kind::FilterInvalidCpulist, 17},
      {"u & CPUS{99999999999}", diag::Kind::FilterInvalidCpulist, 21},
      {"ip.function == vfs_read+1", diag::Kind::FilterNoFunction, 26},
  };
  for (const Row& row : rows) {
    diag::Sink sink;
    const CheckRequest request{.dialect = dialect::Dialect::of(dialect::Kernel::Linux6_12),
                               .newer_forms = NewerForms::Judged};
    const auto filter = compile_filter(row.text, layout, sink, request);
    EXPECT_EQ(filter.has_value(), !row.kind) << row.text;
    EXPECT_TRUE(!filter || is_only_judged(*filter)) << row.text;
    if (!row.kind || sink.empty()) continue;
    EXPECT_EQ(diag::kind_name(sink.diagnostics()[0].kind), diag::kind_name(*row.kind)) << row.text;
    EXPECT_EQ(sink.diagnostics()[0].column, row.column) << row.text;
  }
  diag::Sink sink;
  EXPECT_FALSE(compile_filter("u & CPUS{1}", layout, sink));
  EXPECT_EQ(sink.diagnostics().at(0).kind, diag::Kind::FilterUnsupported) << "no runtime has it";
}

}  // namespace
}  // namespace kevt::sema

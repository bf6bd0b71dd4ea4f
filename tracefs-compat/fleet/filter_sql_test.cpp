#include "tracefs-compat/fleet/filter_sql.h"

#include <gtest/gtest.h>

#include "compiler/diag/diagnostic.h"
#include "compiler/sema/filter.h"
#include "tracefs-compat/record/record_filter.h"

namespace kevt::fleet {
namespace {

constexpr const char* kFilteredFormat =
    "name: open\nID: 1234\nformat:\n"
    "\tfield:s32 ret;\toffset:8;\tsize:4;\tsigned:1;\n"
    "\tfield:u64 size;\toffset:16;\tsize:8;\tsigned:0;\n"
    "\tfield:__data_loc char[] path;\toffset:24;\tsize:4;\tsigned:1;\n"
    "\tfield:f64 price;\toffset:32;\tsize:8;\tsigned:0;\n"
    "\tfield:char name[8];\toffset:40;\tsize:8;\tsigned:0;\n"
    "\nprint fmt: \"ret=%d\", REC->ret\n";

// "≈" in front of what holds for more records than the filter keeps.
std::string sql(const std::string& filter) {
  const auto event = record::parse_format("kprobes", kFilteredFormat);
  if (!event) return event.error().message();
  diag::Sink sink;
  const auto compiled = sema::compile_filter(filter, record::layout_of(*event), sink);
  if (!compiled || !sink.empty()) return "no filter";
  const SqlCondition condition = sql_of(*compiled, *event);
  return (condition.is_exact ? "" : "≈") + condition.text;
}

TEST(FilterSqlTest, Numbers) {
  EXPECT_EQ(sql("ret == -2"), "`f_ret` = -2");
  EXPECT_EQ(sql("ret != 3"), "`f_ret` != 3");
  EXPECT_EQ(sql("size >= 0xffffffffffffffff"), "`f_size` >= 18446744073709551615");
  EXPECT_EQ(sql("size & 6"), "bitAnd(toUInt64(`f_size`), 6) != 0");
  EXPECT_EQ(sql("common_pid == 42"), "tid = 42");
  EXPECT_EQ(sql("price > 2.5"), "≈1") << "floats are compared by kevtrace alone";
}

TEST(FilterSqlTest, Texts) {
  EXPECT_EQ(sql("path == \"/etc/it's\""), "ifNull(`f_path`, '') = '/etc/it\\'s'");
  EXPECT_EQ(sql("path != \"x\""), "ifNull(`f_path`, '') != 'x'");
  EXPECT_EQ(sql("path ~ \"/etc/*\""), "startsWith(ifNull(`f_path`, ''), '/etc/')");
  EXPECT_EQ(sql("path ~ \"*50%_*\""), "position(ifNull(`f_path`, ''), '50%_') != 0");
  EXPECT_EQ(sql("path ~ \"*.so\""), "endsWith(ifNull(`f_path`, ''), '.so')");
  EXPECT_EQ(sql("path ~ \"a*b*\""), "≈startsWith(ifNull(`f_path`, ''), 'a')");
  EXPECT_EQ(sql("path ~ \"/etc/??\""), "≈startsWith(ifNull(`f_path`, ''), '/etc/')");
  EXPECT_EQ(sql("path ~ \"?a*\""), "≈1");
  EXPECT_EQ(sql("comm == \"cat\""), "comm = 'cat'");
  EXPECT_EQ(sql("name == \"cat\""), "`f_name` = 'cat'");
  EXPECT_EQ(sql("name == \"12345678\""), "≈1") << "as long as the array";
}

TEST(FilterSqlTest, SaysTooMuchRatherThanTooLittle) {
  EXPECT_EQ(sql("ret == 1 && price > 2.5"), "≈(`f_ret` = 1)");
  EXPECT_EQ(sql("ret == 1 || price > 2.5"), "≈1");
  EXPECT_EQ(sql("ret == 1 && (size > 2 || size == 0)"), "(`f_ret` = 1 AND (`f_size` > 2 OR `f_size` = 0))");
  EXPECT_EQ(sql("!(ret == 1)"), "NOT (`f_ret` = 1)");
  EXPECT_EQ(sql("!(price > 2.5)"), "≈1");
  EXPECT_EQ(sql("!(ret == 1 && price > 2.5)"), "≈1");
}

}  // namespace
}  // namespace kevt::fleet

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

std::string sql(const std::string& filter) {
  const auto event = record::parse_format("kprobes", kFilteredFormat);
  if (!event) return event.error().message();
  diag::Sink sink;
  const auto compiled = sema::compile_filter(filter, record::layout_of(*event), sink);
  return compiled && sink.empty() ? sql_of(*compiled, *event) : "no filter";
}

TEST(FilterSqlTest, Numbers) {
  EXPECT_EQ(sql("ret == -2"), "`f_ret` = -2");
  EXPECT_EQ(sql("ret != 3"), "`f_ret` != 3");
  EXPECT_EQ(sql("size >= 0xffffffffffffffff"), "`f_size` >= 18446744073709551615");
  EXPECT_EQ(sql("size & 6"), "bitAnd(toUInt64(`f_size`), 6) != 0");
  EXPECT_EQ(sql("common_pid == 42"), "tid = 42");
  EXPECT_EQ(sql("price > 2.5"), "1") << "floats are compared by kevtrace alone";
}

TEST(FilterSqlTest, Texts) {
  EXPECT_EQ(sql("path == \"/etc/it's\""), "(`f_path` = '/etc/it\\'s' OR isNull(`f_path`))");
  EXPECT_EQ(sql("path != \"x\""), "(`f_path` != 'x' OR isNull(`f_path`))");
  EXPECT_EQ(sql("path ~ \"/etc/*\""), "(startsWith(`f_path`, '/etc/') OR isNull(`f_path`))");
  EXPECT_EQ(sql("path ~ \"*50%_*\""), "(position(`f_path`, '50%_') != 0 OR isNull(`f_path`))");
  EXPECT_EQ(sql("path ~ \"*.so\""), "(endsWith(`f_path`, '.so') OR isNull(`f_path`))");
  EXPECT_EQ(sql("path ~ \"a*b*\""), "(startsWith(`f_path`, 'a') OR isNull(`f_path`))");
  EXPECT_EQ(sql("path ~ \"/etc/??\""), "(startsWith(`f_path`, '/etc/') OR isNull(`f_path`))");
  EXPECT_EQ(sql("path ~ \"?a*\""), "1");
  EXPECT_EQ(sql("comm == \"cat\""), "comm = 'cat'");
  EXPECT_EQ(sql("name == \"cat\""), "`f_name` = 'cat'");
  EXPECT_EQ(sql("name == \"12345678\""), "1") << "as long as the array";
}

TEST(FilterSqlTest, SaysTooMuchRatherThanTooLittle) {
  EXPECT_EQ(sql("ret == 1 && price > 2.5"), "(`f_ret` = 1)");
  EXPECT_EQ(sql("ret == 1 || price > 2.5"), "1");
  EXPECT_EQ(sql("ret == 1 && (size > 2 || size == 0)"), "(`f_ret` = 1 AND (`f_size` > 2 OR `f_size` = 0))");
  EXPECT_EQ(sql("!(ret == 1)"), "1");
}

}  // namespace
}  // namespace kevt::fleet

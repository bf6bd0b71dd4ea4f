#include "tracefs-compat/fleet/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tracefs-compat/record/record_builder.h"

namespace kevt::fleet {
namespace {

using testing::HasSubstr;

constexpr const char* kRowFormat =
    "name: open\nID: 1234\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
    "\tfield:s32 ret;\toffset:16;\tsize:4;\tsigned:1;\n"
    "\tfield:__data_loc char[] path;\toffset:20;\tsize:4;\tsigned:1;\n"
    "\tfield:f64 price;\toffset:24;\tsize:8;\tsigned:0;\n"
    "\tfield:char comm[16];\toffset:32;\tsize:16;\tsigned:0;\n"
    "\tfield:__data_loc char[][2] words;\toffset:48;\tsize:8;\tsigned:1;\n"
    "\tfield:unsigned long caller[4];\toffset:56;\tsize:32;\tsigned:0;\n"
    "\nprint fmt: \"(%lx) ret=%d\", REC->__probe_ip, REC->ret\n";

record::EventFormat event() {
  auto made = record::parse_format("kprobes", kRowFormat);
  EXPECT_TRUE(made) << made.error().message();
  return made ? *std::move(made) : record::EventFormat{};
}

TEST(ShapeTest, ATableIsOfAllWhoHaveTheseFields) {
  record::EventFormat one = event(), other = event();
  EXPECT_THAT(table_of(one), testing::StartsWith("event_kprobes_open_"));
  other.id = 99;
  other.print_fmt = "\"\"";
  EXPECT_EQ(table_of(one), table_of(other)) << "ids and words are a machine's own";
  other.fields[1].type = "s64";
  EXPECT_NE(table_of(one), table_of(other));
  other.name = "a`; DROP TABLE x";
  EXPECT_EQ(table_of(other).find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"),
            std::string::npos);
}

TEST(ShapeTest, ColumnsHaveTheFieldsTypes) {
  const std::string sql = create_table(event(), "kev", Tokens::Unknown);
  EXPECT_EQ(create_table(event(), "kev", Tokens::Known), sql + " SETTINGS non_replicated_deduplication_window = 1000");
  for (const char* column : {"`f___probe_ip` UInt64", "`f_ret` Int32", "`f_path` Nullable(String)", "`f_price` Float64",
                             "`f_comm` String", "`f_caller` Array(UInt64)"})
    EXPECT_THAT(sql, HasSubstr(column));
}

class RowTest : public testing::Test {
 protected:
  // The record that comes back.
  std::vector<std::uint8_t> there_and_back(std::span<const std::uint8_t> record) {
    std::vector<std::uint8_t> row;
    const RowHead head{.time_ns = -5,
                       .cpu = 3,
                       .seq = 7,
                       .instance = "few",
                       .tid = 42,
                       .comm = "b\0c",
                       .flags = 1,
                       .preempt_count = 2,
                       .lost_before = ~0ull};
    append_row(event_, head, "", "", record, row);
    bytes_.assign(row.begin() + 2, row.end());  // host and session are empty, and not asked for
    RowReader rows(bytes_);
    std::vector<std::uint8_t> back;
    EXPECT_TRUE(read_row(event_, rows, head_, back));
    EXPECT_TRUE(rows.at_end() && rows.good());
    return back;
  }

  record::EventFormat event_ = event();
  std::string bytes_;
  RowHead head_;
};

TEST_F(RowTest, MakesTheRecordAgain) {
  std::vector<std::uint8_t> record;
  record::RecordBuilder built(event_, record);
  built.store_common(1, 2, 42);
  built.store_number(*event_.find("__probe_ip"), 0xffffffff81234567);
  built.store_number(*event_.find("ret"), static_cast<std::uint64_t>(-2));
  built.store_number(*event_.find("price"), 0x4004000000000000);
  built.store_text(*event_.find("comm"), "cat");
  built.store_number(*event_.find("caller"), 11, 0);
  built.store_number(*event_.find("caller"), 12, 3);
  built.store_dynamic(*event_.find("path"), std::string_view("/etc/\xff\0", 7));
  built.store_dynamic(*event_.find("words"), "", 0);
  built.store_dynamic(*event_.find("words"), std::string_view("two\0", 4), 1);
  EXPECT_EQ(there_and_back(record), record);
  EXPECT_EQ(head_.time_ns, -5);
  EXPECT_EQ(head_.instance, "few");
  EXPECT_EQ(head_.lost_before, ~0ull);
}

TEST_F(RowTest, ATextThatCouldNotBeReadStaysSo) {
  std::vector<std::uint8_t> record;
  record::RecordBuilder built(event_, record);
  built.store_common(1, 2, 42);
  const auto back = there_and_back(record);
  EXPECT_EQ(record::value_of(*event_.find("path"), back).kind, record::Value::Kind::Absent);
  record::RecordBuilder(event_, record).store_dynamic(*event_.find("path"), std::string_view("", 1));
  EXPECT_EQ(record::value_of(*event_.find("path"), there_and_back(record)).kind, record::Value::Kind::Text);
}

TEST_F(RowTest, AShortArrayStaysShort) {
  std::vector<std::uint8_t> record;
  record::RecordBuilder built(event_, record);
  built.store_common(1, 2, 42);
  built.store_number(*event_.find("caller"), 11);
  built.end_at(*event_.find("caller"), 2);
  EXPECT_EQ(there_and_back(record).size(), 56u + 16);
}

// Every cut, and every byte changed: nothing is read that is not there.
TEST_F(RowTest, HostileRowsAreRefusedOrRead) {
  std::vector<std::uint8_t> record;
  record::RecordBuilder built(event_, record);
  built.store_dynamic(*event_.find("path"), std::string_view("/etc\0", 5));
  there_and_back(record);
  const std::string whole = bytes_;
  std::vector<std::uint8_t> back;
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    const std::string part = whole.substr(0, cut);
    RowReader rows(part);
    EXPECT_FALSE(read_row(event_, rows, head_, back)) << cut;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string other = whole;
    other[at] = static_cast<char>(0xff);
    RowReader rows(other);
    (void)read_row(event_, rows, head_, back);
    EXPECT_LE(back.size(), 0xffffu);
  }
}

}  // namespace
}  // namespace kevt::fleet

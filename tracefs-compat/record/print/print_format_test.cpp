#include "tracefs-compat/record/print/print_format.h"

#include <gmock/gmock.h>

#include "tracefs-compat/record/print/trace_line.h"
#include "tracefs-compat/record/record_testing.h"

namespace kevt::record {
namespace {

// An event with one u64 `n`, one u8 `f`, a char[4] `c`, and the print fmt given; prints n=`n`, f=`f`.
std::string printed(const std::string& print, std::uint64_t n, std::uint8_t f = 0) {
  const std::string text =
      "name: e\nID: 9\nformat:\n\tfield:u64 n;\toffset:8;\tsize:8;\tsigned:0;\n"
      "\tfield:u8 f;\toffset:16;\tsize:1;\tsigned:0;\n"
      "\tfield:char c[4];\toffset:17;\tsize:4;\tsigned:0;\n\nprint fmt: " +
      print + "\n";
  const auto event = parse_format("s", text);
  if (!event) return event.error().message();
  const auto format = PrintFormat::compile(*event);
  if (!format) return "not understood";
  Bytes bytes(21, 0);
  store(bytes, 8, n);
  bytes[16] = f;
  std::memcpy(bytes.data() + 17, "abcd", 4);
  std::string out;
  format->print(bytes, Symbols(), PlaceStyle::Symbols, out);
  return out;
}

TEST(PrintFormat, PrintsNumbersAsTheirConversionSays) {
  EXPECT_EQ(printed("\"%d %u\", REC->n, REC->n", 0xffffffff), "-1 4294967295");
  EXPECT_EQ(printed("\"%lu|%Lx|%llx\", REC->n, REC->n, REC->n", ~0ull),
            "18446744073709551615|ffffffffffffffff|ffffffffffffffff");
  EXPECT_EQ(printed("\"%08lx %-6d| %6d|%#x|%03d\", REC->n, REC->n, REC->n, REC->n, REC->n", 42),
            "0000002a 42    |     42|0x2a|042");
  EXPECT_EQ(printed("\"100%% %d\", REC->f", 0, 200), "100% 200");
  EXPECT_EQ(printed("\"%hhd\", REC->f", 0, 200), "-56");
}

TEST(PrintFormat, EvaluatesExpressions) {
  EXPECT_EQ(printed("\"%d\", (1 + 2) * 3 - (REC->n >> 1 & 0x3)", 6), "6");
  EXPECT_EQ(printed("\"%s\", REC->n & ((((0x0 | 0x1) + 1) << 1) - 1) ? \"yes\" : \"no\"", 4), "no");
  EXPECT_EQ(printed("\"%d\", !REC->n || REC->n == 3 && ~0 != 0", 3), "1");
  EXPECT_EQ(printed("\"%d %d\", REC->n / 0, REC->n % 0", 3), "0 0");
  EXPECT_EQ(printed("\"%d\", (int)(u8)REC->n", 0x1ff), "255");
  EXPECT_EQ(printed("\"%d\", (s8)REC->n", 0x1ff), "-1");
  EXPECT_EQ(printed("\"%d\", REC->n << 100", 1), "0");
}

// As C has it: what is computed with an unsigned long is one.
TEST(PrintFormat, KnowsUnsignedNumbers) {
  EXPECT_EQ(printed("\"%d\", REC->n > 5", ~0ull), "1");
  EXPECT_EQ(printed("\"%d\", (s64)REC->n > 5", ~0ull), "0");
  EXPECT_EQ(printed("\"%d\", (s64)REC->n > 5UL", ~0ull), "1");
  EXPECT_EQ(printed("\"%lx\", REC->n / 2", ~0ull), "7fffffffffffffff");
  EXPECT_EQ(printed("\"%ld\", (s64)REC->n / 2", static_cast<std::uint64_t>(-7)), "-3");
  EXPECT_EQ(printed("\"%lx\", REC->n >> 4", ~0ull), "fffffffffffffff");
  EXPECT_EQ(printed("\"%ld\", (s64)REC->n >> 1", static_cast<std::uint64_t>(-8)), "-4");
  EXPECT_EQ(printed("\"%lx\", ~0UL >> 1", 0), "7fffffffffffffff");
  EXPECT_EQ(printed("\"%lu\", (REC->n + 1) % 10", 0xfffffffffffffffd), "4");
}

TEST(PrintFormat, NamesFlagsAndNumbers) {
  const std::string flags = "\"%s\", __print_flags(REC->n, \"|\", {1, \"A\"}, { 2UL, \"B\" }, {0x4, \"C\"})";
  EXPECT_EQ(printed(flags, 5), "A|C");
  EXPECT_EQ(printed(flags, 9), "A|0x8");
  EXPECT_EQ(printed(flags, 0), "");
  const std::string names = "\"%s\", __print_symbolic(REC->n, {-1, \"minus\"}, {7, \"seven\"})";
  EXPECT_EQ(printed(names, 7), "seven");
  EXPECT_EQ(printed(names, ~0ull), "minus");
  EXPECT_EQ(printed(names, 8), "0x8");
}

TEST(PrintFormat, ComputesTheNumbersOfNames) {
  const std::string gfp =
      R"("%s", __print_flags(REC->n, "|", {( unsigned long)((( gfp_t)0x400u|( gfp_t)0x800u) & ~(( gfp_t)0x800u)), "IO"}, {1 << 3, "THREE"}, {(1UL << (40 - 1)), "FAR"}))";
  EXPECT_EQ(printed(gfp, 0x408), "IO|THREE");
  EXPECT_EQ(printed(gfp, 1ull << 39), "FAR");
  // As C computes: int, unsigned int, and what is as wide as a long.
  const auto name_of = [](const std::string& number, std::uint64_t n) {
    return printed("\"%s\", __print_symbolic(REC->n, { " + number + ", \"it\" })", n);
  };
  EXPECT_EQ(name_of("-1", ~0ull), "it");
  EXPECT_EQ(name_of("~0U", 0xffffffff), "it");
  EXPECT_EQ(name_of("~0", ~0ull), "it");
  EXPECT_EQ(name_of("1 << 31", 0xffffffff80000000), "it");
  EXPECT_EQ(name_of("1U << 31", 0x80000000), "it");
  EXPECT_EQ(name_of("0x80000000 >> 31", 1), "it") << "hexadecimal numbers may be unsigned";
  EXPECT_EQ(name_of("2147483648 << 1", 0x100000000), "it") << "decimal ones are long instead";
  EXPECT_EQ(name_of("-1 < 1U", 0), "it") << "the int becomes unsigned";
  EXPECT_EQ(name_of("-1 < 1L", 1), "it");
  EXPECT_EQ(name_of("(u8)300 + (s8)200", static_cast<std::uint64_t>(44 - 56)), "it");
  EXPECT_EQ(name_of("(3 > 2 ? 7 : 8) % 4 * -1", static_cast<std::uint64_t>(-3)), "it");
  EXPECT_EQ(name_of("1 ? -1 : 1U", 0xffffffff), "it") << "both arms have one type";
  EXPECT_EQ(name_of("0 && 1 / 0", 0), "it");
  EXPECT_EQ(name_of("1 || 1 / 0", 1), "it");
  EXPECT_EQ(name_of("6 / -1", static_cast<std::uint64_t>(-6)), "it");
  EXPECT_EQ(name_of("'a' - 98", ~0ull), "it") << "an int";
  EXPECT_EQ(name_of("1 / 0", 0), "not understood");
  EXPECT_EQ(name_of("1 << 32", 0), "not understood");
  EXPECT_EQ(name_of("REC->f", 0), "not understood") << "a field is no constant";
  EXPECT_EQ(name_of("SOME_ENUM", 0), "not understood");
}

TEST(PrintFormat, TakesWhatACompilerIsToldForItsValue) {
  EXPECT_EQ(
      printed("\"%lu\", __builtin_expect(!!((unsigned long)(void *)(REC->n) >= (unsigned long)-4095), 0) ? 0 : REC->n",
              5),
      "5");
  EXPECT_EQ(
      printed("\"%lu\", __builtin_expect(!!((unsigned long)(void *)(REC->n) >= (unsigned long)-4095), 0) ? 0 : REC->n",
              ~0ull),
      "0");
}

TEST(PrintFormat, PrintsTextOfTheRecordItself) {
  EXPECT_EQ(printed("\"<%s> <%-6s> <%.2s>\", REC->c, REC->c, REC->c", 0), "<abcd> <abcd  > <ab>");
}

// A list of two numbers of 4 bytes, -1 and 16, of a type, as it is printed.
std::string printed_list(const std::string& type, const std::string& as = "") {
  const auto event = parse_format(
      "s", "name: e\nID: 9\nformat:\n\tfield:__data_loc " + type +
               "[] l;\toffset:8;\tsize:4;\tsigned:" + (type[0] == 's' ? "1" : "0") + ";\n\nprint fmt: \"<%s>\", " +
               (as.empty() ? "__print_array(__get_dynamic_array(l), __get_dynamic_array_len(l) / 4, 4)" : as) + "\n");
  if (!event) return event.error().message();
  const auto format = PrintFormat::compile(*event);
  if (!format) return "not understood";
  Bytes bytes(20, 0);
  store<std::uint32_t>(bytes, 8, 8u << 16 | 12);
  store<std::uint32_t>(bytes, 12, ~0u);
  store<std::uint32_t>(bytes, 16, 16);
  std::string out;
  format->print(bytes, Symbols(), PlaceStyle::Symbols, out);
  return out;
}

TEST(PrintFormat, PrintsListsAsTheirTypesSay) {
  EXPECT_EQ(printed_list("s32"), "<{-1,16}>");
  EXPECT_EQ(printed_list("u32"), "<{4294967295,16}>");
  EXPECT_EQ(printed_list("x32"), "<{0xffffffff,0x10}>");
  EXPECT_EQ(printed_list("o32"), "<{037777777777,020}>");
  EXPECT_EQ(printed_list("f32"), "<{-nan,2.2e-44}>");
  EXPECT_EQ(printed_list("u32", "__print_array(__get_dynamic_array(l), 1, 4)"), "<{0xffffffff}>") << "a kernel's own";
  EXPECT_EQ(printed_list("unsigned int"), "<{0xffffffff,0x10}>") << "as a kernel prints its arrays";
  EXPECT_EQ(printed_list("u8", "__print_hex_str(__get_dynamic_array(l), __get_dynamic_array_len(l))"),
            "<ffffffff10000000>");
}

TEST(PrintFormat, DoesNotGuess) {
  EXPECT_EQ(printed("\"%d\", foo(REC->n)", 1), "not understood");
  EXPECT_EQ(printed("\"%d\", REC->nope", 1), "not understood");
  EXPECT_EQ(printed("\"%pI4\", REC->n", 1), "not understood");
  EXPECT_EQ(printed("\"%d", 1), "not understood");
  EXPECT_EQ(printed("\"%d\"", 1), "not understood");
  EXPECT_EQ(printed("\"%d\", " + std::string(5000, '('), 1), "not understood");
  EXPECT_EQ(printed("\"%d\", " + std::string(5000, '-') + "1", 1), "not understood");
}

TEST(TraceLines, PrintPlacesAsSymbolsAndFaultsWithoutQuotes) {
  Metadata metadata;
  fill(metadata);
  TraceLines lines(metadata);
  std::string out;
  lines.append(typed(metadata, 5'070'441'498'400, 1, opened(7, "/etc/passwd", 3)), out);
  lines.append(typed(metadata, 5'070'441'499'500, 0, opened(8, nullptr, -1)), out);
  lines.append(typed(metadata, 5'070'441'500'000, 0, closed(9, -2)), out);
  EXPECT_EQ(
      out,
      "             cat-7       [001] .....  5070.441498: opened: (open+0x0/0x128 [libc.so.6]) path=\"/etc/passwd\" "
      "fd=3\n"
      "         python3-8       [000] .....  5070.441500: opened: (open+0x0/0x128 [libc.so.6]) path=(fault) fd=-1\n"
      "           <...>-9       [000] .....  5070.441500: closed: (main+0x10/0x40 <- open [libc.so.6]) ret=-2\n");
}

TEST(TraceLines, PrintAddressesOfProbesOnFiles) {
  Metadata metadata;
  fill(metadata);
  metadata.definitions = {"p:kprobes/opened /usr/bin/cat:0x1234 path=+0(%di):string"};
  TraceLines lines(metadata);
  std::string out;
  lines.append_event(typed(metadata, 5, 1, opened(7, "x", 3)), out);
  EXPECT_EQ(out, "opened: (0x7f0000001000) path=\"x\" fd=3");
}

TEST(TraceLines, PrintTimesInFourStyles) {
  Metadata metadata;
  fill(metadata);
  const auto times = [&](TimeStyle style) {
    TraceLines lines(metadata, {.times = style});
    std::string out;
    for (std::uint64_t ns : {1'000'000'000ull, 1'500'000'000ull, 1'500'002'000ull}) {
      lines.append_time(typed(metadata, ns, 0, closed(7, 0)), out);
      out += '|';
    }
    return out;
  };
  EXPECT_EQ(times(TimeStyle::Absolute), "    1.000000|    1.500000|    1.500002|");
  EXPECT_EQ(times(TimeStyle::Relative), "    0.000000|    0.500000|    0.500002|");
  EXPECT_EQ(times(TimeStyle::Delta), "    0.000000|    0.500000|    0.000002|");
  EXPECT_THAT(times(TimeStyle::Wall), testing::StartsWith("2023-11-1"));
}

TEST(EventFormat, RefusesWhatIsNoFormat) {
  EXPECT_FALSE(parse_format("s", ""));
  EXPECT_FALSE(parse_format("s", "name: x\nformat:\n"));
  EXPECT_FALSE(parse_format("s", "name: x\nID: 70000\n"));
  EXPECT_FALSE(parse_format("s", "name: x\nID: 1\n\tfield:int a;\toffset:99999999999;\tsize:4;\n"));
  EXPECT_FALSE(parse_format("s", "name: x\nID: 1\n\tfield:int a\n"));
}

TEST(EventFormat, ReadsNoListOutsideTheRecord) {
  const auto event = parse_format(
      "s",
      "name: e\nID: 9\nformat:\n\tfield:__data_loc s32[] l;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"%s\", "
      "__print_array(__get_dynamic_array(l), __get_dynamic_array_len(l) / 4, 4)\n");
  ASSERT_TRUE(event);
  const Field& list = *event->find("l");
  EXPECT_EQ(list.kind, FieldKind::DynamicNumbers);
  Bytes bytes(19, 0xff);
  store<std::uint32_t>(bytes, 8, 7u << 16 | 12);
  EXPECT_EQ(items_of(list, bytes), 1u) << "three bytes are no item";
  EXPECT_EQ(value_of(list, bytes).number, ~0ull);
  EXPECT_EQ(value_of(list, bytes, 1).kind, Value::Kind::Absent);
  store<std::uint32_t>(bytes, 8, 8u << 16 | 12);  // a byte more than the record has
  EXPECT_EQ(items_of(list, bytes), 0u);
  EXPECT_EQ(value_of(list, bytes).kind, Value::Kind::Absent);
  EXPECT_EQ(items_of(list, std::span(bytes).first(9)), 0u);
}

TEST(EventFormat, ReadsNothingOutsideTheRecord) {
  const auto event = parse_format("kprobes", kOpenedFormat);
  ASSERT_TRUE(event);
  const Field& path = *event->find("path");
  Bytes bytes = opened(7, "/x", 3);
  EXPECT_EQ(value_of(path, bytes).text, "/x");
  store<std::uint32_t>(bytes, 16, 100u << 16 | 24);  // longer than the record
  EXPECT_EQ(value_of(path, bytes).kind, Value::Kind::Absent);
  store<std::uint32_t>(bytes, 16, 1u << 16 | 0xffff);
  EXPECT_EQ(value_of(path, bytes).kind, Value::Kind::Absent);
  EXPECT_EQ(value_of(path, std::span(bytes).first(17)).kind, Value::Kind::Absent);
  EXPECT_EQ(value_of(*event->find("fd"), std::span(bytes).first(22)).kind, Value::Kind::Absent);
  EXPECT_EQ(value_of(*event->find("fd"), bytes, 1).kind, Value::Kind::Absent);
}

}  // namespace
}  // namespace kevt::record

#include "compiler/layout/layout.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace kevt::layout {
namespace {

model::FetchArg argument(std::string name, model::TypeKind kind, std::uint8_t bytes, std::uint32_t items = 0) {
  model::FetchArg arg{.name = std::move(name), .text = "+0(%si)"};
  arg.type.kind = kind;
  arg.type.bytes = bytes;
  arg.type.array_count = items;
  return arg;
}

model::Definition kprobe() {
  return {
      .kind = model::EventKind::Kprobe, .group = "g", .event = "e", .place = model::SymbolPlace{.symbol = "vfs_read"}};
}

model::Definition synthetic() {
  model::Definition definition{.kind = model::EventKind::Synthetic, .group = "synthetic", .event = "s"};
  definition.fields = {{.type = "pid_t", .name = "pid"},
                       {.type = "char[16]", .name = "comm", .is_array = true, .array_count = 16},
                       {.type = "char[]", .name = "text", .is_array = true},
                       {.type = "unsigned long[]", .name = "st", .is_array = true}};
  return definition;
}

TEST(LayoutRecord, PacksArgumentsWithoutAlignment) {
  model::Definition definition = kprobe();
  definition.args = {argument("a", model::TypeKind::Unsigned, 1), argument("s", model::TypeKind::String, 4, 2),
                     argument("b", model::TypeKind::Hex, 8)};
  diag::Sink sink;
  const auto layout = layout_record(definition, sink);
  ASSERT_TRUE(layout);
  ASSERT_EQ(layout->fields.size(), 4u);
  EXPECT_EQ(layout->fields[0].name, "__probe_ip");
  EXPECT_EQ(layout->fields[1].offset, 16u);
  EXPECT_EQ(layout->fields[2].offset, 17u);
  EXPECT_EQ(layout->fields[2].size, 8u);
  EXPECT_EQ(layout->fields[3].offset, 25u);
  EXPECT_EQ(layout->fixed_size, 33u);
  EXPECT_TRUE(layout->has_dynamic);
}

TEST(LayoutRecord, ReturnProbesHaveTwoAddressesAndEventProbesNone) {
  model::Definition definition = kprobe();
  definition.probe_kind = model::ProbeKind::Return;
  diag::Sink sink;
  EXPECT_EQ(layout_record(definition, sink)->fixed_size, 24u);
  definition.kind = model::EventKind::Eprobe;
  EXPECT_EQ(layout_record(definition, sink)->fixed_size, 8u);
}

TEST(LayoutRecord, RefusesMoreThanTheKernelsLimit) {
  model::Definition definition = kprobe();
  for (int i = 0; i < 6; ++i) definition.args.push_back(argument("a", model::TypeKind::Unsigned, 8, 64));
  diag::Sink sink;
  EXPECT_TRUE(layout_record(definition, sink));
  definition.args.push_back(argument("b", model::TypeKind::Unsigned, 1));
  EXPECT_FALSE(layout_record(definition, sink));
  ASSERT_EQ(sink.diagnostics().size(), 1u);
  EXPECT_EQ(sink.diagnostics()[0].kind, diag::Kind::EventTooBig);
  EXPECT_EQ(sink.diagnostics()[0].errno_value, E2BIG);
}

TEST(LayoutRecord, SyntheticFieldsTakeSlots) {
  diag::Sink sink;
  const auto layout = layout_record(synthetic(), sink);
  EXPECT_EQ(layout->fields[1].offset, 16u);
  EXPECT_EQ(layout->fields[2].offset, 272u);
  EXPECT_EQ(layout->fixed_size, 288u);
}

TEST(FormatText, IsTheKernels) {
  model::Definition definition = kprobe();
  definition.args = {argument("a", model::TypeKind::Signed, 4), argument("s", model::TypeKind::String, 4, 2),
                     argument("x", model::TypeKind::Hex, 2, 2)};
  diag::Sink sink;
  EXPECT_EQ(format_text(definition, *layout_record(definition, sink), 1500),
            "name: e\nID: 1500\nformat:\n"
            "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
            "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
            "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
            "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
            "\n"
            "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
            "\tfield:s32 a;\toffset:16;\tsize:4;\tsigned:1;\n"
            "\tfield:__data_loc char[][2] s;\toffset:20;\tsize:8;\tsigned:1;\n"
            "\tfield:u16 x[];\toffset:28;\tsize:4;\tsigned:0;\n"
            "\n"
            "print fmt: \"(%lx) a=%d s={\\\"%s\\\",\\\"%s\\\"} x={0x%x,0x%x}\", REC->__probe_ip, REC->a, "
            "__get_str(s[0]), __get_str(s[1]), REC->x[0], REC->x[1]\n");
}

TEST(Listing, ShowsDefaultInstances) {
  model::Definition definition = kprobe();
  definition.probe_kind = model::ProbeKind::Return;
  EXPECT_EQ(listing(definition, 1), "r10:g/e vfs_read");
  EXPECT_EQ(listing(definition, 16), "r32:g/e vfs_read");
  definition.maxactive = 4;
  EXPECT_EQ(listing(definition, 16), "r4:g/e vfs_read");
}

TEST(Listing, ShowsPlaces) {
  model::Definition definition = kprobe();
  definition.place = model::SymbolPlace{.module = "ext4", .symbol = "f", .offset = 16};
  definition.args = {argument("a", model::TypeKind::Hex, 8)};
  EXPECT_EQ(listing(definition, 1), "p:g/e ext4:f+16 a=+0(%si)");
  definition.kind = model::EventKind::Uprobe;
  definition.place = model::FilePlace{.path = "/bin/sh", .offset = 0x1017, .reference_counter = 0x2224};
  EXPECT_EQ(listing(definition, 1), "p:g/e /bin/sh:0x0000000000001017(0x2224) a=+0(%si)");
  EXPECT_EQ(listing(synthetic(), 1), "s:synthetic/s\tpid_t pid; char[16] comm; char[] text; unsigned long[] st");
}

TEST(LinePrefix, IsTheKernels) {
  EXPECT_EQ(line_prefix({.comm = "cat", .pid = 1234, .cpu = 3, .timestamp_ns = 12'345'678'500}),
            "             cat-1234    [003] .....    12.345679: ");
  EXPECT_EQ(line_prefix({.comm = "x", .pid = 1, .flags = 0x81 | 0x04 | 0x08, .preempt_count = 0x21}),
            "               x-1       [000] Dnh12     0.000000: ");
}

TEST(ProfileLine, IsTheKernels) {
  EXPECT_EQ(profile_line("e", 12, 3),
            "  e                                                         12               3\n");
}

}  // namespace
}  // namespace kevt::layout

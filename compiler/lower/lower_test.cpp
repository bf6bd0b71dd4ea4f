#include "compiler/lower/lower.h"

#include <gtest/gtest.h>

#include "compiler/ir/text.h"

namespace kevt::lower {
namespace {

using model::TypeKind;

// One argument: its expression and type; `listing` is only for reading.
struct Arg {
  const char* listing;
  model::FetchExpr expr;
  model::TypeSpec type;
};

model::FetchExpr expr(model::FetchBase base, std::vector<std::int64_t> offsets = {}) {
  model::FetchExpr out;
  out.base = std::move(base);
  for (const std::int64_t offset : offsets) out.dereferences.push_back({.offset = offset});
  return out;
}

model::TypeSpec type(TypeKind kind, std::uint8_t bytes, std::uint32_t count = 0) {
  model::TypeSpec out;
  out.kind = kind;
  out.bytes = bytes;
  out.array_count = count;
  return out;
}

model::TypeSpec bitfield(std::uint8_t width, std::uint8_t offset, std::uint8_t bytes, std::uint32_t count = 0) {
  model::TypeSpec out = type(TypeKind::Bitfield, bytes, count);
  out.bit_width = width;
  out.bit_offset = offset;
  return out;
}

const model::RegisterBase kDi{"di"};
const model::TypeSpec kStringType = type(TypeKind::String, 4);

// Lays the arguments out back to back, as layout does, and lowers them with one open sink.
std::string lowered(const std::vector<Arg>& args, model::ProbeKind point = model::ProbeKind::Entry) {
  model::Definition definition;
  definition.kind = model::EventKind::Uprobe;
  definition.probe_kind = point;
  definition.place = model::FilePlace{.path = "/bin/a", .offset = 64, .reference_counter = {}};
  model::RecordLayout layout;
  layout.fixed_size = ir::header_size(point);
  for (const Arg& arg : args) {
    model::FetchArg fetch;
    fetch.expr = arg.expr;
    fetch.type = arg.type;
    model::RecordField field;
    field.type = arg.type;
    field.offset = layout.fixed_size;
    field.size = arg.type.bytes * std::max<std::uint32_t>(1, arg.type.array_count);
    field.arg_index = static_cast<std::uint32_t>(definition.args.size());
    layout.fixed_size += field.size;
    layout.fields.push_back(field);
    definition.args.push_back(fetch);
  }
  const std::string text = ir::print(lower_event(definition, layout, {std::nullopt}));
  EXPECT_TRUE(text.ends_with("sink 0\n")) << text;
  return text.substr(0, text.size() - 7);
}

model::EventFieldBase field_of(model::EventFieldForm form, std::uint32_t offset, std::uint8_t bytes, bool is_signed) {
  return {.name = "f", .form = form, .offset = offset, .bytes = bytes, .is_signed = is_signed};
}

std::string lowered_at(model::EventKind kind, model::Place place, model::FetchExpr read) {
  model::Definition definition;
  definition.kind = kind;
  definition.place = std::move(place);
  definition.args.emplace_back().expr = std::move(read);
  if (!lowerable(definition)) return "refused";
  model::RecordLayout layout;
  layout.fields = {{.type = {}, .offset = 16, .size = 8}};
  layout.fixed_size = 24;
  return ir::print(lower_event(definition, layout, {std::nullopt}));
}

TEST(Lower, TracepointsHaveArgumentsAndNoRegisters) {
  const model::TracepointPlace place{"sched_switch"};
  const auto of = [&](model::FetchBase base) { return lowered_at(model::EventKind::Tprobe, place, expr(base, {8})); };
  EXPECT_EQ(of(model::ArgumentBase{2}), R"(program entry fixed 24
v0 = reg r14
v1 = load u8 v0+8
store int8 v1 @16
sink 0
)");
  EXPECT_NE(of(model::ArgumentBase{12}), "refused");
  EXPECT_EQ(of(model::ArgumentBase{13}), "refused");
  EXPECT_EQ(of(model::StackSlotBase{1}), "refused");
  EXPECT_EQ(of(kDi), "refused");
}

TEST(Lower, WatchpointsKnowTheirAddress) {
  const model::VariableBase watched{.name = "$addr", .kind = model::VariableKind::WatchedAddress};
  const auto at = [&](model::WatchPlace place) {
    return lowered_at(model::EventKind::Watchpoint, std::move(place), expr(watched));
  };
  EXPECT_EQ(at({.access = "w", .symbol = "jiffies", .offset = 4}), R"(program entry fixed 24
slot 0 = symbol "jiffies"+4
v0 = slot 0
store int8 v0 @16
sink 0
)");
  EXPECT_EQ(at({.access = "w", .symbol = std::nullopt, .offset = 64}), R"(program entry fixed 24
v0 = imm 64
store int8 v0 @16
sink 0
)");
}

// An eprobe's fields are read in the attached event's record, where the probe stands.
TEST(Lower, EprobesReadTheRecordTheyStandOn) {
  const auto number = field_of(model::EventFieldForm::Integer, 24, 4, true);
  EXPECT_EQ(lowered({{"$f", expr(number), type(TypeKind::Signed, 8)}}, model::ProbeKind::Record),
            "program record fixed 16\n"
            "v0 = probe_address\n"
            "v1 = load u4 v0+24\n"
            "v2 = narrow s4 v1\n"
            "store int8 v2 @8\n");
  const auto pointer = field_of(model::EventFieldForm::Integer, 16, 8, false);
  EXPECT_EQ(lowered({{"$f", expr(pointer, {0}), kStringType}}, model::ProbeKind::Record),
            "program record fixed 12\n"
            "v0 = probe_address\n"
            "v1 = load u8 v0+16\n"
            "v2 = string v1+0\n"
            "store string v2 @8\n");
  const auto text = field_of(model::EventFieldForm::Text, 8, 0, false);
  const std::string read =
      "program record fixed 12\n"
      "v0 = probe_address\n"
      "v1 = string v0+8\n"
      "store string v1 @8\n";
  EXPECT_EQ(lowered({{"$f", expr(text), kStringType}}, model::ProbeKind::Record), read);
  EXPECT_EQ(lowered({{"$f", expr(text, {0}), kStringType}}, model::ProbeKind::Record), read);
}

// Text behind the record's fields is read where its word says; `+2()` is two characters further.
TEST(Lower, EprobesReadStringsBehindTheFields) {
  auto field = field_of(model::EventFieldForm::Located, 8, 0, true);
  const std::string located =
      "program record fixed 12\n"
      "v0 = probe_address\n"
      "v1 = load u4 v0+8\n"
      "v2 = located v1\n";
  EXPECT_EQ(lowered({{"$f", expr(field), kStringType}}, model::ProbeKind::Record),
            located + "v3 = string v2+0\nstore string v3 @8\n");
  EXPECT_EQ(lowered({{"$f", expr(field, {2}), kStringType}}, model::ProbeKind::Record),
            located + "v3 = string v2+2\nstore string v3 @8\n");
  EXPECT_EQ(lowered({{"$f", expr(field, {2}), type(TypeKind::Unsigned, 4)}}, model::ProbeKind::Record),
            located + "v3 = load u4 v2+2\nstore int4 v3 @8\n");
  field.located_from = 12;  // __rel_loc
  EXPECT_EQ(lowered({{"$f", expr(field), kStringType}}, model::ProbeKind::Record),
            located + "v3 = string v2+12\nstore string v3 @8\n");
}

TEST(Lower, NoArguments) {
  EXPECT_EQ(lowered({}), "program entry fixed 16\n");
  EXPECT_EQ(lowered({}, model::ProbeKind::Return), "program return fixed 24\n");
}

TEST(Lower, RegistersAreNarrowedToTheirType) {
  EXPECT_EQ(lowered({{"%di:s32", expr(kDi), type(TypeKind::Signed, 4)},
                     {"%di:u8", expr(kDi), type(TypeKind::Unsigned, 1)},
                     {"%di", expr(kDi), type(TypeKind::Hex, 8)}}),
            R"(program entry fixed 29
v0 = reg di
v1 = narrow s4 v0
v2 = narrow u1 v0
store int4 v1 @16
store int1 v2 @20
store int8 v0 @21
)");
}

TEST(Lower, StackAndReturnValueForms) {
  EXPECT_EQ(lowered({{"$stack", expr(model::StackPointerBase{}), type(TypeKind::Hex, 8)},
                     {"$stack2:u16", expr(model::StackSlotBase{2}), type(TypeKind::Unsigned, 2)},
                     {"$retval:symbol", expr(model::ReturnValueBase{}), type(TypeKind::Symbol, 8)}},
                    model::ProbeKind::Return),
            R"(program return fixed 42
v0 = reg sp
v1 = load u8 v0+16
v2 = narrow u2 v1
v3 = reg ax
store int8 v0 @24
store int2 v2 @32
store int8 v3 @34
)");
}

TEST(Lower, ReturnProbesTakeTheArgumentsOfTheEntry) {
  EXPECT_EQ(lowered({{"$arg1", expr(model::ArgumentBase{1}), type(TypeKind::Hex, 8)},
                     {"$arg9:s16", expr(model::ArgumentBase{9}), type(TypeKind::Signed, 2)},
                     {"+8($arg1)", expr(model::ArgumentBase{1}, {8}), type(TypeKind::Hex, 8)}},
                    model::ProbeKind::Return),
            R"(program return fixed 42
v0 = entry_arg 1
v1 = entry_arg 9
v2 = narrow s2 v1
v3 = load u8 v0+8
store int8 v0 @24
store int2 v2 @32
store int8 v3 @34
)");
}

TEST(Lower, ArgumentsLieInRegistersThenOnTheStack) {
  EXPECT_EQ(lowered({{"$arg1", expr(model::ArgumentBase{1}), type(TypeKind::Hex, 8)},
                     {"$arg6", expr(model::ArgumentBase{6}), type(TypeKind::Hex, 8)},
                     {"$arg7", expr(model::ArgumentBase{7}), type(TypeKind::Hex, 8)},
                     {"$arg9", expr(model::ArgumentBase{9}), type(TypeKind::Hex, 8)}}),
            R"(program entry fixed 48
v0 = reg di
v1 = reg r9
v2 = reg sp
v3 = load u8 v2+8
v4 = load u8 v2+24
store int8 v0 @16
store int8 v1 @24
store int8 v3 @32
store int8 v4 @40
)");
}

TEST(Lower, DereferencesAreInnermostFirstAndShared) {
  EXPECT_EQ(lowered({{"+8(+16(%di)):s16", expr(kDi, {16, 8}), type(TypeKind::Signed, 2)},
                     {"-4(+16(%di)):x32", expr(kDi, {16, -4}), type(TypeKind::Hex, 4)},
                     {"+0(\\4096):u64", expr(model::ImmediateBase{4096}, {0}), type(TypeKind::Unsigned, 8)}}),
            R"(program entry fixed 30
v0 = reg di
v1 = load u8 v0+16
v2 = load u2 v1+8
v3 = narrow s2 v2
v4 = load u4 v1-4
v5 = imm 4096
v6 = load u8 v5+0
store int2 v3 @16
store int4 v4 @18
store int8 v6 @22
)");
}

TEST(Lower, MemoryBasesAreDereferencesOfTheirOwn) {
  EXPECT_EQ(lowered({{"@4096:u8", expr(model::MemoryBase{4096}), type(TypeKind::Unsigned, 1)},
                     {"@jiffies-4:u32", expr(model::SymbolBase{"jiffies", -4}), type(TypeKind::Unsigned, 4)},
                     {"+8(@jiffies-4):u32", expr(model::SymbolBase{"jiffies", -4}, {8}), type(TypeKind::Unsigned, 4)},
                     {"@+512:string", expr(model::FileOffsetBase{512}), kStringType}}),
            R"(program entry fixed 29
slot 0 = symbol "jiffies"-4
slot 1 = file "/bin/a"+512
v0 = imm 4096
v1 = load u1 v0+0
v2 = slot 0
v3 = load u4 v2+0
v4 = load u8 v2+0
v5 = load u4 v4+8
v6 = slot 1
v7 = string v6+0
store int1 v1 @16
store int4 v3 @17
store int4 v5 @21
store string v7 @25
)");
}

TEST(Lower, Texts) {
  EXPECT_EQ(lowered({{"+8(+0(%di)):string", expr(kDi, {0, 8}), kStringType},
                     {"\\4096:string", expr(model::ImmediateBase{4096}), kStringType},
                     {"+8(%di):ustring", expr(kDi, {8}), type(TypeKind::UserString, 4)},
                     {"$comm", expr(model::CommBase{}), kStringType},
                     {"\\\"hi\"", expr(model::ImmediateStringBase{"hi"}), kStringType},
                     {"%di:symstr", expr(kDi), type(TypeKind::SymbolString, 4)},
                     {"+0(%di):symstr", expr(kDi, {0}), type(TypeKind::SymbolString, 4)}}),
            R"(program entry fixed 44
text 0 = "hi"
v0 = reg di
v1 = load u8 v0+0
v2 = string v1+8
v3 = imm 4096
v4 = string v3+0
v5 = string v0+8 user
v6 = comm
v7 = text 0
v8 = symbol_text v0
v9 = symbol_text v1
store string v2 @16
store string v4 @20
store string v5 @24
store string v6 @28
store string v7 @32
store string v8 @36
store string v9 @40
)");
}

TEST(Lower, BitfieldsAndConstants) {
  EXPECT_EQ(lowered({{"%di:b4@2/8", expr(kDi), bitfield(4, 2, 1)},
                     {"+1(%di):b5@3/16", expr(kDi, {1}), bitfield(5, 3, 2)},
                     {"\\-1:s8", expr(model::ImmediateBase{~std::uint64_t{0}}), type(TypeKind::Signed, 1)},
                     {"\\-1:u16", expr(model::ImmediateBase{~std::uint64_t{0}}), type(TypeKind::Unsigned, 2)}}),
            R"(program entry fixed 22
v0 = reg di
v1 = bits 2:4 v0
v2 = load u2 v0+1
v3 = bits 3:5 v2
v4 = imm -1
v5 = imm 65535
store int1 v1 @16
store int2 v3 @17
store int1 v4 @19
store int2 v5 @20
)");
}

TEST(Lower, Arrays) {
  EXPECT_EQ(lowered({{"+8(%di):u8[16]", expr(kDi, {8}), type(TypeKind::Unsigned, 1, 16)},
                     {"+0(%di):b3@1/16[5]", expr(kDi, {0}), bitfield(3, 1, 2, 5)},
                     {"+8(+0(%di)):string[3]", expr(kDi, {0, 8}), type(TypeKind::String, 4, 3)},
                     {"@4096:s32[3]", expr(model::MemoryBase{4096}), type(TypeKind::Signed, 4, 3)}}),
            R"(program entry fixed 66
v0 = reg di
v1 = load u8 v0+0
v2 = imm 4096
store int1[16] v0+8 @16
store int2[5] v0+0 bits 1:3 @32
store string[3] v1+8 @42
store int4[3] v2+0 @54
)");
}

TEST(Lower, ArraysThatFiltersSeeAsOneIntegerAreSpelledOut) {
  EXPECT_EQ(lowered({{"+8(%di):s16[2]", expr(kDi, {8}), type(TypeKind::Signed, 2, 2)},
                     {"+0(%di):b3@1/8[2]", expr(kDi, {0}), bitfield(3, 1, 1, 2)},
                     {"+0(%di):string[1]", expr(kDi, {0}), type(TypeKind::String, 4, 1)}}),
            R"(program entry fixed 26
v0 = reg di
v1 = load u2 v0+8
v2 = load u2 v0+10
v3 = load u1 v0+0
v4 = bits 1:3 v3
v5 = load u1 v0+1
v6 = bits 1:3 v5
store int2 v1 @16
store int2 v2 @18
store int1 v4 @20
store int1 v6 @21
store string[1] v0+0 @22
)");
}

model::FetchExpr user(model::FetchExpr expr) {
  expr.dereferences.back().space = model::AddressSpace::User;
  return expr;
}

TEST(Lower, UserMemoryIsReadAsSuch) {
  EXPECT_EQ(lowered({{"+u8(+0(%di)):string", user(expr(kDi, {0, 8})), kStringType},
                     {"+u8(%di):u32", user(expr(kDi, {8})), type(TypeKind::Unsigned, 4)},
                     {"+u8(%di):u8[16]", user(expr(kDi, {8})), type(TypeKind::Unsigned, 1, 16)},
                     {"+u8(%di):string[2]", user(expr(kDi, {8})), type(TypeKind::String, 4, 2)},
                     {"+8(%di):ustring[2]", expr(kDi, {8}), type(TypeKind::UserString, 4, 2)}}),
            R"(program entry fixed 56
v0 = reg di
v1 = load u8 v0+0
v2 = string v1+8 user
v3 = load u4 v0+8 user
store string v2 @16
store int4 v3 @20
store int1[16] v0+8 user @24
store string[2] v0+8 user @40
store ustring[2] v0+8 @48
)");
}

TEST(Lower, EqualArgumentsShareTheirValues) {
  EXPECT_EQ(lowered({{"+0(%di):string", expr(kDi, {0}), kStringType}, {"+0(%di):string", expr(kDi, {0}), kStringType}}),
            R"(program entry fixed 24
v0 = reg di
v1 = string v0+0
store string v1 @16
store string v1 @20
)");
}

TEST(Lower, WhatCannotBeLowered) {
  model::Definition definition;
  EXPECT_TRUE(lowerable(definition));
  definition.args.resize(1);
  EXPECT_TRUE(lowerable(definition));
  definition.args[0].expr.base = model::VariableBase{"file"};
  EXPECT_FALSE(lowerable(definition));
  definition.args[0].expr.base = model::EventFieldBase{"dfd"};
  EXPECT_FALSE(lowerable(definition));
  definition.args.clear();
  definition.kind = model::EventKind::Synthetic;
  EXPECT_FALSE(lowerable(definition));
}

}  // namespace
}  // namespace kevt::lower

#include "compiler/pipeline/source_line.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <memory>

#include "compiler/pipeline/all_members.h"
#include "compiler/pipeline/variable_path.h"
#include "compiler/target/fixed_target.h"

namespace kevt::pipeline {
namespace {

using target::Member;
using target::TypeClass;
using target::TypeId;
using target::TypeTable;
using target::VariableLocation;
using Base = VariableLocation::Base;
using testing::HasSubstr;

VariableLocation in_register(const char* name) { return {.base = Base::Register, .reg = name, .is_value = true}; }
VariableLocation at(const char* name, std::int64_t offset) {
  return {.base = Base::Register, .reg = name, .offset = offset};
}

class VariablePath : public testing::Test {
 protected:
  VariablePath() {
    int_ = types_.add({.kind = TypeClass::Integer, .is_signed = true, .bytes = 4, .name = types_.add_name("int")});
    char_ = types_.add(
        {.kind = TypeClass::Integer, .is_signed = true, .is_text = true, .bytes = 1, .name = types_.add_name("char")});
    text_ = types_.add({.kind = TypeClass::Pointer, .target = char_});
    double_ = types_.add({.kind = TypeClass::Float, .bytes = 8, .name = types_.add_name("double")});
    items_ = types_.add({.kind = TypeClass::Array, .target = int_, .count = 3});
    letters_ = types_.add({.kind = TypeClass::Array, .target = char_, .count = 8});
    const std::vector<Member> members = {
        {.name = types_.add_name("id"), .type = int_, .bit_offset = 0},
        {.name = types_.add_name("label"), .type = text_, .bit_offset = 64},
        {.name = types_.add_name("items"), .type = items_, .bit_offset = 128},
        {.name = types_.add_name("letters"), .type = letters_, .bit_offset = 224},
        {.name = types_.add_name("flag"), .type = int_, .bit_offset = 292, .bit_size = 3},
    };
    shape_ = types_.add({.kind = TypeClass::Struct,
                         .bytes = 48,
                         .count = static_cast<std::uint32_t>(members.size()),
                         .first = types_.add_members(members),
                         .name = types_.add_name("shape")});
    shape_pointer_ = types_.add({.kind = TypeClass::Pointer, .target = shape_});
    shape_reference_ = types_.add({.kind = TypeClass::Pointer, .is_reference = true, .target = shape_});
  }

  // "OPERAND:TYPE", or "! WHY".
  std::string fetch(TypeId type, VariableLocation location, const char* path, const char* written = "") {
    target::LinePlace place{.address = 0x1000};
    place.variables.push_back({.name = "v", .type = type, .location = std::move(location)});
    auto made = fetch_of_path(path, written, place, types_);
    return made ? made->operand + made->type : "! " + made.error();
  }

  // "NAME NAME…", or "! WHY".
  std::string members(TypeId type, const char* path) {
    target::LinePlace place{.address = 0x1000};
    place.variables.push_back({.name = "v", .type = type, .location = in_register("di")});
    const auto found = members_at_path(path, place, types_);
    if (!found) return "! " + found.error();
    std::string text;
    for (const std::string& name : *found) text += (text.empty() ? "" : " ") + name;
    return text;
  }

  TypeTable types_;
  TypeId int_, char_, text_, double_, items_, letters_, shape_, shape_pointer_, shape_reference_;
};

TEST_F(VariablePath, AVariableIsReadWhereItIs) {
  EXPECT_EQ(fetch(int_, in_register("bx"), "v"), "%bx:s32");
  EXPECT_EQ(fetch(int_, at("sp", 12), "v"), "+12(%sp):s32");
  EXPECT_EQ(fetch(int_, at("bp", -20), "v", ":x8"), "-20(%bp):x8");
  EXPECT_EQ(fetch(double_, in_register("xmm3"), "v"), "%xmm3:f64");
  EXPECT_EQ(fetch(int_, {.base = Base::Constant, .number = ~std::uint64_t{4}, .is_value = true}, "v"), "\\-5:s32");
  EXPECT_EQ(fetch(int_, {.base = Base::Address, .number = 0x3010}, "v"), "+8208(%ip):s32");
  EXPECT_EQ(fetch(int_, {.base = Base::Register, .reg = "bx", .reads = {8}, .offset = 4}, "v"), "+4(+8(%bx)):s32");
}

TEST_F(VariablePath, AllMembersAreThoseOfTheStructureItEndsIn) {
  EXPECT_EQ(members(shape_pointer_, "v->"), "id label items letters flag");
  EXPECT_EQ(members(shape_, "v."), "id label items letters flag");
  EXPECT_EQ(members(shape_reference_, "v."), "id label items letters flag");
  EXPECT_EQ(members(shape_, "v->"), "! it is a `struct shape`, no pointer: write `.*`");
  EXPECT_EQ(members(shape_pointer_, "v."), "! it is a `struct shape *`: write `->*`");
  EXPECT_EQ(members(text_, "v->"), "! it is a `char`, no structure");
  EXPECT_THAT(members(shape_, "w."), HasSubstr("there is no variable `w`"));
}

TEST(AllMembers, AWordOfTheirFormHasNeitherNameNorType) {
  EXPECT_EQ(path_of_all_members("s->*"), "s->");
  EXPECT_EQ(path_of_all_members("s->at.*"), "s->at.");
  EXPECT_EQ(path_of_all_members("$retval->*"), "$retval->");
  for (const char* other : {"s->w", "*", "->*", "+0(s->*)", "n=s->*", "s->*:u8", "%di->*"})
    EXPECT_FALSE(path_of_all_members(other)) << other;
  for (const char* misused : {"n=s->*", "s->*:u8", "n=s.*:u8"})
    EXPECT_THAT(all_members_misuse(misused), HasSubstr("several")) << misused;
  for (const char* fine : {"s->*", "n=s->w", "s->w:u8"}) EXPECT_EQ(all_members_misuse(fine), "") << fine;
}

TEST_F(VariablePath, AnArrowReadsAndADotAdds) {
  EXPECT_EQ(fetch(shape_pointer_, in_register("di"), "v->id"), "+0(%di):s32");
  EXPECT_EQ(fetch(shape_pointer_, at("sp", 8), "v->label"), "+8(+8(%sp)):x64");
  EXPECT_EQ(fetch(shape_pointer_, at("sp", 8), "v->label", ":string"), "+0(+8(+8(%sp))):string");
  EXPECT_EQ(fetch(shape_, at("sp", 8), "v.items[2]"), "+32(%sp):s32");
  EXPECT_EQ(fetch(shape_, at("sp", 8), "v.items"), "+24(%sp):s32[3]");
  EXPECT_EQ(fetch(shape_, at("sp", 8), "v.letters"), "+36(%sp):string");
  EXPECT_EQ(fetch(shape_pointer_, in_register("di"), "v[2].id"), "+96(%di):s32");
  EXPECT_EQ(fetch(shape_reference_, in_register("di"), "v.id"), "+0(%di):s32");
  EXPECT_EQ(fetch(shape_, {.base = Base::Address, .number = 0x3010}, "v.id"), "+8208(%ip):s32");
  EXPECT_EQ(fetch(shape_pointer_, {.base = Base::Address, .number = 0x3010}, "v->id"), "+0(+8208(%ip)):s32");
  EXPECT_EQ(fetch(shape_, at("sp", 0), "v.flag"), "+36(%sp):b3@4/32");
}

TEST_F(VariablePath, APointerThatIsASumCanBeFollowed) {
  const VariableLocation sum{.base = Base::Register, .reg = "bx", .offset = 16, .is_value = true};
  EXPECT_EQ(fetch(shape_pointer_, sum, "v->label"), "+24(%bx):x64");
  EXPECT_EQ(fetch(shape_pointer_, sum, "v"), "! it is a sum of a register and a number, which no argument can say");
}

TEST_F(VariablePath, PiecesAreFoundByTheirPlaceInTheWhole) {
  VariableLocation first = in_register("dx"), second = at("sp", 40);
  first.bytes = second.bytes = 8;
  const VariableLocation pieces{.base = Base::Pieces, .pieces = {first, second}};
  EXPECT_EQ(fetch(shape_, pieces, "v.id"), "%dx:s32");
  EXPECT_EQ(fetch(shape_, pieces, "v.label", ":string"), "+0(+40(%sp)):string");
  EXPECT_EQ(fetch(shape_, pieces, "v.items[0]"), "! it is kept in several pieces");
}

TEST_F(VariablePath, WhatCannotBeReadSaysWhy) {
  EXPECT_EQ(fetch(int_, {.why = "it is optimized out there"}, "v"), "! it is optimized out there");
  EXPECT_THAT(fetch(shape_pointer_, in_register("di"), "v.id"), HasSubstr("write `->id`"));
  EXPECT_THAT(fetch(shape_, at("sp", 0), "v->id"), HasSubstr("write `.id`"));
  EXPECT_THAT(fetch(shape_, at("sp", 0), "v"), HasSubstr("name one of its members; it has `id`, `label`"));
  EXPECT_THAT(fetch(shape_, at("sp", 0), "v.ids"), HasSubstr("has no member `ids`"));
  EXPECT_THAT(fetch(int_, at("sp", 0), "v->id"), HasSubstr("no pointer"));
  EXPECT_THAT(fetch(int_, at("sp", 0), "v[1]"), HasSubstr("no array"));
  EXPECT_THAT(fetch(items_, at("sp", 0), "v[3]"), HasSubstr("it has 3 items"));
  EXPECT_THAT(fetch(items_, at("sp", 0), "v[x]"), HasSubstr("an item has a number"));
  EXPECT_THAT(fetch(int_, at("sp", 0), "v", ":string"), HasSubstr("no text"));
  EXPECT_THAT(fetch(int_, at("sp", 0), "v", ":enum"), HasSubstr("not an enumeration"));
  EXPECT_THAT(fetch(int_, at("sp", 0), "v+1"), HasSubstr("is no member"));
  EXPECT_THAT(fetch(int_, at("sp", 0), "w"), HasSubstr("there is no variable `w`"));
  EXPECT_THAT(fetch(int_, at("xmm1", 0), "v"), HasSubstr("vector register"));
}

TEST(LineName, IsAFileASourceAndANumber) {
  const auto name = line_name("app:src/shapes.c:42");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->file, "app");
  EXPECT_EQ(name->source, "src/shapes.c");
  EXPECT_EQ(name->line, 42u);
  EXPECT_EQ(line_name("app:ns::Class::method:3")->source, "ns::Class::method");
  for (const char* other : {"app:provider:name", "/bin/app:0x12", "/bin/app:12", "app:main", "vfs_read", ":a:1",
                            "app::1", "app:a:1x", "app:a:99999999999", "app:a:"})
    EXPECT_FALSE(line_name(other)) << other;
}

// A target with one line, which has two places.
target::FixedTargetEnv target_with_a_line() {
  auto types = std::make_shared<TypeTable>();
  const TypeId number =
      types->add({.kind = TypeClass::Integer, .is_signed = true, .bytes = 4, .name = types->add_name("int")});
  target::LinePlaces line{.types = types, .places = {}};
  for (const bool is_copy : {false, true}) {
    target::LinePlace place{.path = "/bin/app",
                            .offset = is_copy ? 0x40u : 0x20u,
                            .address = is_copy ? 0x1040u : 0x1020u,
                            .function = "f",
                            .inlined_into = is_copy ? "main" : ""};
    place.variables = {
        {.name = "n", .type = number, .is_parameter = true, .location = is_copy ? at("sp", 8) : in_register("di")},
        {.name = "gone",
         .type = number,
         .location = is_copy ? VariableLocation{.why = "it is optimized out there"} : in_register("bx")}};
    line.places.push_back(std::move(place));
  }
  target::FixedTargetEnv target;
  for (const char* source : {"f.c", "src/f-g.c"}) target.add_line(source, 42, line);
  return target;
}

std::string expanded(const char* line) {
  const target::FixedTargetEnv target = target_with_a_line();
  const auto lines = expand_line(line, target);
  if (!lines) return "! " + lines.error().detail;
  if (!*lines) return "stays";
  std::string all;
  for (const std::string& one : **lines) all += (all.empty() ? "" : "\n") + one;
  return all;
}

TEST(ExpandLine, EachPlaceHasItsOwnArguments) {
  EXPECT_EQ(expanded("p:e app:f.c:42 n %ax low=n:u8 t=+8(n):string(n)"),
            "p:e /bin/app:0x20 n=%di:s32 %ax low=%di:u8 t=+8(%di):string(%di:s32)\n"
            "p:e /bin/app:0x40 n=+8(%sp):s32 %ax low=+8(%sp):u8 t=+8(+8(%sp)):string(+8(%sp):s32)");
}

TEST(ExpandLine, AnEventWithoutANameIsCalledByItsLine) {
  EXPECT_THAT(expanded("p app:src/f-g.c:42"), HasSubstr("p:f_g_c_L42 /bin/app:0x20"));
  EXPECT_EQ(nameless_line("p app:src/f-g.c:42")->event, "f_g_c_L42");
  EXPECT_FALSE(nameless_line("p:e app:f.c:42"));
}

TEST(ExpandLine, AllVariablesAreThoseThatEveryPlaceHas) {
  EXPECT_EQ(expanded("p:e app:f.c:42 $vars"), "p:e /bin/app:0x20 n=%di:s32\np:e /bin/app:0x40 n=+8(%sp):s32");
  EXPECT_EQ(expanded("p:e app:f.c:42 $params"), expanded("p:e app:f.c:42 $vars"));
}

TEST(ExpandLine, MistakesNameThePlace) {
  EXPECT_THAT(expanded("p:e app:f.c:42 gone"), HasSubstr("f.c:42 (`f`, inlined into `main`, 0x1040): it is optimized"));
  EXPECT_THAT(expanded("p:e app:f.c:42 gome"), HasSubstr("there is no variable `gome`; near it: `gone`"));
  EXPECT_THAT(expanded("p:e app:f.c:42 m"), HasSubstr("there is no variable `m`; there are `n`, `gone`"));
  EXPECT_THAT(expanded("r:e app:f.c:42"), HasSubstr("`p` probes it"));
  EXPECT_EQ(expanded("p:e app:f"), "stays");
}

}  // namespace
}  // namespace kevt::pipeline

#include "compiler/ir/shape.h"

#include <gtest/gtest.h>

#include "compiler/ir/text.h"

namespace kevt::ir {
namespace {

Program loading(const std::string& body) {
  auto parsed = parse("program entry fixed 24\n" + body + "\nstore int8 v1 @16\nsink 0\n");
  EXPECT_TRUE(parsed.has_value()) << body;
  return parsed.value_or(Program{});
}
Program load_at(const std::string& offset) { return loading("v0 = reg di\nv1 = load u8 v0" + offset); }

TEST(Shape, IsTheSameForOtherOffsetsOfOneSign) {
  EXPECT_EQ(shape_of(load_at("+8")), shape_of(load_at("+24")));
  EXPECT_EQ(shape_of(load_at("-8")), shape_of(load_at("-1")));
  EXPECT_NE(shape_of(load_at("+8")), shape_of(load_at("-8")));
  EXPECT_NE(shape_of(load_at("+8")), shape_of(load_at("+0")));
}

TEST(Shape, HoldsWhatIsNoConstant) {
  EXPECT_NE(shape_of(load_at("+8")), shape_of(loading("v0 = reg si\nv1 = load u8 v0+8")));
  EXPECT_NE(shape_of(load_at("+8")), shape_of(loading("v0 = reg di\nv1 = load u4 v0+8")));
}

TEST(Shape, LargeOffsetsBelongToIt) {
  EXPECT_NE(shape_of(load_at("+1073741824")), shape_of(load_at("+1073741825")));
  EXPECT_TRUE(exchangeable_constants(load_at("+1073741824")).empty());
  EXPECT_EQ(exchangeable_constants(load_at("+1073741823")).size(), 1u);
}

TEST(Shape, ConstantsAreNamedByWhereTheyStand) {
  auto array = parse("program entry fixed 24\nv0 = imm 7\nv1 = reg si\nstore int2[4] v1-6 @16\nsink 0\n");
  ASSERT_TRUE(array.has_value()) << array.error().message();
  const auto constants = exchangeable_constants(*array);
  ASSERT_EQ(constants.size(), 2u);
  EXPECT_EQ(constants[0].position, value_position(0));
  EXPECT_EQ(constants[0].word, 7);
  EXPECT_EQ(constants[1].position, store_position(*array, 0));
  EXPECT_EQ(constants[1].word, -6);
}

TEST(Shape, WhatIsAddedToANumberIsNoConstant) {
  const auto constants = [](const std::string& value) {
    auto array = parse("program entry fixed 24\nv0 = reg di\n" + value + "\nstore int2[4] v2+6 @16\nsink 0\n");
    EXPECT_TRUE(array.has_value()) << value;
    return array ? exchangeable_constants(*array).size() : 99;
  };
  EXPECT_EQ(constants("v1 = load u4 v0+0\nv2 = bits 8:5 v1"), 1u);
  EXPECT_EQ(constants("v1 = load u4 v0+0\nv2 = bits 32:5 v1"), 0u) << "always 0";
  EXPECT_EQ(constants("v1 = narrow u2 v0\nv2 = bits 16:5 v1"), 0u);
  EXPECT_EQ(constants("v1 = return_address\nv2 = bits 4:5 v1"), 0u) << "an entry has none";
  EXPECT_EQ(constants("v1 = imm 70000\nv2 = narrow u2 v1"), 0u);
}

}  // namespace
}  // namespace kevt::ir

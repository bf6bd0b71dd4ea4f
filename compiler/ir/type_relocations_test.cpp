#include "compiler/ir/type_relocations.h"

#include <gmock/gmock.h>

#include "compiler/ir/text.h"

namespace kevt::ir {
namespace {

using model::BpfContext;
using testing::ElementsAre;

Program program(const std::string& body, const std::string& head = "entry") {
  auto parsed = parse("program " + head + " fixed " + (head == "entry" ? "24" : "32") + "\n" + body + "\nsink 0\n");
  EXPECT_TRUE(parsed.has_value()) << body;
  return parsed.value_or(Program{});
}
std::string shape(const std::string& body, BpfContext context = BpfContext::Kprobe) {
  return layout_shape(program(body), context);
}
std::vector<std::int64_t> words(const Program& program, BpfContext context = BpfContext::Kprobe) {
  std::vector<std::int64_t> all;
  for (const TypeRelocation& number : type_relocations(program, context)) all.push_back(number.word);
  return all;
}
std::string member(const std::string& reg, const std::string& offset, const std::string& bits) {
  return "v0 = reg " + reg + "\nv1 = load u4 v0" + offset + "\nv2 = bits " + bits + " v1\nstore int8 v2 @16";
}

TEST(TypeRelocations, AreOpenWhateverTheyAre) {
  EXPECT_EQ(shape(member("di", "+0", "0:1")), shape(member("r9", "-80", "31:33")));
  EXPECT_THAT(words(program(member("si", "+20", "3:2"))), ElementsAre(104, 20, 3, 0b11));
  EXPECT_THAT(words(program(member("si", "+0", "0:64"))), ElementsAre(104, 0, 0, -1));
}

TEST(TypeRelocations, LeaveOutHowMuchIsReadAndHowItIsStored) {
  EXPECT_NE(shape(member("di", "+8", "0:1")),
            shape("v0 = reg di\nv1 = load u8 v0+8\nv2 = bits 0:1 v1\nstore int8 v2 @16"));
  EXPECT_NE(shape("v0 = reg di\nv1 = load u4 v0+8\nv2 = narrow s4 v1\nstore int8 v2 @16"),
            shape("v0 = reg di\nv1 = load u4 v0+8\nv2 = narrow u4 v1\nstore int8 v2 @16"));
}

TEST(TypeRelocations, RegistersThatHoldNoArgumentBelongToTheShape) {
  EXPECT_NE(shape(member("di", "+8", "0:1")), shape(member("r15", "+8", "0:1")));
  EXPECT_NE(shape(member("sp", "+8", "0:1")), shape(member("r15", "+8", "0:1")));
  EXPECT_THAT(words(program(member("sp", "+8", "0:1"))), ElementsAre(8, 0, 1));
  EXPECT_EQ(shape(member("r15", "+8", "0:1"), BpfContext::RawTracepoint),
            shape(member("r14", "+8", "0:1"), BpfContext::RawTracepoint));
}

TEST(TypeRelocations, ArraysHaveTheirOffsetBehindTheValues) {
  const Program array = program("v0 = reg di\nstore int2[4] v0-6 @16");
  const auto numbers = type_relocations(array, BpfContext::Kprobe);
  ASSERT_EQ(numbers.size(), 2u);
  EXPECT_EQ(numbers[1].position, 1u);
  EXPECT_EQ(numbers[1].word, -6);
  EXPECT_EQ(shape("v0 = reg di\nstore int2[4] v0-6 @16"), shape("v0 = reg dx\nstore int2[4] v0+0 @16"));
}

TEST(TypeRelocations, ArgumentsOfTheEntryAreCountedAmongThemselves) {
  const Program two = program("v0 = entry_arg 5\nv1 = entry_arg 2\nv2 = load u8 v0+8\nstore int8 v2 @24", "return");
  EXPECT_THAT(words(two), ElementsAre(1, 0, 8));
}

TEST(TypeRelocations, NoProgramPrintsAsAShape) {
  const std::string body = member("di", "+0", "0:1");
  EXPECT_NE(shape(body), print(program(body)));
  EXPECT_FALSE(parse(shape(body)).has_value());
}

}  // namespace
}  // namespace kevt::ir

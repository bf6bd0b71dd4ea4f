#include "compiler/target/types/debug_types.h"

#include <gmock/gmock.h>

#include "compiler/target/process/process_env.h"
#include "compiler/target/types/source_lines.h"

namespace kevt::target {
namespace {

using testing::HasSubstr;

ProcessEnv env_of(const char* path) {
  auto env = ProcessEnv::of_files({path}, {});
  EXPECT_TRUE(env) << env.error().message();
  return std::move(*env);
}

std::uint32_t number_of(const FunctionTypes& function, std::string_view name) {
  for (const Member& parameter : function.table->members(function.table->type(function.prototype)))
    if (function.table->name(parameter.name) == name) return parameter.bit_offset;
  return 99;
}

// The vector register's, from 1.
std::uint32_t vector_of(const FunctionTypes& function, std::string_view name) {
  for (const Member& parameter : function.table->members(function.table->type(function.prototype)))
    if (function.table->name(parameter.name) == name) return parameter.bit_size;
  return 99;
}

TEST(DebugTypes, TellWhichArgumentHoldsAParameter) {
  const ProcessEnv env = env_of(KEVT_TYPED_FUNCTIONS);
  const auto work = env.function_types({}, "typed_work");
  ASSERT_TRUE(work) << work.error().why;
  EXPECT_EQ(
      work->table->prototype_text(work->prototype, "typed_work"),
      "long int typed_work(double factor, struct outer *o, unsigned char k, const char *text, float y, long int l)");
  EXPECT_EQ(number_of(*work, "factor"), 0u);
  EXPECT_EQ(vector_of(*work, "factor"), 1u);
  EXPECT_EQ(vector_of(*work, "y"), 2u);
  EXPECT_EQ(number_of(*work, "o"), 1u);
  EXPECT_EQ(number_of(*work, "k"), 2u);
  EXPECT_EQ(number_of(*work, "text"), 3u);
  EXPECT_EQ(number_of(*work, "l"), 4u);
}

TEST(DebugTypes, ASmallStructureOfIntegersHasRegistersOfItsOwn) {
  const ProcessEnv env = env_of(KEVT_TYPED_FUNCTIONS);
  const auto pair = env.function_types({}, "typed_pair");
  ASSERT_TRUE(pair) << pair.error().why;
  EXPECT_EQ(number_of(*pair, "before"), 1u);
  EXPECT_EQ(number_of(*pair, "p"), 2u);
  EXPECT_EQ(number_of(*pair, "after"), 4u);
}

TEST(DebugTypes, NothingIsClaimedBehindAnyOtherStructurePassedByValue) {
  const ProcessEnv env = env_of(KEVT_TYPED_FUNCTIONS);
  for (const char* function : {"typed_mixed", "typed_full"}) {
    const auto types = env.function_types({}, function);
    ASSERT_TRUE(types) << types.error().why;
    EXPECT_EQ(number_of(*types, "m"), function == std::string_view("typed_mixed") ? 0u : 99u);
    EXPECT_EQ(number_of(*types, "p"), function == std::string_view("typed_mixed") ? 99u : 0u);
    EXPECT_EQ(number_of(*types, "after"), 0u);
  }
}

TEST(DebugTypes, TheRestOfAVariadicFunctionIsNoParameter) {
  const ProcessEnv env = env_of(KEVT_TYPED_FUNCTIONS);
  const auto rest = env.function_types({}, "typed_rest");
  ASSERT_TRUE(rest) << rest.error().why;
  EXPECT_EQ(rest->parameters, 1u);
  EXPECT_EQ(rest->table->prototype_text(rest->prototype, "f"), "int f(const char *format, ...)");
}

TEST(DebugTypes, MembersOfAnonymousStructuresAndBitFields) {
  const ProcessEnv env = env_of(KEVT_TYPED_FUNCTIONS);
  const auto work = env.function_types({}, "typed_work");
  ASSERT_TRUE(work);
  const TypeTable& table = *work->table;
  const Member o = table.members(table.type(work->prototype))[1];
  const TypeId outer = table.strip(table.type(table.strip(o.type)).target);
  const auto high = table.find_member(outer, "high");
  ASSERT_TRUE(high);
  EXPECT_EQ(high->bit_offset, 8u * 10);
  const auto in = table.find_member(outer, "in");
  ASSERT_TRUE(in);
  const TypeId inner = table.strip(table.type(table.strip(in->type)).target);
  const auto c = table.find_member(inner, "c");
  ASSERT_TRUE(c);
  EXPECT_EQ(c->bit_offset, 35u);
  EXPECT_EQ(c->bit_size, 7u);
}

TEST(DebugTypes, AFileWithoutThemSaysWhatWouldHelp) {
  const ProcessEnv env = env_of(KEVT_UNTYPED_FUNCTIONS);
  const auto work = env.function_types({}, "typed_work");
  ASSERT_FALSE(work);
  EXPECT_EQ(work.error().failure, TypesFailure::Missing);
  EXPECT_THAT(work.error().why, HasSubstr("-g"));
}

TEST(SourceLines, ComeFromDebugInformation) {
  const ProcessEnv env = env_of(KEVT_TYPED_FUNCTIONS);
  const auto work = env.find_function({}, "typed_work"), rest = env.find_function({}, "typed_rest");
  ASSERT_TRUE(work && rest);
  const auto first = source_line(KEVT_TYPED_FUNCTIONS, ImageAddr{work->address});
  const auto later = source_line(KEVT_TYPED_FUNCTIONS, ImageAddr{rest->address});
  ASSERT_TRUE(first && later);
  EXPECT_THAT(first->file, HasSubstr("typed_functions.c"));
  EXPECT_GT(first->line, 0);
  EXPECT_GT(later->line, first->line);
  EXPECT_FALSE(source_line(KEVT_TYPED_FUNCTIONS, ImageAddr{~0ull}));
  EXPECT_FALSE(source_line(KEVT_UNTYPED_FUNCTIONS, ImageAddr{work->address}));
  EXPECT_FALSE(source_line("/no/such/file", ImageAddr{1}));
}

}  // namespace
}  // namespace kevt::target

#include "compiler/ir/text.h"

#include <gmock/gmock.h>

namespace kevt::ir {
namespace {

using testing::HasSubstr;

constexpr std::string_view kEverything = R"(program return fixed 116
slot 0 = symbol "jiffies"+8
slot 1 = file "/bin/a \"b\"\\\x01\xff"-9223372036854775808
slot 2 = thread_local "turn"-8
text 0 = "none"
v0 = reg di
v1 = imm -3
v2 = slot 1
v3 = load u4 v0+16
v4 = bits 3:5 v3
v5 = narrow s4 v3
v6 = narrow u2 v3
v7 = probe_address
v8 = return_address
v9 = event_id
v10 = pid
v11 = cpu
v12 = string v0-8
v13 = text 0
v14 = comm
v15 = symbol_text v7
v16 = reg orig_ax
v17 = entry_arg 3
v18 = load u8 v0+16 user
v19 = string v0-8 user
v20 = located v3
v21 = xmm 3
v22 = float_order u8 v0
v23 = counted v0-8 of v3
v24 = counted v0+0 user of v22
v25 = byte_swap u2 v3
v26 = stack_number
v27 = thread_local 2
v28 = span_context v27
store int4 v5 @24
store string v12 @28
store int8[4] v0+8 @32
store int2[4] v0+8 bits 3:5 @64
store string[5] v0+0 @72
store int2[4] v0+8 user bits 3:5 @92
store ustring[1] v0+0 @100
store ustring[1] v0+0 user @104
store int4[64] v0-8 of v3 @108
store int8[3] v0+0 user to v10 @112
sink 0
sink 4 when never
sink 2 when (v5 s> -2 and not (v6 u& 4 or v7 u<= 18446744073709551615 or v5 s== 3) and v12 ~ glob "a\"*")
sink 1 when (v14 !~ full "x" or v13 ~ middle "")
sink 3 when not not v15 ~ prefix "\x7f"
)";

TEST(IrText, EveryFormComesBackTheSame) {
  const Result<Program> program = parse(kEverything);
  ASSERT_TRUE(program) << program.error().message();
  EXPECT_EQ(print(*program), kEverything);
  EXPECT_EQ(program->slots[1].name, "/bin/a \"b\"\\\x01\xff");
  EXPECT_EQ(program->sinks[2].condition->children[1].children[0].children[1].constant, ~std::uint64_t{0});
}

TEST(IrText, WordsThatHitsShareComeBackTheSame) {
  constexpr std::string_view kText = R"(program entry fixed 16
slot 0 = word ""+0
slot 1 = word ""+7
v0 = reg di
action 0 := 0 left 1 when v0 u== 5
action 1 := 1
action 0 := 1 late
action 0 := 1 late left 1 when v0 u== 6
gate 0
gate 1 early
gate 1 early while 0
sink 0
)";
  const Result<Program> program = parse(kText);
  ASSERT_TRUE(program) << program.error().message();
  EXPECT_EQ(print(*program), kText);
  EXPECT_EQ(program->actions[0].left, 1u);
  EXPECT_TRUE(program->actions[3].late);
  EXPECT_EQ(program->gates[2], (Gate{.word = 1, .early = true, .early_while = 0}));
  EXPECT_FALSE(parse("program entry fixed 16\nslot 0 = word \"\"+0\naction 0 := 2\nsink 0\n"));
  EXPECT_FALSE(parse("program entry fixed 16\nslot 0 = word \"\"+0\ngate 0 while 0\nsink 0\n"));
}

TEST(IrText, AggregatesComeBackTheSame) {
  constexpr std::string_view kText = R"(program entry fixed 16
slot 0 = hit_table ""+0
slot 1 = hit_table ""+1
v0 = reg di
v1 = string v0+0
aggregate 0 by v0
aggregate 1 by v1, v0 log2 64 sum v0, v0 bucket 10, v0 loglinear, v0 least, v0 sgreatest when v0 u> 5
sink 0
)";
  const Result<Program> program = parse(kText);
  ASSERT_TRUE(program) << program.error().message();
  EXPECT_EQ(print(*program), kText);
  ASSERT_EQ(program->aggregates.size(), 2u);
  EXPECT_EQ(program->aggregates[1].keys[1], (Measured{0, model::HitMeasure::Log2, 64}));
  EXPECT_EQ(key_words(*program, program->aggregates[1]), 3u);
}

TEST(IrText, EveryOpIsInThatText) {
#define KEVT_FETCH_OP(name, text, ...) EXPECT_THAT(std::string(kEverything), HasSubstr(" = " text));
#include "compiler/ir/fetch_op.def"
#undef KEVT_FETCH_OP
}

TEST(IrText, CommentsAndBlankLinesMeanNothing) {
  const Result<Program> program = parse("# a comment\n\nprogram entry fixed 16\n   # more\nsink 0");
  ASSERT_TRUE(program) << program.error().message();
  EXPECT_EQ(print(*program), "program entry fixed 16\nsink 0\n");
  const Result<Program> injecting = parse("program entry fixed 16 injects\nsink 0");
  ASSERT_TRUE(injecting) << injecting.error().message();
  EXPECT_EQ(print(*injecting), "program entry fixed 16 injects\nsink 0\n");
  const Result<Program> with_stack = parse("program entry fixed 16 stack\nsink 0");
  ASSERT_TRUE(with_stack) << with_stack.error().message();
  EXPECT_TRUE(with_stack->takes_stack);
  EXPECT_EQ(print(*with_stack), "program entry fixed 16 stack\nsink 0\n");
  EXPECT_FALSE(*with_stack == *parse("program entry fixed 16\nsink 0"));
  EXPECT_NE(*injecting, *program);
}

std::string problem(std::string_view text) {
  const Result<Program> program = parse(text);
  return program ? "parsed" : program.error().message();
}

TEST(IrText, ProblemsNameTheirLine) {
  EXPECT_EQ(problem(""), "line 1: `program` expected");
  EXPECT_THAT(problem("v0 = pid"), HasSubstr("line 1: `program` expected"));
  EXPECT_THAT(problem("program middle fixed 16"), HasSubstr("`entry`, `return` or `record`"));
  EXPECT_THAT(problem("program entry fixed 16\nv1 = pid"), HasSubstr("line 2: number 1 where 0 comes next"));
  EXPECT_THAT(problem("program entry fixed 16\nv0 = pidx"), HasSubstr("line 2: an op expected at `pidx`"));
  EXPECT_THAT(problem("program entry fixed 16\nv0 = reg eax"), HasSubstr("a register expected"));
  EXPECT_THAT(problem("program entry fixed 16\nv0 = pid 3"), HasSubstr("nothing more expected at `3`"));
  EXPECT_THAT(problem("program entry fixed 16\nv0 = imm 9223372036854775808"), HasSubstr("a number up to"));
  EXPECT_THAT(problem("program entry fixed 16\ntext 0 = \"a"), HasSubstr("not closed"));
  EXPECT_THAT(problem("program entry fixed 16\ntext 0 = \"\\n\""), HasSubstr("escape"));
  EXPECT_THAT(problem("program entry fixed 16\nsink 0 when (never)"), HasSubstr("`and` expected"));
  EXPECT_THAT(problem("program entry fixed 16\nv0 = pid\nv1 = load u3 v0+0"), HasSubstr("v1: 3 bytes"));
}

TEST(IrText, NestingIsBounded) {
  std::string text = "program entry fixed 16\nsink 0 when ";
  for (int i = 0; i < 100000; ++i) text += "(";
  EXPECT_THAT(problem(text), HasSubstr("nests deeper than 4112"));
}

}  // namespace
}  // namespace kevt::ir

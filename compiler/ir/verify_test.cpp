#include "compiler/ir/verify.h"

#include <gmock/gmock.h>

namespace kevt::ir {
namespace {

using testing::HasSubstr;
using testing::Optional;

// v0 = reg di, v1 = string v0+0, stored as int4 and string, one sink.
Program good() {
  Program program;
  program.values = {{.op = Op::Register, .imm = 112}, {.op = Op::String, .a = 0}};
  program.stores = {{.kind = StoreKind::Integer, .value = 0, .offset = 16, .bytes = 4},
                    {.kind = StoreKind::Text, .value = 1, .offset = 20, .bytes = 4}};
  program.sinks = {{.instance = 0, .condition = std::nullopt}};
  program.fixed_size = 24;
  return program;
}

Program with_value(Value value) {
  Program program = good();
  program.values.push_back(value);
  return program;
}

Program with_store(Store store) {
  Program program = good();
  program.stores = {store};
  program.fixed_size = 16 + store.bytes * store.count;
  return program;
}

Program with_condition(Condition condition) {
  Program program = good();
  program.sinks[0].condition = std::move(condition);
  return program;
}

TEST(Verify, AcceptsAGoodProgram) { EXPECT_EQ(verify(good()), std::nullopt); }

TEST(Verify, Values) {
  const auto broken = [](Value value) { return verify(with_value(value)); };
  EXPECT_THAT(broken({.op = Op::Register, .imm = 4}), Optional(HasSubstr("v2: no register lies at byte 4")));
  EXPECT_THAT(broken({.op = Op::Register, .imm = 168}), Optional(HasSubstr("no register")));
  EXPECT_THAT(broken({.op = Op::Register, .imm = -8}), Optional(HasSubstr("no register")));
  EXPECT_THAT(broken({.op = Op::Slot, .imm = 0}), Optional(HasSubstr("slot 0 of 0")));
  EXPECT_THAT(broken({.op = Op::ImmediateText, .imm = -1}), Optional(HasSubstr("text -1 of 0")));
  EXPECT_THAT(broken({.op = Op::Load, .a = 0, .bytes = 3}), Optional(HasSubstr("3 bytes")));
  EXPECT_THAT(broken({.op = Op::Load, .a = 2, .bytes = 8}), Optional(HasSubstr("v2 is not defined")));
  EXPECT_THAT(broken({.op = Op::Load, .a = 1, .bytes = 8}), Optional(HasSubstr("v1 is a text")));
  EXPECT_THAT(broken({.op = Op::Bits, .a = 0, .shift = 60, .width = 5}), Optional(HasSubstr("not inside 64")));
  EXPECT_THAT(broken({.op = Op::Bits, .a = 0, .width = 0}), Optional(HasSubstr("not inside 64")));
  EXPECT_THAT(broken({.op = Op::Narrow, .a = 0, .bytes = 0}), Optional(HasSubstr("0 bytes")));
  EXPECT_THAT(broken({.op = Op::Pid, .imm = 1}), Optional(HasSubstr("`pid` has a member set")));
  EXPECT_THAT(broken({.op = Op::Immediate, .a = 1}), Optional(HasSubstr("member set")));
  EXPECT_THAT(broken({.op = Op::Load, .a = 0, .bytes = 8, .is_signed = true}), Optional(HasSubstr("member set")));
  EXPECT_EQ(broken({.op = Op::Bits, .a = 0, .shift = 0, .width = 64}), std::nullopt);
  EXPECT_EQ(broken({.op = Op::Register, .imm = 160}), std::nullopt);
}

TEST(Verify, ArgumentsOfTheEntry) {
  Program program = good();
  program.values.push_back({.op = Op::EntryArgument, .imm = 1});
  EXPECT_THAT(verify(program), Optional(HasSubstr("only return programs")));
  program.probe_kind = model::ProbeKind::Return;
  program.stores.clear();
  program.fixed_size = 24;
  EXPECT_EQ(verify(program), std::nullopt);
  program.values.back().imm = 0;
  EXPECT_THAT(verify(program), Optional(HasSubstr("there is no argument 0")));
  program.values.back().imm = 65536;
  EXPECT_THAT(verify(program), Optional(HasSubstr("there is no argument 65536")));
  program.values.pop_back();
  for (std::int64_t n = 15; n > 0; --n) program.values.push_back({.op = Op::EntryArgument, .imm = n});
  program.values.push_back({.op = Op::EntryArgument, .imm = 3});
  EXPECT_EQ(verify(program), std::nullopt);
  EXPECT_THAT(entry_arguments(program), testing::ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  program.values.push_back({.op = Op::EntryArgument, .imm = 16});
  EXPECT_THAT(verify(program), Optional(HasSubstr("more than 15")));
}

TEST(Verify, Stores) {
  const auto broken = [](Store store) { return verify(with_store(store)); };
  EXPECT_THAT(broken({.value = 9, .offset = 16}), Optional(HasSubstr("store 0: v9 does not exist")));
  EXPECT_THAT(broken({.value = 1, .offset = 16}), Optional(HasSubstr("v1 is a text")));
  EXPECT_THAT(broken({.kind = StoreKind::Text, .value = 0, .offset = 16, .bytes = 4}), Optional(HasSubstr("integer")));
  EXPECT_THAT(broken({.kind = StoreKind::Text, .value = 1, .offset = 16}), Optional(HasSubstr("items of 8 bytes")));
  EXPECT_THAT(broken({.value = 0, .offset = 16, .bytes = 5}), Optional(HasSubstr("items of 5 bytes")));
  EXPECT_THAT(broken({.value = 0, .offset = 8}), Optional(HasSubstr("lies at 8, the bytes before it end at 16")));
  EXPECT_THAT(broken({.value = 0, .offset = 24}), Optional(HasSubstr("lies at 24")));
  EXPECT_THAT(broken({.value = 0, .offset = 16, .count = 2}), Optional(HasSubstr("no array")));
  EXPECT_THAT(broken({.value = 0, .offset = 16, .width = 2}), Optional(HasSubstr("without use")));
  Store array{.kind = StoreKind::IntegerArray, .value = 0, .offset = 16, .bytes = 2, .count = 64};
  EXPECT_EQ(broken(array), std::nullopt);
  array.count = 65;
  EXPECT_THAT(broken(array), Optional(HasSubstr("65 items")));
  array.count = 0;
  EXPECT_THAT(broken(array), Optional(HasSubstr("0 items")));
  array.count = 1;
  array.shift = 12;
  EXPECT_THAT(broken(array), Optional(HasSubstr("without use")));
  array.width = 5;
  EXPECT_THAT(broken(array), Optional(HasSubstr("not inside 2 bytes")));
  array.width = 4;
  EXPECT_EQ(broken(array), std::nullopt);
  array.length_is_end = true;
  EXPECT_THAT(broken(array), Optional(HasSubstr("length is set without use")));
}

TEST(Verify, CountedArrays) {
  const auto broken = [](Store store) { return verify(with_store(store)); };
  Store list{.kind = StoreKind::CountedArray, .value = 0, .offset = 16, .bytes = 4, .count = 64};
  Program program = with_store(list);
  program.fixed_size = 20;  // the word
  EXPECT_EQ(verify(program), std::nullopt);
  list.length = 1;
  EXPECT_THAT(broken(list), Optional(HasSubstr("v1 is a text")));
  list.length = 0;
  list.width = 3;
  EXPECT_THAT(broken(list), Optional(HasSubstr("shift or width is set without use")));
  list.width = 0;
  list.bytes = 3;
  EXPECT_THAT(broken(list), Optional(HasSubstr("items of 3 bytes")));
}

TEST(Verify, StoresFillTheFixedPart) {
  Program program = good();
  program.fixed_size = 25;
  EXPECT_THAT(verify(program), Optional(HasSubstr("fixed size 25: the stores end at 24")));
  program = good();
  program.probe_kind = model::ProbeKind::Return;
  EXPECT_THAT(verify(program), Optional(HasSubstr("end at 24")));
  program = good();
  program.stores.assign(8, {.kind = StoreKind::IntegerArray, .value = 0, .offset = 16, .bytes = 8, .count = 64});
  for (std::uint32_t i = 0; i < 8; ++i) program.stores[i].offset = 16 + i * 512;
  EXPECT_THAT(verify(program), Optional(HasSubstr("ends over 4076")));
}

TEST(Verify, Conditions) {
  const auto broken = [](Condition condition) { return verify(with_condition(std::move(condition))); };
  Condition compare;
  compare.kind = ConditionKind::Compare;
  EXPECT_EQ(broken(compare), std::nullopt);
  Condition bad = compare;
  bad.value = 1;
  EXPECT_THAT(broken(bad), Optional(HasSubstr("sink 0: v1 is a text")));
  bad = compare;
  bad.op = model::CompareOp::Glob;
  EXPECT_THAT(broken(bad), Optional(HasSubstr("glob")));
  bad = compare;
  bad.text = "x";
  EXPECT_THAT(broken(bad), Optional(HasSubstr("member set")));
  Condition match;
  match.kind = ConditionKind::MatchText;
  EXPECT_THAT(broken(match), Optional(HasSubstr("v0 is an integer")));
  match.value = 1;
  EXPECT_EQ(broken(match), std::nullopt);
  match.text = std::string("a\0b", 3);
  EXPECT_THAT(broken(match), Optional(HasSubstr("NUL")));
  Condition tree;
  tree.kind = ConditionKind::And;
  tree.children = {compare};
  EXPECT_THAT(broken(tree), Optional(HasSubstr("fewer than two")));
  tree.kind = ConditionKind::Not;
  EXPECT_EQ(broken(tree), std::nullopt);
  tree.children = {compare, compare};
  EXPECT_THAT(broken(tree), Optional(HasSubstr("one condition")));
  tree.kind = ConditionKind::Or;
  tree.children[1].value = 7;
  EXPECT_THAT(broken(tree), Optional(HasSubstr("v7 does not exist")));
}

TEST(Verify, ConditionDepthIsBounded) {
  Condition deep;
  for (std::uint32_t i = 1; i < kMaxConditionDepth; ++i) {
    Condition outer;
    outer.kind = ConditionKind::Not;
    outer.children.push_back(std::move(deep));
    deep = std::move(outer);
  }
  EXPECT_EQ(verify(with_condition(deep)), std::nullopt);
  Condition outer;
  outer.kind = ConditionKind::Not;
  outer.children.push_back(std::move(deep));
  EXPECT_THAT(verify(with_condition(outer)), Optional(HasSubstr("deeper")));
}

TEST(Verify, Aggregates) {
  const auto broken = [](auto change) {
    Program program = good();
    program.slots = {{.kind = model::SlotKind::HitTable, .name = "", .addend = 0},
                     {.kind = model::SlotKind::SymbolAddress, .name = "x", .addend = 0}};
    program.sinks = {{.instance = 0, .condition = std::nullopt}};
    program.aggregates = {{.table = 0, .keys = {{.value = 0}}, .sums = {{.value = 0}}, .condition = std::nullopt}};
    change(program);
    return verify(program);
  };
  using P = Program&;
  EXPECT_EQ(broken([](P) {}), std::nullopt);
  EXPECT_EQ(broken([](P p) { p.aggregates[0].keys[0].value = 1; }), std::nullopt);  // a text
  EXPECT_THAT(broken([](P p) { p.aggregates[0].sums[0].value = 1; }), Optional(HasSubstr("v1 is a text")));
  EXPECT_THAT(broken([](P p) { p.aggregates[0].table = 1; }), Optional(HasSubstr("slot 1 is no table")));
  EXPECT_THAT(broken([](P p) { p.aggregates[0].table = 2; }), Optional(HasSubstr("slot 2 of 2")));
  EXPECT_THAT(broken([](P p) { p.aggregates[0].keys.clear(); }), Optional(HasSubstr("it has no key")));
  EXPECT_THAT(broken([](P p) { p.aggregates[0].keys[0].parameter = 1; }), Optional(HasSubstr("without use")));
  EXPECT_THAT(broken([](P p) { p.aggregates[0].keys[0].measure = model::HitMeasure::Bucket; }),
              Optional(HasSubstr("width 0")));
  EXPECT_EQ(broken([](P p) { p.aggregates[0].sums[0].kept = model::Kept::SignedLeast; }), std::nullopt);
  EXPECT_THAT(broken([](P p) { p.aggregates[0].keys[0].kept = model::Kept::Least; }), Optional(HasSubstr("a key is")));
  EXPECT_THAT(broken([](P p) {
                p.aggregates[0].sums[0].kept = model::Kept::Least;
                p.aggregates[0].sums[0].measure = model::HitMeasure::LogLinear;
              }),
              Optional(HasSubstr("of plain numbers")));
  EXPECT_THAT(broken([](P p) { p.aggregates[0].sums.resize(KEVT_HIT_SLOT_WORDS - 1); }),
              Optional(HasSubstr("more than 64 words")));
  EXPECT_THAT(broken([](P p) { p.aggregates.push_back(p.aggregates[0]); }), Optional(HasSubstr("another's")));
  EXPECT_THAT(broken([](P p) { p.sinks[0].condition = Condition{}; }), Optional(HasSubstr("without condition")));
  EXPECT_THAT(broken([](P p) { p.sinks.push_back({.instance = 1, .condition = std::nullopt}); }),
              Optional(HasSubstr("one sink")));
  EXPECT_THAT(broken([](P p) { p.injects = true; }), Optional(HasSubstr("without actions, gates and injection")));
}

TEST(Verify, ActionsAndGates) {
  Program program = good();
  program.slots = {{.kind = model::SlotKind::SharedCell, .name = "", .addend = 511},
                   {.kind = model::SlotKind::SymbolAddress, .name = "x", .addend = 0}};
  program.actions = {{.condition = Condition{}, .word = 0, .on = true, .left = 0}};
  program.gates = {{.word = 0}, {.word = 0, .early = true, .early_while = 0}};
  EXPECT_EQ(verify(program), std::nullopt);
  program.gates = {{.word = 0, .early = true, .early_while = 1}};
  EXPECT_THAT(verify(program), Optional(HasSubstr("gate: slot 1 is no word")));
  program.gates = {{.word = 0, .early_while = 0}};
  EXPECT_THAT(verify(program), Optional(HasSubstr("gate: `while` is for one that is early")));
  program.gates = {{.word = 1}};
  EXPECT_THAT(verify(program), Optional(HasSubstr("gate: slot 1 is no word")));
  program.gates = {{.word = 2}};
  EXPECT_THAT(verify(program), Optional(HasSubstr("gate: slot 2 of 2")));
  program.gates.clear();
  program.actions[0].left = 1;
  EXPECT_THAT(verify(program), Optional(HasSubstr("action 0: slot 1 is no word")));
  program.actions[0].left.reset();
  program.actions[0].condition->kind = ConditionKind::And;
  EXPECT_THAT(verify(program), Optional(HasSubstr("action 0: `and`, `or` of fewer")));
  program.actions[0].condition.reset();
  program.slots[0].addend = 512;
  EXPECT_THAT(verify(program), Optional(HasSubstr("word 512 of 512")));
  program.slots[0].addend = 0;
  program.sinks.push_back({.instance = 7, .condition = std::nullopt});
  EXPECT_THAT(verify(program), Optional(HasSubstr("actions and gates take one sink")));
}

TEST(Verify, TextsAndInstances) {
  Program program = good();
  program.texts = {std::string(4096, 'x')};
  EXPECT_THAT(verify(program), Optional(HasSubstr("text 0: 4096 bytes")));
  program = good();
  program.sinks.push_back(program.sinks[0]);
  EXPECT_THAT(verify(program), Optional(HasSubstr("sink 0: occurs twice")));
}

}  // namespace
}  // namespace kevt::ir

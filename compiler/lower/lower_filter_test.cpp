#include <gtest/gtest.h>

#include "compiler/ir/interpreter.h"
#include "compiler/ir/text.h"
#include "compiler/lower/lower.h"

namespace kevt::lower {
namespace {

using model::CompareOp;
using model::FilterExpr;
using model::FilterNode;
using model::FilterOperand;
using model::TypeKind;

// r:e F fd=%di:s32 s=+0(%si):string a=+0(%dx):u8[4] w=+0(%dx):u8[9] x=%di:u8; fields 0 and 1 are addresses.
enum Field : std::uint32_t { kFunc, kRetIp, kFd, kString, kPacked, kWide, kByte };

struct Event {
  model::Definition definition;
  model::RecordLayout layout;

  Event() {
    definition.probe_kind = model::ProbeKind::Return;
    layout.fields = {{.role = model::FieldRole::ProbeFunc, .offset = 8, .size = 8},
                     {.role = model::FieldRole::ProbeRetIp, .offset = 16, .size = 8}};
    layout.fixed_size = 24;
    add("di", {}, {.kind = TypeKind::Signed, .bytes = 4});
    add("si", 0, {.kind = TypeKind::String, .bytes = 4});
    add("dx", 0, {.kind = TypeKind::Unsigned, .bytes = 1, .array_count = 4});
    add("dx", 0, {.kind = TypeKind::Unsigned, .bytes = 1, .array_count = 9});
    add("di", {}, {.kind = TypeKind::Unsigned, .bytes = 1});
  }

  void add(const char* reg, std::optional<std::int64_t> offset, model::TypeSpec type) {
    model::FetchArg arg;
    arg.expr.base = model::RegisterBase{reg};
    if (offset) arg.expr.dereferences = {{.offset = *offset}};
    arg.type = type;
    model::RecordField field{.type = type, .offset = layout.fixed_size};
    field.size = type.bytes * std::max<std::uint32_t>(1, type.array_count);
    field.arg_index = static_cast<std::uint32_t>(definition.args.size());
    layout.fixed_size += field.size;
    layout.fields.push_back(field);
    definition.args.push_back(arg);
  }
};

FilterExpr predicate(model::FilterPredicate bound) {
  FilterExpr expr;
  expr.predicate = std::move(bound);
  return expr;
}

FilterExpr integer(std::uint32_t field, CompareOp op, std::uint64_t value, std::uint8_t bytes, bool is_signed) {
  return predicate({.op = op,
                    .source = FilterOperand::RecordField,
                    .field = field,
                    .is_signed = is_signed,
                    .bytes = bytes,
                    .value = value});
}

FilterExpr text(FilterOperand source, std::uint32_t field, const char* text, model::GlobKind glob, bool negated) {
  return predicate({.op = CompareOp::Glob,
                    .source = source,
                    .field = field,
                    .is_string = true,
                    .text = text,
                    .glob = glob,
                    .negated = negated});
}

FilterExpr common(FilterOperand source, std::uint64_t value, std::uint8_t bytes, bool is_signed) {
  return predicate({.op = CompareOp::Equal, .source = source, .is_signed = is_signed, .bytes = bytes, .value = value});
}

FilterExpr node(FilterNode kind, std::vector<FilterExpr> children) {
  FilterExpr expr;
  expr.node = kind;
  expr.children = std::move(children);
  return expr;
}

// The lines that the filter adds: v0 to v11 are the event's own, see the next test.
std::string filtered(FilterExpr filter) {
  const Event event;
  const std::string all = ir::print(lower_event(event.definition, event.layout, {std::move(filter)}));
  std::string out;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = all.find('\n', at) + 1;
    const std::string line = all.substr(at, end - at);
    const bool added = line.starts_with('v') && std::stoi(line.substr(1)) > 11;
    if (added || line.starts_with("sink")) out += line;
    at = end;
  }
  return out;
}

// The record that an eprobe stands on: a number at 8, a name of 16 bytes at 16, a `const char *` at 32, strings behind
// the fields by words at 40 and, `__rel_loc`, at 44.
AttachedFilter attached(FilterExpr condition) {
  AttachedFilter made;
  made.condition = std::move(condition);
  model::RecordField number{.type = {.kind = TypeKind::Signed, .bytes = 4}, .offset = 8, .size = 4, .is_signed = true};
  model::RecordField name{.type = {.kind = TypeKind::Char, .bytes = 1, .array_count = 16}, .offset = 16, .size = 16};
  model::RecordField pointer{.type = {.bytes = 8, .text = "const char *"}, .offset = 32, .size = 8};
  model::RecordField behind{.type = {.kind = TypeKind::String, .bytes = 4}, .offset = 40, .size = 4};
  model::RecordField relative = behind;
  relative.offset = 44;
  relative.located_from = 48;
  made.layout.fields = {number, name, pointer, behind, relative};
  return made;
}

std::string of_eprobe(FilterExpr condition, std::optional<FilterExpr> own) {
  model::Definition definition;
  definition.kind = model::EventKind::Eprobe;
  definition.probe_kind = model::ProbeKind::Record;
  const AttachedFilter asked = attached(std::move(condition));
  return ir::print(lower_event(definition, {}, {std::move(own)}, {}, &asked));
}

TEST(LowerFilter, WhatAnEprobeIsAskedIsReadInTheRecord) {
  const FilterExpr number = integer(0, CompareOp::Less, 5, 4, true);
  EXPECT_EQ(of_eprobe(number, std::nullopt), R"(program record fixed 8
v0 = probe_address
v1 = load u4 v0+8
v2 = narrow s4 v1
sink 0 when v2 s< 5
)");
  EXPECT_EQ(of_eprobe(text(FilterOperand::RecordField, 1, "a", model::GlobKind::Full, false), std::nullopt),
            R"(program record fixed 8
v0 = probe_address
v1 = string v0+16
sink 0 when v1 ~ full "a"
)");
  EXPECT_EQ(of_eprobe(text(FilterOperand::RecordField, 2, "a", model::GlobKind::Prefix, false),
                      common(FilterOperand::Cpu, 1, 4, true)),
            R"(program record fixed 8
v0 = cpu
v1 = narrow s4 v0
v2 = probe_address
v3 = load u8 v2+32
v4 = string v3+0
sink 0 when (v4 ~ prefix "a" and v1 s== 1)
)");
}

// Where its word says: from the record's start, or from behind the word.
TEST(LowerFilter, AStringBehindTheFieldsIsReadWhereItsWordSays) {
  EXPECT_EQ(of_eprobe(text(FilterOperand::RecordField, 3, "a", model::GlobKind::Full, false), std::nullopt),
            R"(program record fixed 8
v0 = probe_address
v1 = load u4 v0+40
v2 = located v1
v3 = string v2+0
sink 0 when v3 ~ full "a"
)");
  EXPECT_EQ(of_eprobe(text(FilterOperand::RecordField, 4, "a", model::GlobKind::Full, false), std::nullopt),
            R"(program record fixed 8
v0 = probe_address
v1 = load u4 v0+44
v2 = located v1
v3 = string v2+48
sink 0 when v3 ~ full "a"
)");
}

TEST(LowerFilter, TheValuesOfTheEvent) {
  const Event event;
  EXPECT_EQ(ir::print(lower_event(event.definition, event.layout, {std::nullopt, std::nullopt})),
            R"(program return fixed 46
v0 = probe_address
v1 = return_address
v2 = reg di
v3 = narrow s4 v2
v4 = reg si
v5 = string v4+0
v6 = reg dx
v7 = load u1 v6+0
v8 = load u1 v6+1
v9 = load u1 v6+2
v10 = load u1 v6+3
v11 = narrow u1 v2
store int4 v3 @24
store string v5 @28
store int1 v7 @32
store int1 v8 @33
store int1 v9 @34
store int1 v10 @35
store int1[9] v6+0 @36
store int1 v11 @45
sink 0
sink 1
)");
}

TEST(LowerFilter, IntegersCompareTheStoredValue) {
  EXPECT_EQ(filtered(integer(kFd, CompareOp::Greater, 2, 4, true)), "sink 0 when v3 s> 2\n");
  EXPECT_EQ(filtered(integer(kFd, CompareOp::BitAnd, 6, 4, true)), "sink 0 when v3 s& 6\n");
  EXPECT_EQ(filtered(integer(kByte, CompareOp::NotEqual, 7, 1, false)), "sink 0 when v11 u!= 7\n");
}

TEST(LowerFilter, ConstantsAreCutToTheField) {
  EXPECT_EQ(filtered(integer(kByte, CompareOp::Equal, 256, 1, false)), "sink 0 when v11 u== 0\n");
  EXPECT_EQ(filtered(integer(kFd, CompareOp::Equal, 0xffffffff, 4, true)), "sink 0 when v3 s== -1\n");
}

TEST(LowerFilter, Trees) {
  const FilterExpr fd = integer(kFd, CompareOp::Less, 3, 4, true);
  const FilterExpr byte = integer(kByte, CompareOp::GreaterEqual, 9, 1, false);
  EXPECT_EQ(filtered(node(FilterNode::Or, {node(FilterNode::And, {fd, byte}), node(FilterNode::Not, {fd})})),
            "sink 0 when ((v3 s< 3 and v11 u>= 9) or not v3 s< 3)\n");
}

TEST(LowerFilter, Strings) {
  EXPECT_EQ(filtered(text(FilterOperand::RecordField, kString, "/etc/", model::GlobKind::Prefix, true)),
            "sink 0 when v5 !~ prefix \"/etc/\"\n");
  EXPECT_EQ(filtered(text(FilterOperand::Comm, 0, "c?t", model::GlobKind::Glob, false)),
            "v12 = comm\nsink 0 when v12 ~ glob \"c?t\"\n");
}

TEST(LowerFilter, CommonFields) {
  EXPECT_EQ(filtered(common(FilterOperand::CommonType, 5, 2, false)),
            "v12 = event_id\nv13 = narrow u2 v12\nsink 0 when v13 u== 5\n");
  EXPECT_EQ(filtered(common(FilterOperand::CommonPid, 5, 4, true)),
            "v12 = pid\nv13 = narrow s4 v12\nsink 0 when v13 s== 5\n");
  EXPECT_EQ(filtered(common(FilterOperand::CommonFlags, 1, 1, false)), "v12 = imm 0\nsink 0 when v12 u== 1\n");
  EXPECT_EQ(filtered(common(FilterOperand::CommonPreemptCount, 0, 1, false)), "v12 = imm 0\nsink 0 when v12 u== 0\n");
  EXPECT_EQ(filtered(common(FilterOperand::Cpu, 1, 4, false)), "v12 = cpu\nsink 0 when v12 u== 1\n");
  EXPECT_EQ(filtered(integer(kFunc, CompareOp::Equal, 4096, 8, false)), "sink 0 when v0 u== 4096\n");
}

TEST(LowerFilter, WhatCannotBeComparedNeverHolds) {
  EXPECT_EQ(filtered(integer(kFd, CompareOp::Equal, 0, 0, true)), "sink 0 when never\n");
  EXPECT_EQ(filtered(integer(kWide, CompareOp::Equal, 0, 0, false)), "sink 0 when never\n");
  EXPECT_EQ(filtered(integer(kWide, CompareOp::Equal, 0, 8, false)), "sink 0 when never\n");
  EXPECT_EQ(filtered(integer(kPacked, CompareOp::Equal, 0, 8, false)), "sink 0 when never\n");
  EXPECT_EQ(filtered(integer(kString, CompareOp::Equal, 0, 4, false)), "sink 0 when never\n");
  EXPECT_EQ(filtered(text(FilterOperand::RecordField, kFd, "x", model::GlobKind::Full, false)), "sink 0 when never\n");
}

TEST(LowerFilter, SmallArraysCompareAsOneInteger) {
  EXPECT_EQ(filtered(integer(kPacked, CompareOp::Equal, 0x04030201, 4, false)),
            "sink 0 when (v7 u== 1 and v8 u== 2 and v9 u== 3 and v10 u== 4)\n");
  EXPECT_EQ(filtered(integer(kPacked, CompareOp::BitAnd, 0x0100, 4, false)),
            "sink 0 when (v7 u& 0 or v8 u& 1 or v9 u& 0 or v10 u& 0)\n");
}

// "!!!…!a<1" of 4095 bytes.
TEST(LowerFilter, TheDeepestFilterIsStillAProgram) {
  FilterExpr filter = integer(kPacked, CompareOp::Less, 1, 4, false);
  for (int i = 0; i < 4092; ++i) {
    FilterExpr negated = node(FilterNode::Not, {});
    negated.children.push_back(std::move(filter));
    filter = std::move(negated);
  }
  EXPECT_TRUE(filtered(std::move(filter)).ends_with(")\n"));
}

// Memory at 0x1000 is the four bytes of the packed array.
class ArrayMachine final : public ir::Machine {
 public:
  explicit ArrayMachine(std::uint32_t bytes) : bytes_(bytes) { registers.dx = 0x1000; }
  bool read(std::uint64_t address, std::span<std::uint8_t> out) const override {
    for (std::uint8_t& byte : out) {
      if (address < 0x1000 || address >= 0x1004) return false;
      byte = static_cast<std::uint8_t>(bytes_ >> (8 * (address++ - 0x1000)));
    }
    return true;
  }
  std::string symbol_text(std::uint64_t) const override { return ""; }

 private:
  std::uint32_t bytes_;
};

template <class T>
bool expected(CompareOp op, T a, T b) {
  switch (op) {
    case CompareOp::Equal:
      return a == b;
    case CompareOp::NotEqual:
      return a != b;
    case CompareOp::Less:
      return a < b;
    case CompareOp::LessEqual:
      return a <= b;
    case CompareOp::Greater:
      return a > b;
    case CompareOp::GreaterEqual:
      return a >= b;
    case CompareOp::BitAnd:
      return (a & b) != 0;
    case CompareOp::Glob:
      break;
  }
  return false;
}

TEST(LowerFilter, SwitchesShareTheFiltersValues) {
  const Event event;
  model::InlineTriggers switches;
  switches.actions = {{.condition = integer(kFd, CompareOp::Equal, 5, 4, true), .word = 7, .on = false, .left = 9},
                      {.condition = std::nullopt, .word = 7, .on = true, .late = true, .left = std::nullopt}};
  switches.gates = {{.word = 7}, {.word = 3, .early = true, .early_while = 9}};
  const ir::Program program = lower_event(event.definition, event.layout, {std::nullopt}, switches);
  EXPECT_EQ(program.slots.size(), 3u);
  EXPECT_EQ(program.slots[program.actions[0].word].addend, 7);
  EXPECT_EQ(program.slots[*program.actions[0].left].addend, 9);
  EXPECT_EQ(program.actions[1].word, program.actions[0].word);
  EXPECT_FALSE(program.actions[1].left);
  EXPECT_FALSE(program.actions[0].late);
  EXPECT_TRUE(program.actions[1].late);
  ASSERT_EQ(program.gates.size(), 2u);
  EXPECT_EQ(program.gates[0], ir::Gate{.word = program.actions[0].word});
  EXPECT_EQ(program.slots[program.gates[1].word].addend, 3);
  EXPECT_TRUE(program.gates[1].early);
  EXPECT_EQ(program.gates[1].early_while, program.actions[0].left);
  const ir::Program filtered =
      lower_event(event.definition, event.layout, {integer(kFd, CompareOp::Equal, 5, 4, true)});
  EXPECT_EQ(program.values, filtered.values);
  EXPECT_EQ(program.actions[0].condition, filtered.sinks[0].condition);
}

TEST(LowerFilter, SmallArraysOrderLikeThatInteger) {
  const std::uint32_t samples[] = {0,          1,          0x100,      0xff,       0x01020304,
                                   0x01020305, 0x01030304, 0x7fffffff, 0x80000000, 0xffffffff};
  const Event event;
  for (int op = 0; op <= static_cast<int>(CompareOp::BitAnd); ++op)
    for (const bool is_signed : {false, true})
      for (const std::uint32_t b : samples) {
        const auto compare = static_cast<CompareOp>(op);
        const std::uint64_t constant = is_signed ? static_cast<std::uint64_t>(static_cast<std::int32_t>(b)) : b;
        const ir::Program program =
            lower_event(event.definition, event.layout, {integer(kPacked, compare, constant, 4, is_signed)});
        for (const std::uint32_t a : samples) {
          const bool holds = ir::interpret(program, ArrayMachine(a)).outcomes[0] == ir::Outcome::Recorded;
          const bool wanted = is_signed ? expected(compare, static_cast<std::int32_t>(a), static_cast<std::int32_t>(b))
                                        : expected(compare, a, b);
          EXPECT_EQ(holds, wanted) << std::hex << a << " op " << op << ' ' << b << " signed " << is_signed;
        }
      }
}

}  // namespace
}  // namespace kevt::lower

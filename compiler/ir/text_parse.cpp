// IR text back into a Program: the inverse of text_print.cpp, line by line, then verify().
//
// Blank lines and lines that begin with '#' mean nothing. Slots, texts and values carry their number,
// which must be the next one, so that a line moved by hand is noticed.
//
//   v1 = narrow s4 v0   →   values[1] = {Narrow, a 0, bytes 4, signed}
#include <fmt/format.h>

#include <string>

#include "compiler/ir/text.h"
#include "compiler/ir/text_cursor.h"
#include "compiler/ir/text_names.h"
#include "compiler/ir/verify.h"

namespace kevt::ir {

namespace {

constexpr std::string_view kOpWords[] = {
#define KEVT_FETCH_OP(name, text, ...) text,
#include "compiler/ir/fetch_op.def"
#undef KEVT_FETCH_OP
};

ValueId value_id(TextCursor& in) {
  in.expect("v");
  return in.index();
}

// `v2+16`, `v2+16 user`
void read_place(TextCursor& in, ValueId& value, std::int64_t& offset, bool& from_user) {
  value = value_id(in);
  offset = in.signed_number();
  from_user = in.take("user");
}

void read_bits(TextCursor& in, std::uint8_t& shift, std::uint8_t& width) {
  shift = in.small_number();
  in.expect(":");
  width = in.small_number();
}

bool read_sign(TextCursor& in) {
  if (in.take("s")) return true;
  in.expect("u");
  return false;
}

Value read_value(TextCursor& in) {
  Value value{.op = static_cast<Op>(in.choice(kOpWords, "an op"))};
  switch (row_of(value.op).operands) {
    case Operands::None:
      break;
    case Operands::Register:
      value.imm = static_cast<std::int64_t>(8 * in.choice(kRegisterWords, "a register"));
      break;
    case Operands::Number:
      value.imm = in.signed_number();
      break;
    case Operands::Operand:
      value.a = value_id(in);
      break;
    case Operands::Place:
      read_place(in, value.a, value.imm, value.from_user);
      break;
    case Operands::SizedPlace:
      in.expect("u");
      value.bytes = in.small_number();
      read_place(in, value.a, value.imm, value.from_user);
      break;
    case Operands::CountedPlace:
      read_place(in, value.a, value.imm, value.from_user);
      in.expect("of");
      value.b = value_id(in);
      break;
    case Operands::BitRange:
      read_bits(in, value.shift, value.width);
      value.a = value_id(in);
      break;
    case Operands::Width:
      value.is_signed = read_sign(in);
      value.bytes = in.small_number();
      value.a = value_id(in);
      break;
  }
  return value;
}

model::SlotSource read_slot(TextCursor& in) {
  model::SlotSource slot;
  slot.kind = static_cast<model::SlotKind>(in.choice(kSlotWords, "`symbol`, `file`, `thread_local` or `word`"));
  slot.name = in.quoted_text();
  slot.addend = in.signed_number();
  return slot;
}

// `[4] v0+8` behind the item's type, or ` v0` for one item.
void read_source(TextCursor& in, Store& store, StoreKind array_kind) {
  if (!in.take("[")) {
    store.value = value_id(in);
    return;
  }
  store.kind = array_kind;
  store.count = in.index();
  in.expect("]");
  read_place(in, store.value, store.imm, store.from_user);
}

Store read_store(TextCursor& in) {
  Store store;
  store.texts_from_user = in.take("ustring");
  if (store.texts_from_user || in.take("string")) {
    store.kind = StoreKind::Text;
    store.bytes = 4;
    read_source(in, store, StoreKind::TextArray);
  } else {
    in.expect("int");
    store.bytes = in.small_number();
    read_source(in, store, StoreKind::IntegerArray);
    if (in.take("bits")) read_bits(in, store.shift, store.width);
    store.length_is_end = in.take("to");
    if (store.length_is_end || in.take("of")) {
      store.kind = StoreKind::CountedArray;
      store.length = value_id(in);
    }
  }
  in.expect("@");
  store.offset = in.index();
  return store;
}

Condition read_condition(TextCursor& in, std::uint32_t depth);

// `a and b and c)` behind the parenthesis.
Condition read_tree(TextCursor& in, std::uint32_t depth) {
  Condition tree;
  tree.children.push_back(read_condition(in, depth + 1));
  std::string_view word = "and";
  tree.kind = ConditionKind::And;
  if (in.take("or")) {
    tree.kind = ConditionKind::Or;
    word = "or";
  } else {
    in.expect("and");
  }
  do {
    tree.children.push_back(read_condition(in, depth + 1));
  } while (in.take(word));
  in.expect(")");
  return tree;
}

Condition read_match(TextCursor& in, Condition match) {
  match.kind = ConditionKind::MatchText;
  match.glob = static_cast<model::GlobKind>(in.choice(kGlobWords, "`full`, `prefix`, `suffix`, `middle` or `glob`"));
  match.text = in.quoted_text();
  return match;
}

Condition read_predicate(TextCursor& in) {
  Condition predicate;
  predicate.value = value_id(in);
  predicate.negated = in.take("!~");
  if (predicate.negated || in.take("~")) return read_match(in, std::move(predicate));
  predicate.kind = ConditionKind::Compare;
  predicate.is_signed = read_sign(in);
  predicate.op = static_cast<model::CompareOp>(in.choice(kCompareWords, "a comparison"));
  predicate.constant = predicate.is_signed ? static_cast<std::uint64_t>(in.signed_number()) : in.number();
  return predicate;
}

Condition read_condition(TextCursor& in, std::uint32_t depth) {
  if (depth > kMaxConditionDepth) in.fail(fmt::format("nests deeper than {}", kMaxConditionDepth));
  if (in.failed() || in.take("never")) return {};
  if (in.take("(")) return read_tree(in, depth);
  if (!in.take("not ")) return read_predicate(in);
  Condition negation;
  negation.kind = ConditionKind::Not;
  negation.children.push_back(read_condition(in, depth + 1));
  return negation;
}

// `1 := 0 late left 2 when v2 s> 2`
Action read_action(TextCursor& in) {
  static constexpr std::string_view kStates[] = {"0", "1"};
  Action action;
  action.word = in.index();
  in.expect(":=");
  action.on = in.choice(kStates, "`0` or `1`") == 1;
  action.late = in.take("late");
  if (in.take("left")) action.left = in.index();
  if (in.take("when")) action.condition = read_condition(in, 1);
  return action;
}

// `0 early while 2`
Gate read_gate(TextCursor& in) {
  Gate gate;
  gate.word = in.index();
  gate.early = in.take("early");
  if (gate.early && in.take("while")) gate.early_while = in.index();
  return gate;
}

// `v1, v2 log2 0`
std::vector<Measured> read_numbers(TextCursor& in) {
  std::vector<Measured> numbers;
  do {
    Measured one;
    one.value = value_id(in);
    if (in.take("log2"))
      one.measure = model::HitMeasure::Log2;
    else if (in.take("bucket"))
      one.measure = model::HitMeasure::Bucket;
    else if (in.take("loglinear"))
      one.measure = model::HitMeasure::LogLinear;
    if (takes_parameter(one.measure)) one.parameter = in.number();
    for (std::size_t kept = 1; kept < kKeptWords.size(); ++kept)
      if (in.take(kKeptWords[kept])) one.kept = static_cast<model::Kept>(kept);
    numbers.push_back(one);
  } while (in.take(","));
  return numbers;
}

// `1 by v0 sum v1 when v2 s> 2`
Aggregate read_aggregate(TextCursor& in) {
  Aggregate aggregate;
  aggregate.table = in.index();
  in.expect("by");
  aggregate.keys = read_numbers(in);
  if (in.take("sum")) aggregate.sums = read_numbers(in);
  if (in.take("when")) aggregate.condition = read_condition(in, 1);
  return aggregate;
}

InstanceSink read_sink(TextCursor& in) {
  InstanceSink sink;
  sink.instance = in.index();
  if (in.take("when")) sink.condition = read_condition(in, 1);
  return sink;
}

void expect_next(TextCursor& in, std::size_t next) {
  const std::uint32_t index = in.index();
  if (index != next) in.fail(fmt::format("number {} where {} comes next", index, next));
  in.expect("=");
}

void read_header(TextCursor& in, Program& program) {
  static constexpr std::string_view kPoints[] = {"entry", "return", "record"};
  in.expect("program");
  program.probe_kind = static_cast<model::ProbeKind>(in.choice(kPoints, "`entry`, `return` or `record`"));
  in.expect("fixed");
  program.fixed_size = in.index();
  program.injects = in.take("injects");
  program.takes_stack = in.take("stack");
}

void read_line(TextCursor& in, Program& program) {
  if (in.take("slot")) {
    expect_next(in, program.slots.size());
    program.slots.push_back(read_slot(in));
  } else if (in.take("text")) {
    expect_next(in, program.texts.size());
    program.texts.push_back(in.quoted_text());
  } else if (in.take("store")) {
    program.stores.push_back(read_store(in));
  } else if (in.take("action")) {
    program.actions.push_back(read_action(in));
  } else if (in.take("gate")) {
    program.gates.push_back(read_gate(in));
  } else if (in.take("aggregate")) {
    program.aggregates.push_back(read_aggregate(in));
  } else if (in.take("sink")) {
    program.sinks.push_back(read_sink(in));
  } else {
    in.expect("v");
    expect_next(in, program.values.size());
    program.values.push_back(read_value(in));
  }
}

bool is_comment(std::string_view line) {
  const std::size_t first = line.find_first_not_of(' ');
  return first == std::string_view::npos || line[first] == '#';
}

}  // namespace

Result<Program> parse(std::string_view text) {
  Program program;
  bool header_read = false;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t length = text.find('\n');
    const std::string_view line = text.substr(0, length);
    text.remove_prefix(length == std::string_view::npos ? text.size() : length + 1);
    if (is_comment(line)) continue;
    TextCursor in(line);
    if (header_read)
      read_line(in, program);
    else
      read_header(in, program);
    header_read = true;
    if (!in.failed()) in.expect_end();
    if (in.failed()) return std::unexpected(Error(fmt::format("line {}: {}", number, in.problem())));
  }
  if (!header_read) return std::unexpected(Error("line 1: `program` expected"));
  if (const auto problem = verify(program)) return std::unexpected(Error(*problem));
  return program;
}

}  // namespace kevt::ir

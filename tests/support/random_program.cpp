// Values are drawn one after the other, each on those before it; stores and sinks then draw from all
// of them.
//
// The one subtle rule: which values may be used as addresses. A register, slot, immediate or 8-byte
// load is an address of the arena or one that nothing is mapped at. A number cut from such an address
// could be anything, so only ranges of at most 8 bits (which lie below the first mappable page) are
// addresses, too.
#include "tests/support/random_program.h"

#include <algorithm>
#include <functional>

#include "common/abi/registers.h"
#include "common/assert.h"
#include "tests/support/random_condition.h"

namespace kevt::test {

using ir::Op;
using ir::Store;
using ir::StoreKind;
using ir::Value;
using ir::ValueId;

namespace {

constexpr std::uint8_t kSizes[] = {1, 2, 4, 8};

// Early rows are as likely as late ones; repeats make an op likelier.
const std::vector<Op> kOpsToDraw = {
    Op::Register, Op::Register,    Op::Register,    Op::Immediate,     Op::Slot,          Op::Load,
    Op::Load,     Op::Load,        Op::Load,        Op::Bits,          Op::Narrow,        Op::Narrow,
    Op::String,   Op::String,      Op::String,      Op::ProbeAddress,  Op::EventId,       Op::ReturnAddress,
    Op::Pid,      Op::Cpu,         Op::Comm,        Op::ImmediateText, Op::SymbolText,    Op::EntryArgument,
    Op::Located,  Op::Vector,      Op::FloatOrder,  Op::FloatOrder,    Op::CountedString, Op::CountedString,
    Op::ByteSwap, Op::StackNumber, Op::ThreadLocal, Op::SpanContext};

std::int64_t random_offset(Random& random) {
  switch (below(random, 6)) {
    case 0:
    case 1:
    case 2:
      return 0;
    case 3:
      return 8 * static_cast<std::int64_t>(below(random, 16));
    case 4:
      return static_cast<std::int64_t>(below(random, 32)) - 16;
    default:
      return static_cast<std::int64_t>(below(random, 8193)) - 4096;
  }
}

class Generator {
 public:
  Generator(Random& random, const RandomOptions& options) : random_(random), options_(options) {}

  ir::Program generate() &&;

 private:
  void add_value();
  void add(const Value& value, bool is_address);
  Value with_members(Op op);
  bool possible(Op op) const;
  bool is_address(const Value& value) const;
  void add_store();
  Store random_store(StoreKind kind);
  void add_sink();
  std::optional<ir::Condition> condition();
  void add_switches();
  std::vector<ir::Measured> numbers(std::uint64_t count);
  std::vector<ir::Measured> keys(std::uint64_t count);
  void add_aggregates();
  ir::Gate gate(const std::function<std::uint32_t()>& slot);
  std::uint8_t size() { return kSizes[below(random_, 4)]; }

  Random& random_;
  const RandomOptions& options_;
  ir::Program program_;
  std::vector<ValueId> integers_;
  std::vector<ValueId> addresses_;  // of integers_
  std::vector<ValueId> texts_;
  std::uint32_t fetched_texts_ = 0;
};

bool Generator::possible(Op op) const {
  if (options_.excluded.contains(op)) return false;
  if (op == Op::EntryArgument && program_.probe_kind != model::ProbeKind::Return) return false;
  const bool is_fetched_text = ir::reads_text(op) || op == Op::Comm;
  return !is_fetched_text || fetched_texts_ < options_.max_fetched_texts;
}

bool Generator::is_address(const Value& value) const {
  switch (value.op) {
    case Op::Register:
    case Op::Slot:
    case Op::Immediate:
      return true;
    case Op::Load:
      return value.bytes == 8;
    case Op::Bits:
      return value.width <= 8;
    case Op::Narrow:
      if (value.bytes == 8) return std::ranges::find(addresses_, value.a) != addresses_.end();
      return value.bytes == 1;
    case Op::ProbeAddress:
    case Op::ReturnAddress:
    case Op::EntryArgument:
    case Op::Located:
    case Op::ThreadLocal:
    case Op::SpanContext:
    case Op::Vector:
    case Op::FloatOrder:
    case Op::ByteSwap:
    case Op::EventId:
    case Op::Pid:
    case Op::Cpu:
    case Op::StackNumber:
    case Op::String:
    case Op::CountedString:
    case Op::ImmediateText:
    case Op::Comm:
    case Op::SymbolText:
      return false;
  }
  return false;
}

Value Generator::with_members(Op op) {
  Value value{.op = op};
  switch (op) {
    case Op::Register:
      value.imm = static_cast<std::int64_t>(8 * below(random_, sizeof(kevt_registers) / 8));
      break;
    case Op::Immediate:
      value.imm =
          static_cast<std::int64_t>(one_in(random_, 4) ? below(random_, 256) : pick(random_, options_.addresses));
      break;
    case Op::SpanContext:
      value.a = pick(random_, addresses_);
      break;
    case Op::ThreadLocal:
    case Op::Slot:
      value.imm = static_cast<std::int64_t>(below(random_, program_.slots.size()));
      break;
    case Op::Vector:
      value.imm = static_cast<std::int64_t>(below(random_, ir::kVectorRegisters));
      break;
    case Op::FloatOrder:
      value.a = pick(random_, integers_);
      value.bytes = one_in(random_, 2) ? 8 : 4;
      break;
    case Op::EntryArgument:
      value.imm = static_cast<std::int64_t>(1 + below(random_, 6));
      break;
    case Op::ImmediateText:
      value.imm = static_cast<std::int64_t>(below(random_, program_.texts.size()));
      break;
    case Op::Load:
      value.a = pick(random_, addresses_);
      value.imm = random_offset(random_);
      value.bytes = one_in(random_, 2) ? 8 : size();
      value.from_user = one_in(random_, 4);
      break;
    case Op::Bits:
      value.a = pick(random_, integers_);
      value.shift = static_cast<std::uint8_t>(below(random_, 64));
      value.width = static_cast<std::uint8_t>(1 + below(random_, 64u - value.shift));
      break;
    case Op::Narrow:
    case Op::ByteSwap:
      value.a = pick(random_, integers_);
      value.bytes = size();
      value.is_signed = one_in(random_, 2);
      break;
    case Op::CountedString:
      value.b = pick(random_, integers_);
      [[fallthrough]];
    case Op::String:
      value.a = pick(random_, addresses_);
      value.imm = random_offset(random_);
      value.from_user = one_in(random_, 4);
      break;
    case Op::Located:
    case Op::SymbolText:
      value.a = pick(random_, integers_);
      break;
    case Op::ProbeAddress:
    case Op::ReturnAddress:
    case Op::EventId:
    case Op::Pid:
    case Op::Cpu:
    case Op::StackNumber:
    case Op::Comm:
      break;
  }
  return value;
}

void Generator::add(const Value& value, bool is_address) {
  const auto id = static_cast<ValueId>(program_.values.size());
  program_.values.push_back(value);
  if (ir::reads_text(value.op) || value.op == Op::Comm) ++fetched_texts_;
  if (ir::result_type(value.op) == ir::ResultType::Text) {
    texts_.push_back(id);
    return;
  }
  integers_.push_back(id);
  if (is_address) addresses_.push_back(id);
}

void Generator::add_value() {
  Op op = pick(random_, kOpsToDraw);
  if (!possible(op)) op = Op::Immediate;
  const Value value = with_members(op);
  add(value, is_address(value));
}

Store Generator::random_store(StoreKind kind) {
  Store store{.kind = kind, .offset = program_.fixed_size};
  switch (kind) {
    case StoreKind::Integer:
      store.value = pick(random_, integers_);
      store.bytes = size();
      break;
    case StoreKind::Text:
      store.value = pick(random_, texts_);
      store.bytes = 4;
      break;
    case StoreKind::IntegerArray:
      store.bytes = size();
      if (one_in(random_, 3)) {
        store.shift = static_cast<std::uint8_t>(below(random_, 8u * store.bytes));
        store.width = static_cast<std::uint8_t>(1 + below(random_, 8u * store.bytes - store.shift));
      }
      break;
    case StoreKind::TextArray:
      store.bytes = 4;
      break;
    case StoreKind::CountedArray:
      store.bytes = size();
      store.length_is_end = one_in(random_, 3);
      store.length = pick(random_, store.length_is_end && !one_in(random_, 4) ? addresses_ : integers_);
      break;
  }
  if (ir::is_array(kind)) {
    store.value = pick(random_, addresses_);
    store.imm = random_offset(random_);
    store.from_user = one_in(random_, 4);
    store.texts_from_user = kind == StoreKind::TextArray && one_in(random_, 4);
    store.count = static_cast<std::uint32_t>(1 + below(random_, one_in(random_, 8) ? ir::kMaxArrayCount : 5));
  }
  return store;
}

void Generator::add_store() {
  auto kind = static_cast<StoreKind>(below(random_, 5));
  if (texts_.empty() && kind == StoreKind::Text) kind = StoreKind::Integer;
  if (options_.excluded.contains(Op::String) && kind == StoreKind::TextArray) kind = StoreKind::Integer;
  const Store store = random_store(kind);
  program_.stores.push_back(store);
  program_.fixed_size += ir::fixed_bytes(store);
}

void Generator::add_sink() {
  ir::InstanceSink sink{.instance = static_cast<std::uint32_t>(program_.sinks.size()), .condition = std::nullopt};
  sink.condition = condition();
  program_.sinks.push_back(std::move(sink));
}

std::optional<ir::Condition> Generator::condition() {
  if (one_in(random_, 4)) return std::nullopt;
  const ConditionOperands operands{.program = program_, .integers = integers_, .texts = texts_, .options = options_};
  return random_condition(random_, operands, options_.max_condition_depth);
}

ir::Gate Generator::gate(const std::function<std::uint32_t()>& slot) {
  ir::Gate gate{.word = slot(), .early = one_in(random_, 2), .early_while = std::nullopt};
  if (gate.early && one_in(random_, 2)) gate.early_while = slot();
  return gate;
}

void Generator::add_switches() {
  const auto first = static_cast<std::uint32_t>(program_.slots.size());
  for (std::uint32_t word = 0; word < kRandomWords; ++word)
    program_.slots.push_back({.kind = model::SlotKind::SharedCell, .name = "", .addend = word});
  const auto slot = [&] { return first + static_cast<std::uint32_t>(below(random_, kRandomWords)); };
  for (std::uint64_t left = below(random_, options_.max_switches + 1); left > 0; --left) {
    ir::Action action{.condition = condition(),
                      .word = slot(),
                      .on = one_in(random_, 2),
                      .late = one_in(random_, 3),
                      .left = std::nullopt};
    if (one_in(random_, 2)) action.left = slot();
    program_.actions.push_back(std::move(action));
  }
  for (std::uint64_t left = below(random_, options_.max_switches + 1); left > 0; --left)
    program_.gates.push_back(gate(slot));
}

std::vector<ir::Measured> Generator::numbers(std::uint64_t count) {
  std::vector<ir::Measured> numbers;
  while (numbers.size() < count) {
    ir::Measured one{.value = pick(random_, integers_)};
    one.measure = static_cast<model::HitMeasure>(below(random_, 4));
    if (one.measure == model::HitMeasure::Log2) one.parameter = one_in(random_, 2) ? 64 : 0;
    if (one.measure == model::HitMeasure::Bucket) one.parameter = 1 + below(random_, 1000);
    numbers.push_back(one);
  }
  return numbers;
}

std::vector<ir::Measured> Generator::keys(std::uint64_t count) {
  std::vector<ir::Measured> keys = numbers(count);
  for (ir::Measured& key : keys) {
    if (texts_.empty() || !one_in(random_, 3)) continue;
    const ir::ValueId text = pick(random_, texts_);
    if (program_.values[text].op != ir::Op::SymbolText) key = {.value = text};
  }
  return keys;
}

void Generator::add_aggregates() {
  program_.sinks.front().condition.reset();
  for (std::uint64_t left = 1 + below(random_, options_.max_aggregates); left > 0; --left) {
    ir::Aggregate aggregate{.table = static_cast<std::uint32_t>(program_.slots.size()),
                            .keys = keys(1 + below(random_, 3)),
                            .sums = numbers(below(random_, 3)),
                            .condition = condition()};
    const auto index = static_cast<std::int64_t>(program_.aggregates.size());
    program_.slots.push_back({.kind = model::SlotKind::HitTable, .name = "", .addend = index});
    program_.aggregates.push_back(std::move(aggregate));
  }
}

ir::Program Generator::generate() && {
  program_.probe_kind = one_in(random_, 3) ? model::ProbeKind::Return : model::ProbeKind::Entry;
  program_.fixed_size = ir::header_size(program_.probe_kind);
  program_.slots = {{model::SlotKind::SymbolAddress, "jiffies", static_cast<std::int64_t>(below(random_, 64)) - 32},
                    {model::SlotKind::FileAddress, "/bin/a \"b\"", 4096}};
  program_.texts = {pick(random_, options_.words), pick(random_, options_.words), "caf\xc3\xa9\n"};
  add({.op = Op::Immediate, .imm = static_cast<std::int64_t>(pick(random_, options_.addresses))}, true);
  for (std::uint64_t left = below(random_, options_.max_values); left > 0; --left) add_value();
  for (std::uint64_t left = below(random_, options_.max_stores + 1); left > 0; --left) add_store();
  for (std::uint64_t left = 1 + below(random_, options_.max_sinks); left > 0; --left) add_sink();
  const bool is_alone = program_.sinks.size() == 1;
  if (options_.max_aggregates > 0 && is_alone && one_in(random_, 4))
    add_aggregates();
  else if (options_.max_switches > 0 && is_alone && one_in(random_, 2))
    add_switches();
  return std::move(program_);
}

}  // namespace

ir::Program random_program(Random& random, const RandomOptions& options) {
  KEVT_ASSERT(!options.addresses.empty() && !options.words.empty());
  return Generator(random, options).generate();
}

}  // namespace kevt::test

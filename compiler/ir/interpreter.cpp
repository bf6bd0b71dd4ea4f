// The reference meaning of fetch IR. One hit: aggregates count it, or actions change the words, each sink's condition
// is asked, the record is built for those that accept, a record that is too long is lost everywhere, and late actions
// are done.
//
// The idea: a table of fetched values, filled on demand. `fetch` keeps a stack of missing values: operands are put on
// top of the values that need them, so there is no recursion.
//
//   sink 0 when v1 s> 2      asks v1, which asks v0; v3 is fetched only if the condition holds
//
// It is slow (a virtual call for each byte of a string) and does no more than fetch_op.def and
// program.h say. Record bytes are those of model/record_layout.h (kernel/trace/trace_probe_tmpl.h, 6.1).
#include "compiler/ir/interpreter.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/assert.h"
#include "compiler/model/comparison.h"
#include "compiler/model/floating.h"
#include "compiler/model/histogram.h"
#include "compiler/model/span_context.h"
#include "compiler/model/thread_local.h"

namespace kevt::ir {

namespace {

// A fetched value: an integer is in `number`, a text in `text`, without its NUL.
struct Fetched {
  bool faulted = false;
  std::uint64_t number = 0;
  std::string text;
};

std::uint64_t low_bytes(std::uint64_t number, unsigned bytes) {
  return bytes >= 8 ? number : number & ((std::uint64_t{1} << (8 * bytes)) - 1);
}

std::uint64_t sign_extend(std::uint64_t number, unsigned bytes) {
  const unsigned unused = 64 - 8 * bytes;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(number << unused) >> unused);
}

std::uint64_t bit_range(std::uint64_t number, unsigned shift, unsigned width) {
  const std::uint64_t shifted = number >> shift;
  return width >= 64 ? shifted : shifted & ((std::uint64_t{1} << width) - 1);
}

// One hit of one program.
class Run {
 public:
  Run(const Program& program, const Machine& machine)
      : program_(program), machine_(machine), fetched_(program.values.size()), words_(machine.words) {}

  RunResult run() &&;

 private:
  const Fetched& fetch(ValueId id);
  Fetched evaluate(const Value& value);
  Fetched load(std::uint64_t address, unsigned bytes);
  std::optional<std::uint64_t> word_at(std::uint64_t address) const;
  std::uint64_t thread_local_address(std::uint64_t word) const;
  Fetched span_context(std::uint64_t pointer) const;
  Fetched string_at(std::uint64_t address, std::uint64_t most = model::kMaxStringBytes) const;

  std::uint64_t& word(std::uint32_t slot) { return words_[index_of_word(slot)]; }
  std::size_t index_of_word(std::uint32_t slot) const { return static_cast<std::size_t>(program_.slots[slot].addend); }
  std::vector<std::uint64_t> measured(const std::vector<Measured>& numbers);
  std::optional<std::vector<std::uint64_t>> key_of(const Aggregate& aggregate);
  std::optional<std::vector<std::optional<Counted>>> count();
  bool is_due(const Action& action) { return !action.condition || holds(*action.condition); }
  void act(const Action& action);
  bool passes(const Gate& gate, const std::vector<std::uint64_t>& before);
  bool passes_gates(const std::vector<std::uint64_t>& before);
  bool holds(const Condition& condition);
  bool compare(const Condition& condition);
  bool match(const Condition& condition);

  void put(std::uint32_t offset, std::uint64_t number, unsigned bytes);
  void put_text(std::uint32_t offset, const Fetched& text);
  void put_header();
  void run_store(const Store& store);
  void store_integers(const Store& store);
  void store_texts(const Store& store);
  void store_counted(const Store& store);

  const Program& program_;
  const Machine& machine_;
  std::vector<std::optional<Fetched>> fetched_;
  std::vector<std::uint64_t> words_;
  std::vector<std::uint8_t> record_;
  std::uint32_t faults_ = 0;
};

Fetched integer(std::uint64_t number) { return {.faulted = false, .number = number, .text = {}}; }
Fetched text(std::string bytes) {
  if (bytes.size() >= model::kMaxStringBytes) bytes.resize(model::kMaxStringBytes - 1);
  return {.faulted = false, .number = 0, .text = std::move(bytes)};
}
Fetched fault() { return {.faulted = true, .number = 0, .text = {}}; }

const Fetched& Run::fetch(ValueId id) {
  std::vector<ValueId> missing = {id};
  while (!fetched_[id]) {
    const ValueId at = missing.back();
    const std::size_t before = missing.size();
    for (const ValueId operand : operands_of(program_.values[at]))
      if (!fetched_[operand]) missing.push_back(operand);
    if (missing.size() > before) continue;
    if (!fetched_[at]) fetched_[at] = evaluate(program_.values[at]);
    missing.pop_back();
  }
  return *fetched_[id];
}

// The operands must have been fetched.
Fetched Run::evaluate(const Value& value) {
  static const Fetched none;
  for (const ValueId operand : operands_of(value))
    if (fetched_[operand]->faulted) return fault();
  const Fetched& a = has_operand(value.op) ? *fetched_[value.a] : none;
  const std::uint64_t address = a.number + static_cast<std::uint64_t>(value.imm);
  switch (value.op) {
    case Op::Register: {
      std::uint64_t word = 0;
      std::memcpy(&word, reinterpret_cast<const char*>(&machine_.registers) + value.imm, sizeof word);
      return integer(word);
    }
    case Op::Vector:
      return integer(machine_.vectors[static_cast<std::size_t>(value.imm)]);
    case Op::Immediate:
      return integer(static_cast<std::uint64_t>(value.imm));
    case Op::Slot:
      return integer(machine_.slots[static_cast<std::size_t>(value.imm)]);
    case Op::ThreadLocal:
      return integer(thread_local_address(machine_.slots[static_cast<std::size_t>(value.imm)]));
    case Op::SpanContext:
      return span_context(a.number);
    case Op::Load:
      return load(address, value.bytes);
    case Op::Bits:
      return integer(bit_range(a.number, value.shift, value.width));
    case Op::Narrow:
      return integer(value.is_signed ? sign_extend(a.number, value.bytes) : low_bytes(a.number, value.bytes));
    case Op::FloatOrder:
      return integer(model::order_of_float(low_bytes(a.number, value.bytes), value.bytes));
    case Op::ByteSwap: {
      const std::uint64_t swapped = std::byteswap(a.number) >> (64 - 8 * value.bytes);
      return integer(value.is_signed ? sign_extend(swapped, value.bytes) : swapped);
    }
    case Op::ProbeAddress:
      return integer(machine_.probe_address);
    case Op::Located:
      return integer(a.number == 0 ? 0 : machine_.probe_address + low_bytes(a.number, 2));
    case Op::ReturnAddress:
      return integer(program_.probe_kind == model::ProbeKind::Return ? machine_.return_address : 0);
    case Op::EntryArgument: {
      const auto index = static_cast<std::size_t>(value.imm - 1);
      return integer(index < machine_.entry_arguments.size() ? machine_.entry_arguments[index] : 0);
    }
    case Op::EventId:
      return integer(machine_.event_id);
    case Op::Pid:
      return integer(machine_.pid);
    case Op::Cpu:
      return integer(machine_.cpu);
    case Op::StackNumber:
      return machine_.stack_number ? integer(machine_.stack_number) : fault();
    case Op::String:
      return string_at(address);
    case Op::CountedString:
      return string_at(address, std::min<std::uint64_t>(fetched_[value.b]->number, model::kMaxStringBytes - 1));
    case Op::ImmediateText:
      return text(program_.texts[static_cast<std::size_t>(value.imm)]);
    case Op::Comm:
      return text(machine_.comm);
    case Op::SymbolText:
      return text(machine_.symbol_text(a.number));
  }
  KEVT_ASSERT(!"verify() knows all ops");
  return fault();
}

std::optional<std::uint64_t> Run::word_at(std::uint64_t address) const {
  std::uint64_t number = 0;
  const bool is_read = machine_.read(address, {reinterpret_cast<std::uint8_t*>(&number), sizeof number});
  return is_read ? std::optional(number) : std::nullopt;
}

std::uint64_t Run::thread_local_address(std::uint64_t word) const {
  if (static_cast<std::int64_t>(word) < 0) return machine_.thread_pointer + word;
  const auto dtv = word_at(machine_.thread_pointer + model::kDtvAt);
  const auto count = dtv ? word_at(*dtv + static_cast<std::uint64_t>(model::kDtvCountAt)) : std::nullopt;
  const std::uint64_t module = word >> 32;
  if (!count || module > *count) return 0;
  const auto block = word_at(*dtv + module * model::kDtvEntryBytes);
  return block && *block != 0 && *block != model::kNoBlock ? *block + (word & UINT32_MAX) : 0;
}

Fetched Run::span_context(std::uint64_t pointer) const {
  const auto record = word_at(pointer);
  std::uint8_t valid = 0;
  if (!record || *record == 0 || !machine_.read(*record + model::kSpanValidAt, {&valid, 1}) || valid != 1)
    return fault();
  return integer(*record);
}

Fetched Run::load(std::uint64_t address, unsigned bytes) {
  std::uint64_t number = 0;
  if (machine_.read(address, {reinterpret_cast<std::uint8_t*>(&number), bytes}))
    return integer(low_bytes(number, bytes));
  ++faults_;
  return fault();
}

Fetched Run::string_at(std::uint64_t address, std::uint64_t most) const {
  std::string bytes;
  for (;;) {
    std::uint8_t byte = 0;
    if (bytes.size() == most) return text(std::move(bytes));
    if (!machine_.read(address + bytes.size(), {&byte, 1})) return fault();
    if (byte == 0 || bytes.size() + 1 == model::kMaxStringBytes) return text(std::move(bytes));
    bytes.push_back(static_cast<char>(byte));
  }
}

bool Run::holds(const Condition& condition) {
  const auto child_holds = [this](const Condition& child) { return holds(child); };
  switch (condition.kind) {
    case ConditionKind::Never:
      return false;
    case ConditionKind::And:
      return std::ranges::all_of(condition.children, child_holds);
    case ConditionKind::Or:
      return std::ranges::any_of(condition.children, child_holds);
    case ConditionKind::Not:
      return !holds(condition.children.front());
    case ConditionKind::Compare:
      return compare(condition);
    case ConditionKind::MatchText:
      return match(condition);
  }
  return false;
}

bool Run::compare(const Condition& condition) {
  const std::uint64_t a = fetch(condition.value).number;
  const std::uint64_t b = condition.constant;
  if (condition.is_signed)
    return model::compare(condition.op, static_cast<std::int64_t>(a), static_cast<std::int64_t>(b));
  return model::compare(condition.op, a, b);
}

bool Run::match(const Condition& condition) {
  return match_text(condition.glob, condition.text, fetch(condition.value).text) != condition.negated;
}

void Run::put(std::uint32_t offset, std::uint64_t number, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) record_[offset + i] = static_cast<std::uint8_t>(number >> (8 * i));
}

void Run::put_text(std::uint32_t offset, const Fetched& text) {
  const std::size_t begin = record_.size();
  if (!text.faulted) {
    record_.insert(record_.end(), text.text.begin(), text.text.end());
    record_.push_back(0);
  }
  const std::uint64_t length = record_.size() - begin;
  put(offset, length << 16 | (begin & 0xffff), 4);
}

void Run::put_header() {
  put(0, machine_.event_id, 2);
  put(2, record_flags(program_), 1);
  put(4, machine_.pid, 4);
  if (program_.probe_kind != model::ProbeKind::Record) put(8, machine_.probe_address, 8);
  if (program_.probe_kind == model::ProbeKind::Return) put(16, machine_.return_address, 8);
}

void Run::store_integers(const Store& store) {
  const Fetched base = fetch(store.value);
  for (std::uint32_t i = 0; i < store.count; ++i) {
    const std::uint64_t address = base.number + static_cast<std::uint64_t>(store.imm) + i * store.bytes;
    std::uint64_t item = base.faulted ? 0 : load(address, store.bytes).number;
    if (store.width > 0) item = bit_range(item, store.shift, store.width);
    put(store.offset + i * store.bytes, item, store.bytes);
  }
}

void Run::store_texts(const Store& store) {
  const Fetched base = fetch(store.value);
  for (std::uint32_t i = 0; i < store.count; ++i) {
    std::uint64_t pointer = 0;
    const std::uint64_t address = base.number + static_cast<std::uint64_t>(store.imm) + 8 * i;
    const bool readable =
        !base.faulted && machine_.read(address, {reinterpret_cast<std::uint8_t*>(&pointer), sizeof pointer});
    put_text(store.offset + 4 * i, readable ? string_at(pointer) : fault());
  }
}

void Run::store_counted(const Store& store) {
  const Fetched base = fetch(store.value), length = fetch(store.length);
  const std::uint64_t first = base.number + static_cast<std::uint64_t>(store.imm);
  const std::uint64_t wanted =
      store.length_is_end ? (std::max(length.number, first) - first) / store.bytes : length.number;
  const bool is_known = !base.faulted && !length.faulted;
  std::vector<std::uint8_t> items(is_known ? std::min<std::uint64_t>(wanted, store.count) * store.bytes : 0);
  if (!items.empty() && !machine_.read(first, items)) {
    ++faults_;
    items.clear();
  }
  put(store.offset, items.size() << 16 | (record_.size() & 0xffff), 4);
  record_.insert(record_.end(), items.begin(), items.end());
}

void Run::run_store(const Store& store) {
  switch (store.kind) {
    case StoreKind::Integer:
      put(store.offset, fetch(store.value).number, store.bytes);
      break;
    case StoreKind::Text:
      put_text(store.offset, fetch(store.value));
      break;
    case StoreKind::IntegerArray:
      store_integers(store);
      break;
    case StoreKind::TextArray:
      store_texts(store);
      break;
    case StoreKind::CountedArray:
      store_counted(store);
      break;
  }
}

void Run::act(const Action& action) {
  if (action.left && static_cast<std::int64_t>(word(*action.left)) <= 0) return;
  const std::uint64_t wanted = action.on ? 1 : 0;
  if (std::exchange(word(action.word), wanted) != wanted && action.left) --word(*action.left);
}

bool Run::passes(const Gate& gate, const std::vector<std::uint64_t>& before) {
  const bool early = gate.early && (!gate.early_while || before[index_of_word(*gate.early_while)] != 0);
  return (early ? before : words_)[index_of_word(gate.word)] != 0;
}

bool Run::passes_gates(const std::vector<std::uint64_t>& before) {
  return std::ranges::all_of(program_.gates, [&](const Gate& gate) { return passes(gate, before); });
}

std::vector<std::uint64_t> Run::measured(const std::vector<Measured>& numbers) {
  std::vector<std::uint64_t> measured;
  for (const Measured& one : numbers) {
    const std::uint64_t value = fetch(one.value).number;
    switch (one.measure) {
      case model::HitMeasure::Itself:
        measured.push_back(value ^ model::encoded_for(one.kept));
        break;
      case model::HitMeasure::Log2:
        measured.push_back(model::log2_of(value, one.parameter));
        break;
      case model::HitMeasure::Bucket:
        measured.push_back(value / one.parameter * one.parameter);
        break;
      case model::HitMeasure::LogLinear:
        measured.push_back(model::log_linear_of(value));
        break;
    }
  }
  return measured;
}

// nullopt: a text of the key is too long, or its stack is not known.
std::optional<std::vector<std::uint64_t>> Run::key_of(const Aggregate& aggregate) {
  std::vector<std::uint64_t> key;
  for (const Measured& one : aggregate.keys) {
    if (program_.values[one.value].op == Op::StackNumber && fetch(one.value).faulted) return std::nullopt;
    if (result_type(program_.values[one.value].op) == ResultType::Integer) {
      key.push_back(measured({one}).front());
      continue;
    }
    const std::string& text = fetch(one.value).text;
    std::uint64_t words[KEVT_HIT_TEXT_WORDS] = {};
    if (text.size() >= sizeof words) return std::nullopt;
    std::memcpy(words, text.data(), text.size());
    key.insert(key.end(), std::begin(words), std::end(words));
  }
  return key;
}

// The count of each aggregate; nullopt: no aggregate counts, and the hit must be recorded.
std::optional<std::vector<std::optional<Counted>>> Run::count() {
  std::vector<std::optional<Counted>> counted;
  for (const Aggregate& aggregate : program_.aggregates) {
    counted.emplace_back();
    if (aggregate.condition && !holds(*aggregate.condition)) continue;
    auto sums = measured(aggregate.sums);
    auto key = key_of(aggregate);
    if (!machine_.has_room || !key) return std::nullopt;
    counted.back() = Counted{*std::move(key), std::move(sums)};
  }
  return counted;
}

RunResult Run::run() && {
  RunResult result;
  const std::vector<std::uint64_t> before = words_;
  std::vector<const Action*> late;
  for (const Action& action : program_.actions) {
    if (!is_due(action)) continue;
    if (action.late) {
      late.push_back(&action);
    } else {
      act(action);
    }
  }
  const bool is_open = passes_gates(before);
  if (!program_.aggregates.empty()) {
    auto counted = count();
    if (counted) {
      const bool any = std::ranges::any_of(*counted, [](const auto& one) { return one.has_value(); });
      result.outcomes.push_back(any ? Outcome::Aggregated : Outcome::Filtered);
      result.counted = *std::move(counted);
      result.faults = faults_;
      result.words = std::move(words_);
      return result;
    }
  }
  for (const InstanceSink& sink : program_.sinks) {
    const bool accepts =
        is_open && (!sink.condition || holds(*sink.condition)) && (!program_.injects || machine_.injects);
    result.outcomes.push_back(accepts ? Outcome::Recorded : Outcome::Filtered);
    if (!accepts) continue;
    record_.assign(program_.fixed_size, 0);
    put_header();
    for (const Store& store : program_.stores) run_store(store);
  }
  if (record_.size() > model::kMaxRecordBytes) {
    std::ranges::replace(result.outcomes, Outcome::Recorded, Outcome::Lost);
    record_.clear();
  }
  for (const Action* action : late) act(*action);
  result.record = std::move(record_);
  result.faults = faults_;
  result.words = std::move(words_);
  return result;
}

}  // namespace

RunResult interpret(const Program& program, const Machine& machine) {
  KEVT_ASSERT(machine.slots.size() >= program.slots.size());
  return Run(program, machine).run();
}

}  // namespace kevt::ir

// A condition is asked of all records of an event before the next one is, so that each loop does one thing: parts that
// few values have (the task, the CPU, the flags, the place) once a value, numbers by arithmetic where their digits
// decide, the others by what they print.
#include "tracefs-compat/record/store/chunk_search.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

namespace kevt::record {
namespace {

using Condition = LineSearch::Condition;
using How = LineSearch::How;
using PartKind = LineSearch::PartKind;

// Of decimal digits: the numbers that are printed with these digits, from the beginning, at the end, or anywhere.
class DigitTest {
 public:
  // nullopt: digits do not decide.
  static std::optional<DigitTest> of(const Condition& condition) {
    constexpr std::size_t kMostDigits = 18;  // ten times that fits
    const std::string& text = condition.text;
    const bool is_number = text.size() <= kMostDigits && text.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number || (text[0] == '0' && text.size() > 1)) return std::nullopt;
    DigitTest test;
    test.how_ = condition.how;
    std::from_chars(text.data(), text.data() + text.size(), test.number_);
    for (std::size_t i = 0; i < text.size(); ++i) test.power_ *= 10;
    return test;
  }
  // `size`: of the number, without its sign.
  bool holds(std::uint64_t size, bool is_negative) const {
    switch (how_) {
      case How::Is:
        return !is_negative && size == number_;
      case How::Begins:
        if (is_negative) return false;
        while (size >= power_) size /= 10;
        return size == number_;
      case How::Ends:
        return (size < power_ ? size : size % power_) == number_;  // a division costs more than all the rest
      case How::Has:
        for (; size >= power_; size /= 10)
          if (size % power_ == number_) return true;
        return size == number_;
    }
    return false;
  }

 private:
  How how_ = How::Is;
  std::uint64_t number_ = 0, power_ = 1;  // 10 to the number of digits
};

bool is_digits(std::string_view text) { return text.find_first_not_of("0123456789") == std::string_view::npos; }

constexpr std::uint32_t kMillion = 1'000'000;

// Which of the million microseconds have the digits, printed by six.
std::vector<bool> micros_with(std::string_view digits) {
  std::vector<bool> has(kMillion);
  char text[6];
  for (std::uint32_t micros = 0; micros < kMillion; ++micros) {
    std::uint32_t left = micros;
    for (std::size_t i = sizeof text; i-- > 0; left /= 10) text[i] = static_cast<char>('0' + left % 10);
    has[micros] = std::string_view(text, sizeof text).contains(digits);
  }
  return has;
}

}  // namespace

// The records of one event in a chunk.
struct ChunkSearch::Group {
  const StoreView& view;
  const StoreChunk& chunk;
  const EventFormat& event;
  const LineSearch::Plan& plan;
  const std::vector<std::uint32_t>& begins;
  std::vector<std::uint16_t>& rows;  // for which all conditions so far hold, or may hold
  RowBits& doubts;                   // those that may

  std::span<const std::uint8_t> bytes(std::uint16_t row) const { return chunk.bytes_from(begins[row], row); }
};

TypedRecord ChunkSearch::record(const Group& group, std::uint16_t row) const {
  const StoreTask& task = group.view.names().tasks[group.chunk.task_of(row)];
  return {.event = &group.event,
          .time_ns = group.chunk.time_ns(row),
          .cpu = group.chunk.cpu_of(row),
          .pid = task.pid,
          .comm = task.comm,
          .bytes = group.bytes(row),
          .instance = task.instance};
}

template <class Ask>
void ChunkSearch::keep_by(Group& group, Ask ask) {
  std::size_t kept = 0;
  for (const std::uint16_t row : group.rows) {
    const Answer answer = ask(row);
    group.rows[kept] = row;
    kept += answer != Answer::No ? 1 : 0;
    if (answer == Answer::Maybe) set_bit(group.doubts, row);
  }
  group.rows.resize(kept);
}

// Of each task, CPU or combination of flags the answer, once.
namespace {

constexpr std::uint8_t kNotAsked = 3;

bool is_none(const std::vector<std::uint8_t>& answers) {
  return std::ranges::all_of(answers, [](std::uint8_t one) { return one == 0; });
}

}  // namespace

void ChunkSearch::keep_by_task(Group& group, const Condition& condition) {
  std::vector<std::uint8_t> answers;
  for (const std::uint32_t id : group.chunk.tasks) {
    const StoreTask& task = group.view.names().tasks[id];
    const TypedRecord one{
        .event = &group.event, .pid = task.pid, .comm = task.comm, .bytes = {}, .instance = task.instance};
    answers.push_back(static_cast<std::uint8_t>(search_.ask(group.plan, condition, one)));
  }
  if (is_none(answers)) return group.rows.clear();
  keep_by(group, [&](std::uint16_t row) { return static_cast<Answer>(answers[group.chunk.task[row]]); });
}

void ChunkSearch::keep_by_cpu(Group& group, const Condition& condition) {
  std::vector<std::uint8_t> answers;
  for (const std::uint32_t cpu : group.chunk.cpus) {
    const TypedRecord one{.event = &group.event, .cpu = cpu, .comm = {}, .bytes = {}};
    answers.push_back(static_cast<std::uint8_t>(search_.ask(group.plan, condition, one)));
  }
  if (is_none(answers)) return group.rows.clear();
  keep_by(group, [&](std::uint16_t row) { return static_cast<Answer>(answers[group.chunk.cpu[row]]); });
}

void ChunkSearch::keep_by_flags(Group& group, const Condition& condition) {
  std::vector<std::uint8_t> answers(1 << 16, kNotAsked);
  keep_by(group, [&](std::uint16_t row) {
    const auto bytes = group.bytes(row);
    const unsigned flags = (bytes.size() > 2 ? bytes[2] : 0u) | (bytes.size() > 3 ? bytes[3] : 0u) << 8;
    std::uint8_t& known = answers[flags];
    if (known == kNotAsked) known = static_cast<std::uint8_t>(search_.ask(group.plan, condition, record(group, row)));
    return static_cast<Answer>(known);
  });
}

// Digits that the time has: in its seconds, which many records share, or in its microseconds. False: it is asked for
// something else.
bool ChunkSearch::keep_by_time(Group& group, const Condition& condition) {
  if (condition.how != LineSearch::How::Has || !is_digits(condition.text)) return false;
  auto known = micros_.find(condition.text);
  if (known == micros_.end()) known = micros_.emplace(condition.text, micros_with(condition.text)).first;
  std::uint64_t second = ~std::uint64_t{0};
  bool has_in_second = false;
  keep_by(group, [&](std::uint16_t row) {
    const std::uint64_t micros = (group.chunk.time_ns(row) + 500) / 1000;  // as the line has it
    if (micros / kMillion != second) {
      second = micros / kMillion;
      has_in_second = std::to_string(second).contains(condition.text);
    }
    const bool has = has_in_second || known->second[micros % kMillion];
    return has ? Answer::Yes : Answer::No;
  });
  return true;
}

void ChunkSearch::keep_by_place(Group& group, const Condition& condition) {
  std::vector<const Symbols*> of_task(group.chunk.tasks.size());
  std::map<std::pair<const Symbols*, std::uint64_t>, Answer> known;
  const Symbols* last_symbols = nullptr;
  std::uint64_t last_address = 0;
  Answer last = Answer::Maybe;
  const Field& field = *condition.part->field;
  const bool is_plain = field.kind == FieldKind::Number && field.item_bytes == sizeof last_address;
  keep_by(group, [&](std::uint16_t row) {
    const Symbols*& symbols = of_task[group.chunk.task[row]];
    if (!symbols) symbols = &lines_.metadata().symbols_of(record(group, row).thread());
    const auto bytes = group.bytes(row);
    std::uint64_t address = 0;
    if (is_plain && bytes.size() >= field.offset + sizeof address)
      std::memcpy(&address, bytes.data() + field.offset, sizeof address);
    else
      address = value_of(field, bytes).number;
    if (symbols == last_symbols && address == last_address) return last;
    const auto [it, is_new] = known.try_emplace({symbols, address}, Answer::Maybe);
    if (is_new) it->second = search_.ask(group.plan, condition, record(group, row));
    last_symbols = symbols;
    last_address = address;
    return last = it->second;
  });
}

// False: its digits do not decide, or it is no plain number of its field.
bool ChunkSearch::keep_by_number(Group& group, const Condition& condition) {
  const Field* const field = condition.part->field;
  const PrintPiece& piece = *condition.part->piece;
  const auto test = field ? DigitTest::of(condition) : std::nullopt;
  if (!test || (piece.conversion != 'd' && piece.conversion != 'u')) return false;
  const std::uint32_t offset = field->offset, size = field->item_bytes;
  const unsigned of_field = 64 - 8 * size, of_piece = 64 - 8 * std::min<unsigned>(piece.bytes, 8);
  const bool is_signed = field->is_signed, shows_sign = piece.conversion == 'd';
  keep_by(group, [&](std::uint16_t row) {
    const auto bytes = group.bytes(row);
    if (bytes.size() < offset + size) return search_.ask(group.plan, condition, record(group, row));
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + offset, size);
    if (is_signed) value = static_cast<std::uint64_t>(static_cast<std::int64_t>(value << of_field) >> of_field);
    if (!shows_sign) return test->holds(value << of_piece >> of_piece, false) ? Answer::Yes : Answer::No;
    const std::int64_t shown = static_cast<std::int64_t>(value << of_piece) >> of_piece;
    const std::uint64_t number = shown < 0 ? 0 - static_cast<std::uint64_t>(shown) : static_cast<std::uint64_t>(shown);
    return test->holds(number, shown < 0) ? Answer::Yes : Answer::No;
  });
  return true;
}

void ChunkSearch::keep(Group& group, const Condition& condition) {
  switch (condition.part->kind) {
    case PartKind::Task:
      return keep_by_task(group, condition);
    case PartKind::Cpu:
      return keep_by_cpu(group, condition);
    case PartKind::Flags:
      return keep_by_flags(group, condition);
    case PartKind::Place:
      return keep_by_place(group, condition);
    case PartKind::Integer:
      if (keep_by_number(group, condition)) return;
      break;
    case PartKind::Time:
      if (keep_by_time(group, condition)) return;
      break;
    case PartKind::String:
    case PartKind::Other:
    case PartKind::Constant:
      break;
  }
  keep_by(group, [&](std::uint16_t row) { return search_.ask(group.plan, condition, record(group, row)); });
}

void ChunkSearch::find_in(Group& group, Found& found) {
  bool has_any = false;
  for (const LineSearch::Alignment& alignment : group.plan.alignments) {
    left_ = rows_;
    if (has_any) std::erase_if(left_, [&](std::uint16_t row) { return has_bit(found.rows, row); });
    doubts_.assign(found.rows.size(), 0);
    for (const Condition& condition : alignment)
      if (!left_.empty()) keep(group, condition);
    for (const std::uint16_t row : left_) set_bit(has_bit(doubts_, row) ? found.unsure : found.rows, row);
    has_any = has_any || !left_.empty();
  }
}

ChunkSearch::Found ChunkSearch::find(const StoreView& view, const StoreChunk& chunk, const RowBits& among,
                                     const std::vector<std::uint8_t>& is_asked) {
  Found found{.rows = no_rows(chunk.rows()), .unsure = no_rows(chunk.rows())};
  begins_.clear();
  constexpr auto kAxis = static_cast<std::size_t>(Axis::Event);
  for (const LaneGroup& lane : chunk.groups[kAxis]) {
    if (lane.id >= is_asked.size() || !is_asked[lane.id]) continue;
    const EventFormat& event = *view.names().events[lane.id];
    const LineSearch::Plan& plan = search_.plan_of(event);
    if (plan.all == Answer::No) continue;
    const auto all = chunk.order[kAxis].subspan(lane.begin, lane.end - lane.begin);
    rows_.assign(all.begin(), all.end());
    if (!among.empty()) std::erase_if(rows_, [&](std::uint16_t row) { return !has_bit(among, row); });
    if (plan.all == Answer::Yes || !plan.is_understood) {
      for (const std::uint16_t row : rows_) set_bit(plan.all == Answer::Yes ? found.rows : found.unsure, row);
      continue;
    }
    if (begins_.empty()) begins_ = chunk.payload_begins();
    Group group{view, chunk, event, plan, begins_, left_, doubts_};
    find_in(group, found);
  }
  for (std::size_t word = 0; word < found.rows.size(); ++word) found.unsure[word] &= ~found.rows[word];
  return found;
}

}  // namespace kevt::record

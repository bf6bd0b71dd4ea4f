// A condition is asked of all records of an event in a block before the next one is, so that each loop does one thing:
// parts that few values have (the task, the CPU, the flags, the place) once a value, times by the ranges that have the
// digits, numbers by arithmetic where their digits decide, the others by what they print.
#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "tracefs-compat/record/store/chunk_search_steps.h"

namespace kevt::record {

using PartKind = LineSearch::PartKind;

ChunkSearch::Answer ChunkSearch::ask(const Rows& rows, const EventSearch& event, const Step& step, const One& one) {
  const StoreTask& task = rows.view.names().tasks[rows.chunk.tasks[one.task]];
  return search_.ask(event.plan, *step.condition,
                     {.event = &event.event,
                      .time_ns = rows.chunk.time_ns(one.row),
                      .cpu = rows.chunk.cpu_of(one.row),
                      .pid = task.pid,
                      .comm = task.comm,
                      .bytes = one.bytes,
                      .instance = task.instance});
}

ChunkSearch::Answer ChunkSearch::ask(const Block& block, const EventSearch& event, const Step& step,
                                     std::uint16_t row) {
  return ask(block.rows, event, step, {row, block.rows.chunk.task[row], block.begins.bytes(row)});
}

// Of each address of each process the answer, once.
ChunkSearch::Answer ChunkSearch::ask_place(const Rows& rows, EventSearch& event, Step& step, const One& one) {
  const Place place{symbols_[one.task], value_of(*step.condition->part->field, one.bytes).number};
  if (step.places.size() >= Step::kMostPlaces) step.places.clear();
  const auto [known, is_new] = step.places.try_emplace(place, Answer::Maybe);
  if (is_new) known->second = ask(rows, event, step, one);
  return known->second;
}

template <class Ask>
void ChunkSearch::keep_by(Ask ask) {
  std::size_t kept = 0;
  for (const std::uint16_t row : left_) {
    const Answer answer = ask(row);
    room_[kept] = row;  // at or before the place it was read from, where that is room_
    kept += answer != Answer::No ? 1 : 0;
    if (answer == Answer::Maybe) set_bit(doubts_, row % kBlockRows);
  }
  left_ = RowList(room_).first(kept);
}

// Those that have such a time are few as a rule: they are looked up among the rows, which ascend. What is found may be
// written over rows that come before it: these are not looked for any more.
void ChunkSearch::keep_by_time(const RowBits& with_time) {
  constexpr std::size_t kLookUp = 16;  // what that costs, in rows
  const std::size_t first = left_.front() / 64u, last = left_.back() / 64u;
  std::size_t count = 0;
  for (std::size_t word = first; word <= last; ++word)
    count += static_cast<std::size_t>(std::popcount(with_time[word]));
  if (count > left_.size() / kLookUp)
    return keep_by([&](std::uint16_t row) { return has_bit(with_time, row) ? Answer::Yes : Answer::No; });
  std::size_t kept = 0;
  for (std::size_t word = first; word <= last; ++word)
    for (std::uint64_t bits = with_time[word]; bits != 0; bits &= bits - 1) {
      const auto row = static_cast<std::uint16_t>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
      const auto place = std::ranges::lower_bound(left_, row);
      if (place != left_.end() && *place == row) room_[kept++] = row;
    }
  left_ = RowList(room_).first(kept);
}

// Of each combination of flags the answer, once.
void ChunkSearch::keep_by_flags(const Block& block, EventSearch& event, Step& step) {
  keep_by([&](std::uint16_t row) {
    const auto bytes = block.begins.bytes(row);
    const unsigned flags = (bytes.size() > 2 ? bytes[2] : 0u) | (bytes.size() > 3 ? bytes[3] : 0u) << 8;
    std::uint8_t& known = step.answers->of[flags];
    if (known == Answers::kNotAsked) known = static_cast<std::uint8_t>(ask(block, event, step, row));
    return static_cast<Answer>(known);
  });
}

void ChunkSearch::keep_by_place(const Block& block, EventSearch& event, Step& step) {
  const Field& field = *step.condition->part->field;
  constexpr std::size_t kBytes = sizeof(Place::second);
  const bool is_plain = field.kind == FieldKind::Number && field.item_bytes == kBytes;
  const std::size_t offset = field.offset, least = is_plain ? offset + kBytes : kMaxStoredBytes + 1;
  const StoreChunk& chunk = block.rows.chunk;
  const auto payload = chunk.payload.data();
  const auto sizes = chunk.size_depth.data(), tasks = chunk.task.data();
  const auto symbols = symbols_.data();
  keep_by([&, last = Place{}, answer = Answer::Maybe](std::uint16_t row) mutable {
    Place place{symbols[tasks[row]], 0};
    if ((sizes[row] & kMaxStoredBytes) >= least) [[likely]]
      std::memcpy(&place.second, payload + block.begins[row] + offset, kBytes);
    else
      place.second = value_of(field, block.begins.bytes(row)).number;
    if (place != last) [[unlikely]] {
      last = place;
      answer = ask_place(block.rows, event, step, {row, tasks[row], block.begins.bytes(row)});
    }
    return answer;
  });
}

template <class Number>
void ChunkSearch::keep_by_number(const Block& block, EventSearch& event, Step& step) {
  const Field& field = *step.condition->part->field;
  const PrintPiece& piece = *step.condition->part->piece;
  const DigitTest test = *step.digits;
  const unsigned of_piece = 64 - 8 * std::min<unsigned>(piece.bytes, 8);
  const bool is_signed = field.is_signed, shows_sign = piece.conversion == 'd';
  const std::size_t offset = field.offset, least = offset + sizeof(Number);
  const auto payload = block.rows.chunk.payload.data();
  const auto sizes = block.rows.chunk.size_depth.data();
  keep_by([&](std::uint16_t row) {
    if ((sizes[row] & kMaxStoredBytes) < least) return ask(block, event, step, row);
    Number stored = 0;
    std::memcpy(&stored, payload + block.begins[row] + offset, sizeof stored);
    const std::int64_t extended = static_cast<std::make_signed_t<Number>>(stored);
    const std::uint64_t value = is_signed ? static_cast<std::uint64_t>(extended) : stored;
    if (!shows_sign) return test.holds(value << of_piece >> of_piece, false) ? Answer::Yes : Answer::No;
    const std::int64_t shown = static_cast<std::int64_t>(value << of_piece) >> of_piece;
    const std::uint64_t number = shown < 0 ? 0 - static_cast<std::uint64_t>(shown) : static_cast<std::uint64_t>(shown);
    return test.holds(number, shown < 0) ? Answer::Yes : Answer::No;
  });
}

void ChunkSearch::keep_by_digits(const Block& block, EventSearch& event, Step& step) {
  switch (step.condition->part->field->item_bytes) {
    case 1:
      return keep_by_number<std::uint8_t>(block, event, step);
    case 2:
      return keep_by_number<std::uint16_t>(block, event, step);
    case 4:
      return keep_by_number<std::uint32_t>(block, event, step);
    default:
      return keep_by_number<std::uint64_t>(block, event, step);
  }
}

void ChunkSearch::keep(const Block& block, EventSearch& event, Step& step) {
  const StoreChunk& chunk = block.rows.chunk;
  if (step.kind() == PartKind::Task)
    return keep_by([&](std::uint16_t row) { return static_cast<Answer>(step.answers->of[chunk.task[row]]); });
  if (step.kind() == PartKind::Cpu)
    return keep_by([&](std::uint16_t row) { return static_cast<Answer>(step.answers->of[chunk.cpu[row]]); });
  if (step.times) return keep_by_time(step.times->rows);
  block.begins.read();
  if (step.kind() == PartKind::Flags) return keep_by_flags(block, event, step);
  if (step.kind() == PartKind::Place) return keep_by_place(block, event, step);
  if (step.digits) return keep_by_digits(block, event, step);
  keep_by([&](std::uint16_t row) { return ask(block, event, step, row); });
}

void ChunkSearch::find_in(const Block& block, EventSearch& event, RowList rows, Found& found) {
  std::size_t hits = 0;
  for (EventSearch::Way& way : event.ways) {
    if (!way.is_possible) continue;
    left_ = rows;
    if (hits > rows.size() / 8)  // there is no need to ask these again
      keep_by([&](std::uint16_t row) { return has_bit(found.rows, row) ? Answer::No : Answer::Yes; });
    std::ranges::fill(doubts_, 0);
    for (Step& step : way.steps)
      if (!step.of_chunk && !left_.empty()) keep(block, event, step);
    for (const std::uint16_t row : left_) set_bit(has_bit(doubts_, row % kBlockRows) ? found.unsure : found.rows, row);
    hits += left_.size();
  }
}

}  // namespace kevt::record

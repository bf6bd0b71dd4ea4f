// A condition is asked of all records of an event in a block before the next one is, so that each loop does one thing:
// parts that few values have (the task, the CPU, the flags, the place) once a value, numbers by arithmetic where their
// digits decide, the others by what they print. Answers about flags and places are kept from chunk to chunk.
#include "tracefs-compat/record/store/chunk_search.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "tracefs-compat/record/store/digit_search.h"

namespace kevt::record {
namespace {

using Condition = LineSearch::Condition;
using How = LineSearch::How;
using PartKind = LineSearch::PartKind;

constexpr std::uint8_t kNotAsked = 3;  // no Answer
constexpr std::size_t kFlagValues = 1 << 16;

}  // namespace

// By task or CPU of the chunk at hand, or by flags: an Answer, or kNotAsked.
struct ChunkSearch::Answers {
  std::vector<std::uint8_t> of;
  std::uint64_t chunk = 0;  // tasks and CPUs: of which one, counted
};

// A condition and what is known of it.
struct ChunkSearch::Step {
  static constexpr std::size_t kMostPlaces = 1 << 16;

  const Condition* condition = nullptr;
  Answers* answers = nullptr;                 // Task, Cpu, Flags
  std::optional<DigitTest> digits = {};       // Integer: that decide
  const std::vector<bool>* micros = nullptr;  // Time: that have the digits
  std::map<Place, Answer> places = {};

  bool is_of_chunk() const { return condition->part->kind == PartKind::Task || condition->part->kind == PartKind::Cpu; }
  // Of what the whole chunk is asked about first: false: none of its tasks or CPUs fits.
  bool has_any() const {
    return !is_of_chunk() || std::ranges::any_of(answers->of, [](std::uint8_t one) { return one != 0; });
  }
};

// The records of one event.
struct ChunkSearch::EventSearch {
  struct Way {  // one alignment
    std::vector<Step> steps;
    bool is_possible = true;  // in the chunk at hand
  };
  const EventFormat& event;
  const LineSearch::Plan& plan;
  std::vector<Way> ways;
};

struct ChunkSearch::Block {
  const StoreView& view;
  const StoreChunk& chunk;
  BlockBegins& begins;
};

ChunkSearch::ChunkSearch(const Metadata& metadata, std::string_view text, bool minds_case)
    : lines_(metadata), search_(lines_, text, minds_case), doubts_(no_rows(kBlockRows)) {}

ChunkSearch::~ChunkSearch() = default;

// Places may have other names now, also where the metadata are in the same place as before.
void ChunkSearch::set_metadata(const Metadata& metadata) {
  lines_.set_metadata(metadata);
  for (const auto& [format, event] : events_)
    for (EventSearch::Way& way : event->ways)
      for (Step& step : way.steps) step.places.clear();
}

ChunkSearch::EventSearch& ChunkSearch::search_of(const EventFormat& event) {
  std::unique_ptr<EventSearch>& search = events_[&event];
  if (search) return *search;
  search.reset(new EventSearch{event, search_.plan_of(event), {}});
  for (const LineSearch::Alignment& alignment : search->plan.alignments) {
    std::vector<Step>& steps = search->ways.emplace_back().steps;
    for (const Condition& condition : alignment) {
      Step& step = steps.emplace_back();
      step.condition = &condition;
      const LineSearch::Part& part = *condition.part;
      if (part.kind == PartKind::Flags || step.is_of_chunk()) {
        std::unique_ptr<Answers>& known = fronts_[{part.kind, condition.how, condition.text}];
        if (!known) known = std::make_unique<Answers>();
        step.answers = known.get();
        if (part.kind == PartKind::Flags) known->of.resize(kFlagValues, kNotAsked);
      }
      if (part.kind == PartKind::Integer && part.field) {
        const char conversion = part.piece->conversion;
        if (conversion == 'd' || conversion == 'u') step.digits = DigitTest::of(condition);
      }
      if (part.kind == PartKind::Time && condition.how == How::Has && is_digits(condition.text)) {
        const auto [known, is_new] = micros_.try_emplace(condition.text);
        if (is_new) known->second = micros_with(condition.text);
        step.micros = &known->second;
      }
    }
  }
  return *search;
}

// Asks about the chunk's tasks and CPUs, and leaves out what none of them fits. False: nothing is left.
bool ChunkSearch::may_have_any(const StoreView& view, const StoreChunk& chunk, EventSearch& event) {
  const auto record_of = [&](PartKind kind, std::uint32_t id) -> TypedRecord {
    if (kind == PartKind::Cpu) return {.event = &event.event, .cpu = id, .comm = {}, .bytes = {}};
    const StoreTask& task = view.names().tasks[id];
    return {.event = &event.event, .pid = task.pid, .comm = task.comm, .bytes = {}, .instance = task.instance};
  };
  bool has_any = false;
  for (EventSearch::Way& way : event.ways) {
    for (Step& step : way.steps) {
      if (!step.is_of_chunk() || std::exchange(step.answers->chunk, chunks_) == chunks_) continue;
      const PartKind kind = step.condition->part->kind;
      step.answers->of.clear();
      for (const std::uint32_t id : kind == PartKind::Cpu ? chunk.cpus : chunk.tasks)
        step.answers->of.push_back(
            static_cast<std::uint8_t>(search_.ask(event.plan, *step.condition, record_of(kind, id))));
    }
    way.is_possible = std::ranges::all_of(way.steps, &Step::has_any);
    has_any = has_any || way.is_possible;
  }
  return has_any;
}

ChunkSearch::Answer ChunkSearch::ask(const Block& block, const EventSearch& event, const Step& step,
                                     std::uint16_t row) {
  const StoreTask& task = block.view.names().tasks[block.chunk.task_of(row)];
  const TypedRecord record{.event = &event.event,
                           .time_ns = block.chunk.time_ns(row),
                           .cpu = block.chunk.cpu_of(row),
                           .pid = task.pid,
                           .comm = task.comm,
                           .bytes = block.begins.bytes(row),
                           .instance = task.instance};
  return search_.ask(event.plan, *step.condition, record);
}

template <class Ask>
void ChunkSearch::keep_by(Ask ask) {
  std::size_t kept = 0;
  for (const std::uint16_t row : left_) {
    const Answer answer = ask(row);
    left_[kept] = row;
    kept += answer != Answer::No ? 1 : 0;
    if (answer == Answer::Maybe) set_bit(doubts_, row % kBlockRows);
  }
  left_.resize(kept);
}

// Of each combination of flags the answer, once.
void ChunkSearch::keep_by_flags(const Block& block, EventSearch& event, Step& step) {
  keep_by([&](std::uint16_t row) {
    const auto bytes = block.begins.bytes(row);
    const unsigned flags = (bytes.size() > 2 ? bytes[2] : 0u) | (bytes.size() > 3 ? bytes[3] : 0u) << 8;
    std::uint8_t& known = step.answers->of[flags];
    if (known == kNotAsked) known = static_cast<std::uint8_t>(ask(block, event, step, row));
    return static_cast<Answer>(known);
  });
}

// Digits that the time has: in its seconds, which many records share, or in its microseconds.
void ChunkSearch::keep_by_time(const Block& block, Step& step) {
  std::uint64_t second = ~std::uint64_t{0};
  bool has_in_second = false;
  keep_by([&](std::uint16_t row) {
    const std::uint64_t micros = (block.chunk.time_ns(row) + 500) / 1000;  // as the line has it
    if (micros / kMicrosOfSecond != second) {
      second = micros / kMicrosOfSecond;
      has_in_second = std::to_string(second).contains(step.condition->text);
    }
    const bool has = has_in_second || (*step.micros)[micros % kMicrosOfSecond];
    return has ? Answer::Yes : Answer::No;
  });
}

ChunkSearch::Answer ChunkSearch::ask_place(const Block& block, EventSearch& event, Step& step, const Place& place,
                                           std::uint16_t row) {
  if (step.places.size() >= Step::kMostPlaces) step.places.clear();
  const auto [known, is_new] = step.places.try_emplace(place, Answer::Maybe);
  if (is_new) known->second = ask(block, event, step, row);
  return known->second;
}

void ChunkSearch::keep_by_place(const Block& block, EventSearch& event, Step& step) {
  const Field& field = *step.condition->part->field;
  constexpr std::size_t kBytes = sizeof(Place::second);
  const bool is_plain = field.kind == FieldKind::Number && field.item_bytes == kBytes;
  const std::size_t offset = field.offset, least = is_plain ? offset + kBytes : kMaxStoredBytes + 1;
  const auto payload = block.chunk.payload.data();
  const auto sizes = block.chunk.size_depth.data(), tasks = block.chunk.task.data();
  const auto symbols = symbols_.data();
  keep_by([&, last = Place{}, answer = Answer::Maybe](std::uint16_t row) mutable {
    Place place{symbols[tasks[row]], 0};
    if ((sizes[row] & kMaxStoredBytes) >= least) [[likely]]
      std::memcpy(&place.second, payload + block.begins[row] + offset, kBytes);
    else
      place.second = value_of(field, block.begins.bytes(row)).number;
    if (place != last) [[unlikely]] {
      last = place;
      answer = ask_place(block, event, step, place, row);
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
  const auto payload = block.chunk.payload.data();
  const auto sizes = block.chunk.size_depth.data();
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
  switch (step.condition->part->kind) {
    case PartKind::Task:
      return keep_by([&](std::uint16_t row) { return static_cast<Answer>(step.answers->of[block.chunk.task[row]]); });
    case PartKind::Cpu:
      return keep_by([&](std::uint16_t row) { return static_cast<Answer>(step.answers->of[block.chunk.cpu[row]]); });
    case PartKind::Flags:
      return keep_by_flags(block, event, step);
    case PartKind::Place:
      return keep_by_place(block, event, step);
    case PartKind::Integer:
      if (step.digits) return keep_by_digits(block, event, step);
      break;
    case PartKind::Time:
      if (step.micros) return keep_by_time(block, step);
      break;
    case PartKind::String:
    case PartKind::Other:
    case PartKind::Constant:
      break;
  }
  keep_by([&](std::uint16_t row) { return ask(block, event, step, row); });
}

void ChunkSearch::find_in(const Block& block, EventSearch& event, RowList rows, Found& found) {
  bool has_any = false;
  for (EventSearch::Way& way : event.ways) {
    if (!way.is_possible) continue;
    left_.assign(rows.begin(), rows.end());
    if (has_any) std::erase_if(left_, [&](std::uint16_t row) { return has_bit(found.rows, row); });
    std::ranges::fill(doubts_, 0);
    for (Step& step : way.steps)
      if (!left_.empty()) keep(block, event, step);
    for (const std::uint16_t row : left_) set_bit(has_bit(doubts_, row % kBlockRows) ? found.unsure : found.rows, row);
    has_any = has_any || !left_.empty();
  }
}

ChunkSearch::Found ChunkSearch::find(const StoreView& view, const StoreChunk& chunk, const RowBits& among,
                                     const std::vector<std::uint8_t>& is_asked) {
  struct Group {
    EventSearch& event;
    RowList rows;  // that were not looked at yet
  };
  Found found{.rows = no_rows(chunk.rows()), .unsure = no_rows(chunk.rows())};
  const auto is_among = [&](std::uint16_t row) { return among.empty() || has_bit(among, row); };
  constexpr auto kAxis = static_cast<std::size_t>(Axis::Event);
  std::vector<Group> groups;
  ++chunks_;
  for (const LaneGroup& lane : chunk.groups[kAxis]) {
    if (lane.id >= is_asked.size() || !is_asked[lane.id]) continue;
    EventSearch& event = search_of(*view.names().events[lane.id]);
    const LineSearch::Plan& plan = event.plan;
    const auto rows = chunk.order[kAxis].subspan(lane.begin, lane.end - lane.begin);
    if (plan.all == Answer::Yes || (plan.all == Answer::Maybe && !plan.is_understood)) {
      for (const std::uint16_t row : rows)
        if (is_among(row)) set_bit(plan.all == Answer::Yes ? found.rows : found.unsure, row);
    } else if (plan.all == Answer::Maybe && std::ranges::any_of(rows, is_among) && may_have_any(view, chunk, event)) {
      groups.push_back({event, rows});
    }
  }
  if (groups.empty()) return found;
  symbols_.clear();
  for (const std::uint32_t id : chunk.tasks) {
    const StoreTask& task = view.names().tasks[id];
    const TypedRecord of_task{.pid = task.pid, .comm = {}, .bytes = {}, .instance = task.instance};
    symbols_.push_back(&lines_.metadata().symbols_of(of_task.thread()));
  }
  BlockBegins begins(chunk);
  for (std::uint32_t first = 0; first < chunk.rows(); first += kBlockRows) {
    begins.move_to(first);
    begins.read();
    for (Group& group : groups) {
      RowList rows = take_before(group.rows, first + kBlockRows);
      if (!among.empty()) {
        rows_.clear();
        std::ranges::copy_if(rows, std::back_inserter(rows_), is_among);
        rows = rows_;
      }
      if (!rows.empty()) find_in({view, chunk, begins}, group.event, rows, found);
    }
  }
  for (std::size_t word = 0; word < found.rows.size(); ++word) found.unsure[word] &= ~found.rows[word];
  return found;
}

}  // namespace kevt::record

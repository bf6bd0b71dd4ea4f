// A chunk is asked first what holds for all its records of an event: by its few tasks and CPUs, by the few values that
// most addresses have, by its times. Only what these leave is asked record by record, block by block
// (chunk_search_keep.cpp). Answers about flags and places are kept from chunk to chunk.
#include "tracefs-compat/record/store/chunk_search.h"

#include <algorithm>
#include <utility>

#include "tracefs-compat/record/store/chunk_search_steps.h"

namespace kevt::record {
namespace {

using Answer = LineSearch::Answer;
using PartKind = LineSearch::PartKind;

constexpr std::size_t kFlagValues = 1 << 16;
constexpr std::size_t kMostOwners = 8;  // processes with names of their own; with more each record is asked

bool is_of_chunk(PartKind kind) { return kind == PartKind::Task || kind == PartKind::Cpu; }

// What all of them answer; nullopt: they differ, or there are none. Lines that must be made are made one by one.
template <class Answers>
std::optional<Answer> common_answer(const Answers& answers) {
  std::optional<Answer> common;
  for (const auto one : answers) {
    const auto answer = static_cast<Answer>(one);
    if (answer == Answer::Maybe || common.value_or(answer) != answer) return std::nullopt;
    common = answer;
  }
  return common;
}

}  // namespace

ChunkSearch::ChunkSearch(const Metadata& metadata, std::string_view text, bool minds_case)
    : lines_(metadata), search_(lines_, text, minds_case), room_(kBlockRows), doubts_(no_rows(kBlockRows)) {}

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
    for (const LineSearch::Condition& condition : alignment) {
      Step& step = steps.emplace_back();
      step.condition = &condition;
      const LineSearch::Part& part = *condition.part;
      if (part.kind == PartKind::Flags || is_of_chunk(part.kind)) {
        std::unique_ptr<Answers>& known = fronts_[{part.kind, condition.how, condition.text}];
        if (!known) known = std::make_unique<Answers>();
        step.answers = known.get();
        if (part.kind == PartKind::Flags) known->of.resize(kFlagValues, Answers::kNotAsked);
      }
      if (part.kind == PartKind::Integer && part.field) {
        const char conversion = part.piece->conversion;
        if (conversion == 'd' || conversion == 'u') step.digits = DigitTest::of(condition);
      }
      if (part.kind == PartKind::Time && condition.how == LineSearch::How::Has && is_digits(condition.text)) {
        std::unique_ptr<Times>& known = times_[condition.text];
        if (!known) known.reset(new Times{TimeDigits(condition.text)});
        step.times = known.get();
      }
    }
  }
  return *search;
}

// ---- what holds for a whole chunk

void ChunkSearch::learn_symbols(const Rows& rows) {
  for (std::size_t local = 0; local < rows.chunk.tasks.size(); ++local) {
    const StoreTask& task = rows.view.names().tasks[rows.chunk.tasks[local]];
    const TypedRecord of_task{.pid = task.pid, .comm = {}, .bytes = {}, .instance = task.instance};
    const Symbols* const symbols = &lines_.metadata().symbols_of(of_task.thread());
    const auto is_same = [&](std::uint16_t other) { return symbols_[other] == symbols; };
    if (owners_.size() <= kMostOwners && std::ranges::none_of(owners_, is_same))
      owners_.push_back(static_cast<std::uint16_t>(local));
    symbols_.push_back(symbols);
  }
}

// By each task or CPU of the chunk.
std::optional<Answer> ChunkSearch::answer_of_chunk(const Rows& rows, EventSearch& event, Step& step) {
  if (std::exchange(step.answers->chunk, chunks_) != chunks_) {
    step.answers->of.clear();
    const auto add = [&](const TypedRecord& record) {
      step.answers->of.push_back(static_cast<std::uint8_t>(search_.ask(event.plan, *step.condition, record)));
    };
    if (step.kind() == PartKind::Cpu) {
      for (const std::uint32_t cpu : rows.chunk.cpus) add({.event = &event.event, .cpu = cpu, .comm = {}, .bytes = {}});
    } else {
      for (const std::uint32_t id : rows.chunk.tasks) {
        const StoreTask& task = rows.view.names().tasks[id];
        add({.event = &event.event, .pid = task.pid, .comm = task.comm, .bytes = {}, .instance = task.instance});
      }
    }
  }
  return common_answer(step.answers->of);
}

// By each value that the field has in the chunk, of a place for each process.
std::optional<Answer> ChunkSearch::answer_of_values(const Rows& rows, EventSearch& event, Step& step) {
  const bool is_place = step.kind() == PartKind::Place;
  if (is_place && symbols_.empty()) learn_symbols(rows);
  if (is_place && owners_.size() > kMostOwners) return std::nullopt;
  const auto examples = step.kind() == PartKind::Flags
                            ? rows.chunk.rows_of_flags(rows.event)
                            : rows.chunk.rows_of_values(rows.event, *step.condition->part->field);
  std::vector<Answer> answers;
  for (const std::uint16_t row : examples) {
    const auto bytes = rows.chunk.bytes(row);
    if (is_place) {
      for (const std::uint16_t task : owners_) answers.push_back(ask_place(rows, event, step, {row, task, bytes}));
    } else {
      answers.push_back(ask(rows, event, step, {row, rows.chunk.task[row], bytes}));
    }
  }
  return common_answer(answers);
}

std::optional<Answer> ChunkSearch::answer_of_times(const StoreChunk& chunk, Times& times) {
  if (std::exchange(times.chunk, chunks_) != chunks_) times.rows = times.digits.rows_in(chunk);
  if (count_bits(times.rows) == 0) return Answer::No;
  return std::nullopt;
}

std::optional<Answer> ChunkSearch::answer_of_all(const Rows& rows, EventSearch& event, Step& step) {
  if (is_of_chunk(step.kind())) return answer_of_chunk(rows, event, step);
  if (step.times) return answer_of_times(rows.chunk, *step.times);
  const bool has_values = step.kind() == PartKind::Place || step.kind() == PartKind::Integer;
  if (step.kind() == PartKind::Flags || (has_values && step.condition->part->field))
    return answer_of_values(rows, event, step);
  return std::nullopt;
}

// Leaves out what no record of the chunk can have. False: nothing is left.
bool ChunkSearch::may_have_any(const Rows& rows, EventSearch& event) {
  bool has_any = false;
  for (EventSearch::Way& way : event.ways) {
    way.is_possible = true;
    for (Step& step : way.steps) {
      step.of_chunk = answer_of_all(rows, event, step);
      way.is_possible = step.of_chunk != Answer::No;
      if (!way.is_possible) break;
    }
    has_any = has_any || way.is_possible;
  }
  return has_any;
}

// ---- a chunk

ChunkSearch::Found ChunkSearch::find(const StoreView& view, const StoreChunk& chunk, const RowBits& among,
                                     const std::vector<std::uint8_t>& is_asked) {
  struct Group {
    Rows of;
    EventSearch& event;
    RowList rows;  // that were not looked at yet
  };
  Found found{.rows = no_rows(chunk.rows()), .unsure = no_rows(chunk.rows())};
  const auto is_among = [&](std::uint16_t row) { return among.empty() || has_bit(among, row); };
  constexpr auto kAxis = static_cast<std::size_t>(Axis::Event);
  std::vector<Group> groups;
  ++chunks_;
  symbols_.clear();
  owners_.clear();
  for (const LaneGroup& lane : chunk.groups[kAxis]) {
    if (lane.id >= is_asked.size() || !is_asked[lane.id]) continue;
    EventSearch& event = search_of(*view.names().events[lane.id]);
    const LineSearch::Plan& plan = event.plan;
    const auto rows = chunk.order[kAxis].subspan(lane.begin, lane.end - lane.begin);
    if (plan.all == Answer::Yes || (plan.all == Answer::Maybe && !plan.is_understood)) {
      for (const std::uint16_t row : rows)
        if (is_among(row)) set_bit(plan.all == Answer::Yes ? found.rows : found.unsure, row);
    } else if (plan.all == Answer::Maybe && std::ranges::any_of(rows, is_among)) {
      const Rows of{view, chunk, lane.id};
      if (may_have_any(of, event)) groups.push_back({of, event, rows});
    }
  }
  if (groups.empty()) return found;
  BlockBegins begins(chunk);
  for (std::uint32_t first = 0; first < chunk.rows(); first += kBlockRows) {
    begins.move_to(first);
    for (Group& group : groups) {
      RowList rows = take_before(group.rows, first + kBlockRows);
      if (!among.empty()) {
        rows_.clear();
        std::ranges::copy_if(rows, std::back_inserter(rows_), is_among);
        rows = rows_;
      }
      if (!rows.empty()) find_in({group.of, begins}, group.event, rows, found);
    }
  }
  for (std::size_t word = 0; word < found.rows.size(); ++word) found.unsure[word] &= ~found.rows[word];
  return found;
}

}  // namespace kevt::record

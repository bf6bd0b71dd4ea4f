// What ChunkSearch knows of a text's conditions: private to chunk_search.cpp and chunk_search_keep.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "tracefs-compat/record/store/chunk_search.h"
#include "tracefs-compat/record/store/digit_search.h"

namespace kevt::record {

// By task or CPU of the chunk at hand, or by flags: an Answer, or kNotAsked.
struct ChunkSearch::Answers {
  static constexpr std::uint8_t kNotAsked = 3;  // no Answer

  std::vector<std::uint8_t> of;
  std::uint64_t chunk = 0;  // tasks and CPUs: of which one, counted
};

// The rows of the chunk at hand whose time has the digits.
struct ChunkSearch::Times {
  TimeDigits digits;
  RowBits rows = {};
  std::uint64_t chunk = 0;  // of which one, counted
};

// A condition and what is known of it.
struct ChunkSearch::Step {
  static constexpr std::size_t kMostPlaces = 1 << 16;

  const LineSearch::Condition* condition = nullptr;
  Answers* answers = nullptr;            // Task, Cpu, Flags
  std::optional<DigitTest> digits = {};  // Integer: that decide
  Times* times = nullptr;                // Time: digits that it has
  std::map<Place, Answer> places = {};
  std::optional<Answer> of_chunk = {};  // of all records of the event in the chunk at hand; nullopt: they differ

  LineSearch::PartKind kind() const { return condition->part->kind; }
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

// The records of one event in a chunk.
struct ChunkSearch::Rows {
  const StoreView& view;
  const StoreChunk& chunk;
  std::uint32_t event;  // StoreNames::events
};

// A record of them, as if it were of this task.
struct ChunkSearch::One {
  std::uint16_t row, task;  // task: StoreChunk::tasks
  std::span<const std::uint8_t> bytes;
};

struct ChunkSearch::Block {
  Rows rows;
  BlockBegins& begins;
};

}  // namespace kevt::record

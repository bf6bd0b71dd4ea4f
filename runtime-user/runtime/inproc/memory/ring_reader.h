// RingReader: takes committed records out of a session's rings. The rings are memory of hostile processes: every length
// is checked, and what is handed out is a copy.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime-user/runtime/inproc/memory/session_memory.h"

namespace kevt::inproc {

// One committed record: the ftrace bytes, and when (raw TSC).
struct RawRecord {
  std::uint64_t tsc = 0;
  std::uint32_t cpu = 0;
  std::span<std::uint8_t> bytes;  // a copy, until the next record
};

class RingReader {
 public:
  using Use = std::function<void(const RawRecord&)>;

  // `memory` must outlive the reader, and have no other reader.
  explicit RingReader(SessionMemory& memory) : memory_(memory), tails_(memory.ring_count()) {}

  // Hands out what is committed, oldest first per CPU, and gives the room back. Returns the number of records.
  std::size_t drain(const Use& use);
  // Once no thread of the target is left: steps over reservations that were never committed. Returns how many were
  // skipped. Records that forked children write meanwhile stay.
  std::size_t drain_abandoned(const Use& use);
  // Whether a ring holds anything, committed or only reserved: after a drain, a hit is under way.
  bool has_records() const;

 private:
  std::uint64_t head_of(std::uint32_t cpu) const;
  kevt_record& record_at(std::uint32_t cpu, std::uint64_t position) const;
  void give_back(std::uint32_t cpu, std::uint64_t position);
  std::size_t drain_to(std::uint32_t cpu, std::uint64_t head, const Use& use);
  std::uint64_t find_resume(std::uint32_t cpu, std::uint64_t from, std::uint64_t head) const;

  SessionMemory& memory_;
  std::vector<std::uint64_t> tails_;  // of each ring; what stands in it may be anything
  std::vector<std::uint8_t> copy_;    // of the record that is handed out
};

}  // namespace kevt::inproc

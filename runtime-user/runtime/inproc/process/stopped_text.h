// StoppedText: memory of a process that stands still, each part of it read once, with what lies around it. Good until
// somebody writes there or the process goes on.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "common/error.h"
#include "runtime-user/runtime/inproc/process/tracee.h"

namespace kevt::inproc {

class StoppedText {
 public:
  explicit StoppedText(const Tracee& tracee) : tracee_(tracee) {}
  Result<void> read(RemoteAddr at, std::span<std::uint8_t> out);

 private:
  const Tracee& tracee_;
  std::unordered_map<std::uint64_t, std::vector<std::uint8_t>> blocks_;  // by where each begins; as far as it was there
};

}  // namespace kevt::inproc

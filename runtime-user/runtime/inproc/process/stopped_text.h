// StoppedText: reads memory of a stopped process in blocks, each block once. Valid until that memory is written or the
// process goes on.
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
  std::unordered_map<std::uint64_t, std::vector<std::uint8_t>> blocks_;  // by address; shorter where memory ends
};

}  // namespace kevt::inproc

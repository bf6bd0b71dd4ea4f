// RunOutput: where trace lines go. Buffers, and remembers the first failed write.
#pragma once

#include <string>

#include "common/error.h"
#include "common/unique_fd.h"

namespace kevt::cli {

class RunOutput {
 public:
  // "" or "-": standard output.
  static Result<RunOutput> open(const std::string& name);

  std::string& buffer() { return buffer_; }  // append whole lines
  // Writes the buffer; an error once, at the first write that fails. What was written before stays.
  Result<void> flush();

 private:
  RunOutput() = default;
  UniqueFd file_;
  int fd_ = 1;
  std::string name_;
  std::string buffer_;
};

}  // namespace kevt::cli

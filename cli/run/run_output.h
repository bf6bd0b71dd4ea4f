// RunOutput: a buffered output for trace lines.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "common/controls.h"
#include "common/error.h"
#include "common/output_place.h"

namespace kevt::cli {

using LineSink = std::function<void(std::string_view line)>;

class RunOutput {
 public:
  // "" or "-": standard output.
  static Result<RunOutput> open(const std::string& name);

  // Adds one trace line, which ends in '\n'.
  void add_line(std::string_view line);
  // Adds several lines, each with its '\n'. A '\t' at the start of a line is kept.
  void add_lines(std::string_view text);
  std::size_t waiting() const { return buffer_.size(); }  // bytes
  void drop() { buffer_.clear(); }
  // Writes the buffer. On an error what was written before stays, and the rest of the buffer is dropped.
  Result<void> flush();

 private:
  explicit RunOutput(OutputPlace place, std::string name);
  OutputPlace place_;
  int fd_ = 1;
  Controls controls_;
  std::string name_;
  std::string buffer_;
};

}  // namespace kevt::cli

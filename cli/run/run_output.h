// RunOutput: where trace lines go. Buffers, and remembers the first failed write.
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

  // Of the trace, with its '\n'.
  void add_line(std::string_view line);
  // Several, with theirs; a '\t' in front of one is ours and stays.
  void add_lines(std::string_view text);
  std::size_t waiting() const { return buffer_.size(); }  // bytes
  void drop() { buffer_.clear(); }
  // Writes the buffer; an error once, at the first write that fails. What was written before stays.
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

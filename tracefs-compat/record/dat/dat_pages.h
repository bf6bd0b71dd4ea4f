// DatPages: the pages of one CPU, one after the other, unpacked where they are packed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tracefs-compat/record/dat/dat_file.h"

namespace kevt::record {

class DatPages {
 public:
  DatPages(DatFile& file, const DatCpu& cpu);

  // The next page, or less than one at the end of a cut file; empty at the end. Valid until the next call.
  std::span<const std::uint8_t> next();
  // Why it ended early; "" otherwise.
  const std::string& problem() const { return problem_; }
  // Where in the file the last page, or the piece it was packed in, stands.
  std::uint64_t at() const { return at_; }
  // Gives back the memory: there is nothing more to read, or nobody who wants it.
  void close();

 private:
  bool fill();
  bool fill_plain();
  bool fill_packed();
  void skip_holes();
  std::optional<std::uint32_t> take_u32();
  bool hold(std::uint64_t bytes);
  bool stop(std::string why);

  DatFile& file_;
  DatCpu cpu_;
  std::uint64_t read_ = 0;  // bytes of the file taken so far
  std::uint32_t chunks_left_ = 0;
  bool has_count_ = false;
  std::vector<std::uint8_t> buffer_;
  std::size_t in_buffer_ = 0;
  std::uint64_t held_ = 0;  // bytes of the budget
  std::uint64_t at_ = 0;
  std::string problem_;
};

}  // namespace kevt::record

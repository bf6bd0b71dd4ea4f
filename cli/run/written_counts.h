// WrittenCounts: what the outputs of a run have written, in memory that this process shares with a copy of itself
// (session::Keeper). So the copy knows of what was written after it was made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/run/instance_output.h"

namespace kevt::cli {

class WrittenCounts {
 public:
  // `outputs` outlives this object.
  explicit WrittenCounts(std::vector<InstanceOutput>& outputs) : outputs_(outputs) {}
  WrittenCounts(const WrittenCounts&) = delete;
  ~WrittenCounts() { unmap(); }

  // A copy that is made after this call is told of all that is noted until the next one. All outputs have been written,
  // and so many intervals of --interval.
  void share(std::uint64_t intervals);
  // Everything that the output has taken has been written.
  void note(std::size_t output);
  // So many intervals of --interval have been printed.
  void note_intervals(std::uint64_t intervals);

  // The others are for the copy. take_over() sets the counts of the output's events to what was written; `recorded`:
  // also those of records. (What is only in memory the copy has as far as it has read it itself.)
  void take_over(std::size_t output, bool recorded);
  // Puts what `file` has in place of what was noted of the output's records, if the file can be read.
  void recount(std::size_t output, const std::string& file);
  // Sets the counts of the output's recorded events to what these files have, if all of them can be read.
  void set_recorded(std::size_t output, const std::vector<std::string>& files);
  std::uint64_t taken() const;  // by all outputs
  std::uint64_t intervals() const;

 private:
  // Words of an event in an output, and in front of all events' words.
  enum Word : std::size_t { kRecorded, kFiltered, kLost, kWords };
  enum Head : std::size_t { kTaken, kIntervals, kHead };
  void unmap();
  std::uint64_t* words_of(std::size_t output) const;

  std::vector<InstanceOutput>& outputs_;
  std::uint64_t* shared_ = nullptr;
  std::size_t bytes_ = 0;
};

// The file in which a recording goes on: "x.dat" → "x.rest.dat", beside the file that a link leads to.
std::string rest_of(const std::string& file);

}  // namespace kevt::cli

// HistogramHeat: a histogram over time as text, a line for each reading:
//
//   # kprobes:wrote: hits by len.log2; a cell is · some, ░ 1 %, ▒ 5 %, ▓ 10 %, █ 25 % of the line's hits
//                            |4   64  1.0k     |       hits        p50        p99        max
//       0.000 s     1.000 s  |  ·  ░▒▓█▓░          |       3348        512       4096       4096
//
// A histogram without one key of buckets has its largest entries in the line instead.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime-user/engine/histograms/hist_snapshot.h"
#include "tracefs-compat/record/analysis/buckets.h"

namespace kevt::session {

// The time in which the counts were made, in seconds since tracing began.
struct HistogramSpan {
  double from = 0, to = 0;
};

class HistogramHeat {
 public:
  static constexpr std::size_t kMostCells = 64;

  // The lines of one reading of the histogram; in front of them the heading, where another histogram was shown before
  // or the axis has changed. `number`: the histogram's number among its event's, from 1.
  std::string text(const engine::HistSnapshot& snapshot, unsigned number, HistogramSpan span);

 private:
  // What the lines of a histogram share.
  struct Axis {
    std::vector<record::HistFileRange> seen;   // all buckets that had hits
    std::vector<record::HistFileRange> lines;  // a cell each
    std::size_t label = 0;                     // columns of the other keys
  };
  std::string measured(const engine::HistSnapshot& snapshot, std::size_t key, const std::string& name,
                       HistogramSpan span);
  static std::string entries(const engine::HistSnapshot& snapshot, HistogramSpan span);

  std::map<std::string, Axis> axes_;  // by the histogram's name
  std::string last_;                  // the histogram that has the heading in front of it
};

}  // namespace kevt::session

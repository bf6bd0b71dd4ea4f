// CallTree: what paths of calls weigh (folded_paths.h), as a tree of callers with their callees inside; of one
// recording, or of two beside each other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/controls.h"

namespace kevt::record {

// "outer;inner" paths and their weights.
using PathWeights = std::map<std::string, std::uint64_t>;

class CallTree {
 public:
  struct Node {
    std::string name;
    std::size_t depth = 0;
    std::uint64_t begin = 0;   // weights of the nodes before it at its depth
    std::uint64_t weight = 0;  // with that of its callees
    std::uint64_t own = 0;     // without
    std::uint64_t before = 0;  // weight in the other recording
    std::size_t end = 0;       // index behind its last callee
  };

  // `counts`: what a weight is a number of: "stacks", "ns". `before`: the other recording's paths. Frames deeper than
  // 512 belong to the frame at that depth; beyond a million nodes frames belong to their callers. Weights and their
  // sums are below 2^63.
  static CallTree of(const PathWeights& paths, std::string_view counts, const PathWeights* before = nullptr);

  // Depth first, callees in the order of their names; the first is the sum of all.
  const std::vector<Node>& nodes() const { return nodes_; }
  std::string_view counts() const { return counts_; }
  bool compares() const { return compares_; }

  // A table, the heaviest callee first. Nodes of less than `least` (0 to 1) of the whole are one line for each caller.
  std::string text(double least, Controls controls) const;
  // One object: {"v":1,"type":"call_tree","counts":…,"weight":…,"nodes":[{"name":…,"depth":…,"weight":…,"own":…}]}.
  std::string json() const;

 private:
  void append_lines(std::size_t node, double least, Controls controls, std::string& out) const;
  void append_line(std::uint64_t weight, std::uint64_t own, std::uint64_t before, std::size_t depth,
                   std::string_view name, std::string& out) const;
  // The larger one of both recordings.
  std::uint64_t whole() const { return std::max(nodes_.front().weight, nodes_.front().before); }

  std::vector<Node> nodes_;
  std::string counts_;
  bool compares_ = false;
};

// A line "outer;inner WEIGHT" for each path, as other tools read them; names as `controls` want them.
std::string folded_lines(const PathWeights& paths, Controls controls);

// The frames of each path in the opposite order: callees with their callers inside.
PathWeights reversed_paths(const PathWeights& paths);

}  // namespace kevt::record

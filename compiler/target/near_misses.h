// Near misses: names that a misspelt one may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kevt::target {

// Number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`, or
// `limit` + 1 where it is more.
unsigned edit_distance(std::string_view a, std::string_view b, unsigned limit);

// Collects the closest names seen; of equally close ones the alphabetically first.
class NearMisses {
 public:
  explicit NearMisses(std::string_view wanted) : wanted_(wanted) {}
  // Names more than 2 edits away are forgotten, and so is what is too short to tell.
  void consider(std::string_view name, std::string_view module);
  std::vector<std::string> best() const;  // at most 5, "MODULE:NAME"

 private:
  struct Candidate {
    unsigned distance;
    std::string label;
    friend auto operator<=>(const Candidate&, const Candidate&) = default;
  };
  std::string wanted_;
  std::vector<Candidate> candidates_;
};

}  // namespace kevt::target

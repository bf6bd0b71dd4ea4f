// Near misses: existing names that the user may have meant with a misspelt one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kevt::target {

// The number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`, or
// `limit` + 1 if more are needed.
unsigned edit_distance(std::string_view a, std::string_view b, unsigned limit);

// Collects the names closest to `wanted`; of equally close ones the alphabetically first.
class NearMisses {
 public:
  explicit NearMisses(std::string_view wanted) : wanted_(wanted) {}
  // A name more than 2 edits away is ignored; if the wanted name has fewer than 3 letters, one more than 1 edit away.
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

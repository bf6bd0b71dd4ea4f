// GlobMatches: the names among many that match a glob.
#pragma once

#include <fnmatch.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace kevt::target {

// Of the names of one function the one that a programmer writes: without `_` in front, then the shortest.
inline bool is_better_name(std::string_view one, std::string_view other) {
  return std::tuple(one.starts_with('_'), one.size(), one) < std::tuple(other.starts_with('_'), other.size(), other);
}

class GlobMatches {
 public:
  explicit GlobMatches(std::string_view glob) : glob_(glob), has_dot_(glob.contains('.')) {}
  // Names with a `.` match only a glob that has one.
  void consider(std::string_view name) { consider(name, name); }
  // Takes the name if `called`, which is what its source calls it, matches.
  void consider(std::string_view name, std::string_view called) {
    if (called.empty() || (!has_dot_ && name.contains('.'))) return;
    text_ = called;
    if (fnmatch(glob_.c_str(), text_.c_str(), 0) == 0) names_.emplace(name);
  }
  // Whether a name that is somewhere in `text` can match: the glob's longest word must be there.
  bool may_match_in(std::string_view text) const {
    std::string_view longest;
    for (std::size_t at = 0; at < glob_.size();) {
      const std::size_t end = std::min(glob_.find_first_of("*?[]:", at), glob_.size());
      if (end - at > longest.size()) longest = std::string_view(glob_).substr(at, end - at);
      at = end + 1;
    }
    return !longest.empty() && !glob_.contains('[') && text.contains(longest);
  }
  // Each name once, in their order.
  std::vector<std::string> take() { return {names_.begin(), names_.end()}; }

 private:
  std::string glob_, text_;
  bool has_dot_;
  std::set<std::string> names_;
};

}  // namespace kevt::target

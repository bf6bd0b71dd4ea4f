// MergedLines: the trace lines of several sessions in one order of time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kevt::engine {

class MergedLines {
 public:
  // `line` with its '\n'. Lines of one session come in their order.
  void add(std::uint64_t time_ns, std::string_view line);

  // Hands out, oldest first, at most `limit` lines that are not newer than `until_ns`; the others stay. Returns how
  // many. Lines of the same time keep the order in which they were added.
  std::uint64_t take(std::uint64_t until_ns, std::uint64_t limit, const std::function<void(std::string_view)>& give);

 private:
  struct Line {
    std::uint64_t time_ns = 0;
    std::string text;
  };
  std::vector<Line> waiting_;
};

}  // namespace kevt::engine

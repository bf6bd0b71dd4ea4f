// TimeMerger: items of several sources in one order of time.
//
// Sources are drained one after the other, so the items of the first source end earlier than those of the last. An item
// may be passed on only when no source can still come with an older one:
//
//   now = 100   drain A: … 98        drain B: … 99, 104      until = 100 → 98, 99; 104 waits
//
// So the caller reads the clock before the first drain of a round, and that time is `until`. Any unit of time will do,
// if all sources have it. Between sources the order is as exact as their clocks agree.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace kevt {

template <class Item>
class TimeMerger {
 public:
  void add(std::uint64_t time, Item item) { waiting_.push_back({time, std::move(item)}); }

  // Calls `give(time, item)` for what is not newer than `until`, oldest first, and for `limit` items at most; the
  // others stay. Items of one time keep the order in which they were added. Returns how many were given.
  template <class Give>
  std::size_t take(std::uint64_t until, std::size_t limit, Give&& give) {
    std::ranges::stable_sort(waiting_, {}, &Timed::time);
    std::size_t taken = 0;
    for (; taken < waiting_.size() && taken < limit && waiting_[taken].time <= until; ++taken)
      give(waiting_[taken].time, waiting_[taken].item);
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(taken));
    return taken;
  }
  template <class Give>
  std::size_t take(std::uint64_t until, Give&& give) {
    return take(until, ~std::size_t{0}, std::forward<Give>(give));
  }

  // Whether `is_meant(item)` is true of an item that waits.
  template <class IsMeant>
  bool any_waits(IsMeant&& is_meant) const {
    return std::ranges::any_of(waiting_, [&](const Timed& one) { return is_meant(one.item); });
  }

 private:
  struct Timed {
    std::uint64_t time;
    Item item;
  };
  std::vector<Timed> waiting_;
};

}  // namespace kevt

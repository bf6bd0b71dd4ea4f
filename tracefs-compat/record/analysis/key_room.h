// KeyRoom: memory for tables whose keys a recording chooses: beyond it what is new counts as "(others)".
#pragma once

#include <cstddef>

namespace kevt::record {

class KeyRoom {
 public:
  static constexpr std::size_t kNodeBytes = 96;  // of an entry of a map, beside its key

  // False: there is no room for so much.
  bool take(std::size_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }
  void give_back(std::size_t bytes) { left_ += bytes; }

 private:
  std::size_t left_ = 64 << 20;
};

}  // namespace kevt::record

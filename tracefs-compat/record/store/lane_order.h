// Records of a chunk by lane: a counting sort.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "tracefs-compat/record/store/store_chunk.h"

namespace kevt::record {

// `place_of(i)` is the i-th of `count` places of a chunk; they ascend. `places` gets them lane by lane; `groups` says
// where each lane's are. `key_of(place)` is the position of its lane's id in `ids`.
template <typename KeyOf, typename PlaceOf>
void order_by_lane(std::span<const std::uint32_t> ids, std::uint32_t count, const KeyOf& key_of,
                   const PlaceOf& place_of, LaneGroups& groups, std::span<std::uint16_t> places) {
  std::vector<std::uint32_t> by_id(ids.size()), counts(ids.size()), next(ids.size());
  std::iota(by_id.begin(), by_id.end(), 0u);
  std::ranges::sort(by_id, {}, [&](std::uint32_t local) { return ids[local]; });
  for (std::uint32_t i = 0; i < count; ++i) ++counts[key_of(place_of(i))];
  groups.clear();
  std::uint32_t at = 0;
  for (const std::uint32_t local : by_id) {
    if (counts[local] == 0) continue;
    groups.push_back({ids[local], at, at + counts[local]});
    next[local] = at;
    at += counts[local];
  }
  groups.shrink_to_fit();
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t place = place_of(i);
    places[next[key_of(place)]++] = static_cast<std::uint16_t>(place);
  }
}

}  // namespace kevt::record

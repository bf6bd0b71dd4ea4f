#include "runtime-user/engine/code/code_table.h"

#include <iterator>

namespace kevt::engine {

ProbeHandles placed_of(const ProbeHandles& handles) {
  ProbeHandles placed;
  std::ranges::copy_if(handles, std::back_inserter(placed), is_placed);
  return placed;
}

runtime::ProbeHandle CodeVersion::handle_of(std::uint64_t serial, std::size_t target) const {
  const auto probe = static_cast<std::size_t>(std::ranges::find(serials, serial) - serials.begin());
  return target < handles.size() && probe < handles[target].size() ? handles[target][probe] : kRefused;
}

bool CodeVersion::is_in_no_target() const {
  for (std::size_t i = 0; i < serials.size(); ++i)
    if (std::ranges::none_of(handles, [i](const ProbeHandles& of_target) {
          return i < of_target.size() && of_target[i] != kRefused && of_target[i] != kOfOthers;
        }))
      return true;
  return false;
}

const EventVersions* CodeTable::find(std::uint32_t event) const {
  const auto it = events.find(event);
  return it == events.end() ? nullptr : &it->second;
}

std::size_t CodeTable::index_of(const TracedTarget& target) const {
  return static_cast<std::size_t>(std::ranges::find(targets, &target) - targets.begin());
}

bool CodeTable::lacks(const CodeVersion& version, std::size_t target) const {
  if (!targets[target]->is_alive()) return false;
  if (target >= version.handles.size() || version.handles[target].empty()) return true;
  return !std::ranges::all_of(version.handles[target],
                              [](runtime::ProbeHandle handle) { return is_placed(handle) || handle == kOfOthers; });
}

bool CodeTable::is_whole(const CodeVersion& version) const {
  for (std::size_t t = 0; t < targets.size(); ++t)
    if (lacks(version, t)) return false;
  return true;
}

StaticEvents* CodeTable::static_events() const {
  for (TracedTarget* target : targets)
    if (StaticEvents* statics = target->static_events()) return statics;
  return nullptr;
}

}  // namespace kevt::engine

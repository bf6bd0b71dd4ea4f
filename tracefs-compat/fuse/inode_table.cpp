// A path keeps its number while the kernel knows it; a number is never used again.
#include "tracefs-compat/fuse/inode_table.h"

#include <algorithm>

namespace kevt::fuse {

InodeTable::InodeTable() {
  known_[1] = {.path = "", .lookups = 1};
  by_path_[""] = 1;
}

std::uint64_t InodeTable::number_of(const std::string& path) {
  const auto it = by_path_.find(path);
  // The number of an unknown path must differ from all others, so it is a hash with the highest bit set.
  return it != by_path_.end() ? it->second : std::hash<std::string>()(path) | std::uint64_t{1} << 63;
}

std::uint64_t InodeTable::look_up(const std::string& path) {
  const auto [it, is_new] = by_path_.try_emplace(path, last_ + 1);
  if (is_new) known_[++last_].path = path;
  ++known_[it->second].lookups;
  return it->second;
}

void InodeTable::forget(std::uint64_t inode, std::uint64_t lookups) {
  const auto it = known_.find(inode);
  if (it == known_.end() || inode == 1) return;
  it->second.lookups -= std::min(lookups, it->second.lookups);
  if (it->second.lookups > 0) return;
  by_path_.erase(it->second.path);
  known_.erase(it);
}

void InodeTable::remove(const std::string& path) {
  const auto is_below = [&](const std::string& other) { return other.starts_with(path + '/'); };
  const auto leave = [&](std::map<std::string, std::uint64_t>::iterator it) {
    known_.erase(it->second);
    return by_path_.erase(it);
  };
  if (const auto own = by_path_.find(path); own != by_path_.end()) leave(own);
  for (auto it = by_path_.lower_bound(path + '/'); it != by_path_.end() && is_below(it->first);) it = leave(it);
  changes_.erase(path);
  std::erase_if(changes_, [&](const auto& change) { return is_below(change.first); });
}

void InodeTable::remove_gone(const std::function<bool(const std::string& path)>& is_there) {
  if (known_.size() < look_at_) return;
  std::erase_if(by_path_, [&](const auto& known) {
    const auto& [path, inode] = known;
    if (inode == 1 || is_there(path)) return false;
    changes_.erase(path);
    known_.erase(inode);
    return true;
  });
  look_at_ = std::max(kFewestLookedAt, 2 * known_.size());
}

const std::string* InodeTable::path_of(std::uint64_t inode) const {
  const auto it = known_.find(inode);
  return it == known_.end() ? nullptr : &it->second.path;
}

const AttributeChange* InodeTable::find_change(const std::string& path) const {
  const auto it = changes_.find(path);
  return it == changes_.end() ? nullptr : &it->second;
}

}  // namespace kevt::fuse

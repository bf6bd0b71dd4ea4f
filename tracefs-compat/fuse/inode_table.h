// InodeTable: numbers for paths, as the kernel wants them, and what it was told to change of their attributes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace kevt::fuse {

// chmod and chown of a path; kept as long as the mount.
struct AttributeChange {
  std::optional<mode_t> mode;
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
};

class InodeTable {
 public:
  InodeTable();
  // The number of a path, which the kernel now knows once more.
  std::uint64_t look_up(const std::string& path);
  void forget(std::uint64_t inode, std::uint64_t lookups);
  // The path and all below it have left: numbers that the kernel still knows of them name nothing any more, and what
  // comes to the same paths gets others. What was changed of them is forgotten.
  void remove(const std::string& path);
  // The kernel keeps names of what is gone for as long as it has memory: of events that come and go there would be
  // ever more. Once there are twice as many as the last time, those of which `is_there` says no leave.
  void remove_gone(const std::function<bool(const std::string& path)>& is_there);
  // nullptr: no such number, or its path has left.
  const std::string* path_of(std::uint64_t inode) const;
  // The number it has or would have; for directory listings.
  std::uint64_t number_of(const std::string& path);

  AttributeChange& change(const std::string& path) { return changes_[path]; }
  const AttributeChange* find_change(const std::string& path) const;

 private:
  struct Known {
    std::string path;
    std::uint64_t lookups = 0;
  };
  static constexpr std::size_t kFewestLookedAt = 4096;
  std::unordered_map<std::uint64_t, Known> known_;  // those that have not left
  std::map<std::string, std::uint64_t> by_path_;
  std::size_t look_at_ = kFewestLookedAt;  // so many: it is looked which are gone
  std::map<std::string, AttributeChange> changes_;
  std::uint64_t last_ = 1;  // 1 is the directory itself
};

}  // namespace kevt::fuse

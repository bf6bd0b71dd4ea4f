// InodeTable: inode numbers for paths, and the attributes that chmod and chown have changed.
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

// What chmod and chown changed of a path; kept as long as the mount.
struct AttributeChange {
  std::optional<mode_t> mode;
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
};

class InodeTable {
 public:
  InodeTable();
  // The number of a path; adds 1 to the kernel's lookup count of the path.
  std::uint64_t look_up(const std::string& path);
  void forget(std::uint64_t inode, std::uint64_t lookups);
  // Removes the path and all paths below it, and their changes of attributes. Their old numbers name nothing any more;
  // a new file at the same path gets a new number.
  void remove(const std::string& path);
  // The kernel keeps names of files that are gone as long as it has memory, so with events that come and go the table
  // would only grow. When it has doubled since the last time, removes the paths for which `is_there` is false.
  void remove_gone(const std::function<bool(const std::string& path)>& is_there);
  // nullptr: no such number, or its path was removed.
  const std::string* path_of(std::uint64_t inode) const;
  // The number for directory listings; for a path that the kernel has not looked up, a made-up one.
  std::uint64_t number_of(const std::string& path);

  AttributeChange& change(const std::string& path) { return changes_[path]; }
  const AttributeChange* find_change(const std::string& path) const;

 private:
  struct Known {
    std::string path;
    std::uint64_t lookups = 0;
  };
  static constexpr std::size_t kFewestLookedAt = 4096;
  std::unordered_map<std::uint64_t, Known> known_;  // by number
  std::map<std::string, std::uint64_t> by_path_;
  std::size_t look_at_ = kFewestLookedAt;  // the size at which remove_gone() works next
  std::map<std::string, AttributeChange> changes_;
  std::uint64_t last_ = 1;  // 1 is the directory itself
};

}  // namespace kevt::fuse

// Tree: the tracing directory as paths. FUSE mounts it; the command line and the GUI use it in process (tracing_dir.h).
//
// The engine's thread uses it. Paths have no leading slash; "" is the directory itself.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracefs-compat/tree/handle.h"

namespace kevt::engine {
class Tracing;
}  // namespace kevt::engine

namespace kevt::tree {

struct Attributes {
  bool is_directory = false;
  mode_t mode = 0;           // permissions
  bool lasts = false;        // exists as long as the tree, or as its instance
  bool keeps_names = false;  // a directory that lasts and whose list of names never changes
};

struct DirectoryEntry {
  std::string name;
  bool is_directory = false;
  // As in Attributes; set only in listings of a Tree.
  mode_t mode = 0;
  bool lasts = false;
};

class Tree {
 public:
  explicit Tree(engine::Tracing& tracing) : tracing_(tracing) {}

  // ENOENT: the path does not exist.
  Result<Attributes> attributes(std::string_view path) const;
  Result<std::vector<DirectoryEntry>> list(std::string_view path) const;
  // The handle must not outlive the tree. While it exists, its instance cannot be removed.
  Result<std::unique_ptr<Handle>> open(std::string_view path, const OpenRequest& request);
  // Folders can be made and removed only in instances/; elsewhere EPERM.
  Result<void> make_directory(std::string_view path);
  Result<void> remove_directory(std::string_view path);

  engine::Tracing& tracing() { return tracing_; }

 private:
  struct Found;
  std::optional<Found> find(std::string_view path) const;
  void list_files(const Found& found, std::vector<DirectoryEntry>& list) const;

  engine::Tracing& tracing_;
};

}  // namespace kevt::tree

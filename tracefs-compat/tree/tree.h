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
  bool lasts = false;        // it is there as long as the tree, or the instance that it is of
  bool keeps_names = false;  // a directory that lasts, and so does all that is in it: nothing comes to it
};

struct DirectoryEntry {
  std::string name;
  bool is_directory = false;
  // As Attributes has them; in listings of a tree alone.
  mode_t mode = 0;
  bool lasts = false;
};

class Tree {
 public:
  explicit Tree(engine::Tracing& tracing) : tracing_(tracing) {}

  // ENOENT where there is nothing.
  Result<Attributes> attributes(std::string_view path) const;
  Result<std::vector<DirectoryEntry>> list(std::string_view path) const;
  // The handle must not outlive the tree. Its instance cannot be removed meanwhile.
  Result<std::unique_ptr<Handle>> open(std::string_view path, const OpenRequest& request);
  // Folders are made and removed in instances/ alone: EPERM elsewhere.
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

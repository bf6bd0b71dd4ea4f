// TracingDir: a tracing directory as its users see it: the tree in this process, or any directory (our mount, or the
// kernel's own). Users have no other access to what is behind it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "tracefs-compat/tree/tree.h"

namespace kevt::tree {

enum class WriteMode : std::uint8_t { Add, Replace };  // `>>`, `>`

class TracingDir {
 public:
  virtual ~TracingDir() = default;
  // The whole file; errors carry errno. Not for files that wait (trace_pipe).
  virtual Result<std::string> read(std::string_view path) = 0;
  // One write(2).
  virtual Result<void> write(std::string_view path, std::string_view text, WriteMode mode) = 0;
  virtual Result<std::vector<DirectoryEntry>> list(std::string_view path) = 0;
  virtual Result<void> make_directory(std::string_view path) = 0;
  virtual Result<void> remove_directory(std::string_view path) = 0;
  // Reads what a waiting file (trace_pipe) has now, at most `limit` bytes, without waiting; empty: nothing yet. The
  // file stays open between calls.
  virtual Result<std::string> read_ready(std::string_view path, std::size_t limit) = 0;
};

// To be used on the tree's thread.
std::unique_ptr<TracingDir> tracing_dir(Tree& tree);
std::unique_ptr<TracingDir> tracing_dir(std::string directory);

}  // namespace kevt::tree
